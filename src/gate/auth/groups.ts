/** Names that Kubernetes gives to its own users and groups. */
import type { UserInfo } from "#platform/http.ts";

export const groups = {
  masters: "system:masters",
  authenticated: "system:authenticated",
  unauthenticated: "system:unauthenticated",
  nodes: "system:nodes",
  serviceAccounts: "system:serviceaccounts",
  bootstrappers: "system:bootstrappers",
} as const;

export const anonymousName = "system:anonymous";
/** Common name of the certificate that this server shows to kubelets, as kubeadm names it. */
export const kubeletClientName = "kube-apiserver-kubelet-client";
const nodeUserPrefix = "system:node:";
const serviceAccountPrefix = "system:serviceaccount:";

export function serviceAccountUser(namespace: string, name: string): string {
  return `${serviceAccountPrefix}${namespace}:${name}`;
}

export function serviceAccountGroups(namespace: string): readonly string[] {
  return [groups.serviceAccounts, `${groups.serviceAccounts}:${namespace}`];
}

const namespaceName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Name of a service account or a node: a DNS subdomain. */
const accountName =
  /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/**
 * The inverse of serviceAccountUser. Undefined: another user name, or one whose namespace or account has an invalid
 * name. To act as such a user requires the right to impersonate that user, not a service account.
 */
export function splitServiceAccount(
  user: string,
): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(serviceAccountPrefix)) return undefined;
  const [namespace = "", name = "", ...rest] = user.slice(serviceAccountPrefix.length).split(":");
  const isAccount = rest.length === 0 && namespaceName.test(namespace) && accountName.test(name);
  return isAccount ? { namespace, name } : undefined;
}

/** Returns the node's name from the user name of a node, undefined for any other user name. */
export function nodeNameOf(user: string): string | undefined {
  if (!user.startsWith(nodeUserPrefix)) return undefined;
  const name = user.slice(nodeUserPrefix.length);
  return accountName.test(name) ? name : undefined;
}

/** Adds system:authenticated, as every successful authentication does. The anonymous user stays unchanged. */
export function withAuthenticated(user: UserInfo): UserInfo {
  if (user.name === anonymousName || user.groups.includes(groups.authenticated)) return user;
  return { ...user, groups: [...user.groups, groups.authenticated] };
}

/** Returns the node that a user is: `system:node:NAME` in system:nodes. The name is "" if the user name contains none. */
export function nodeIdentity(user: UserInfo): { readonly isNode: boolean; readonly name: string } {
  if (!user.name.startsWith(nodeUserPrefix)) return { isNode: false, name: "" };
  const isNode = user.groups.includes(groups.nodes);
  return { isNode, name: isNode ? user.name.slice(nodeUserPrefix.length) : "" };
}
