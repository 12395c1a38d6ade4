/**
 * A region joins: an account with named rights there, and its profile and credential at home. It leaves: the reverse.
 *
 * Holds  run again it changes nothing, or brings what differs to what was asked. A profile of another manager is refused.
 */
import { parseApiVersion, type AnyObject } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { sleep, type Clock } from "#platform/clock.ts";
import { annotations, labels, managerName, refs, regionNamespace } from "../names.ts";
import { guessResource } from "../placement.ts";
import { installServiceDefinitions } from "../definitions/install.ts";
import { readerName, regionObjects, type RegionParts } from "./region-rights.ts";

interface JoinDeps {
  readonly home: Client;
  readonly region: Client;
  readonly clock: Clock;
}

interface JoinOptions extends RegionParts {
  readonly name: string;
  /** Namespace of the profiles and Secrets at home. */
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly cost?: string;
}

/** Address of the region's API server, without the token. */
export interface RegionAddress {
  readonly server: string;
  readonly ca?: string;
  readonly serverName?: string;
}

/** Explains to an operator why a region cannot join. */
export class JoinError extends Error {
  override readonly name = "JoinError";
}

/** Joins a region. `kubeconfigOf` makes the kubeconfig from a token; both are base64, as in Secrets. */
export async function joinRegion(
  { home, region, clock }: JoinDeps,
  options: JoinOptions,
  kubeconfigOf: (token: string) => string,
): Promise<void> {
  await refuseForeign(home, options);
  if (options.hasServices) {
    // The home cluster needs them as well, because a ServiceExport is placed together with its Service.
    for (const client of [home, region]) await installServiceDefinitions(client);
  }
  for (const object of regionObjects(options)) await apply(region, object);
  await apply(home, { apiVersion: "v1", kind: "Namespace", metadata: { name: options.namespace } });
  if (options.isPulled) return apply(home, profileOf(options));
  const token = await tokenOf(region, clock, managerName);
  const reader = options.reads.length === 0 ? undefined : await tokenOf(region, clock, readerName);
  const kubeconfigs = {
    kubeconfig: kubeconfigOf(token),
    ...(reader === undefined ? {} : { reader: kubeconfigOf(reader) }),
  };
  await apply(home, secretOf(options, kubeconfigs));
  await apply(home, profileOf(options));
}

async function refuseForeign(home: Client, { name, namespace }: JoinOptions): Promise<void> {
  try {
    const known = await home.get<AnyObject>(refs.profiles, namespace, name);
    const spec = isRecord(known["spec"]) ? known["spec"] : {};
    const manager = isRecord(spec["clusterManager"]) ? spec["clusterManager"]["name"] : undefined;
    if (manager === managerName) return;
    throw new JoinError(
      `ClusterProfile ${namespace}/${name} is of the manager "${String(manager)}": give another --name`,
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function apply(client: Client, object: AnyObject): Promise<void> {
  const { group = "", version = "v1" } = parseApiVersion(object.apiVersion ?? "") ?? {};
  const ref: ResourceRef = { group, version, resource: guessResource(object.kind ?? "") };
  const { namespace = "", name = "" } = object.metadata ?? {};
  const options = { fieldManager: "pilothouse-region-join", force: true };
  await client.patch(ref, namespace, name, "apply", object, options);
}

const tokenTries = 60;
const tokenEveryMs = 500;

/** Waits until the region's token controller has filled the Secret. */
async function tokenOf(region: Client, clock: Clock, account: string): Promise<string> {
  const never = new AbortController().signal;
  for (let tried = 0; tried < tokenTries; tried++) {
    const name = `${account}-token`;
    const secret = await region.get<AnyObject>(refs.secrets, regionNamespace, name);
    const data = isRecord(secret["data"]) ? secret["data"] : {};
    if (typeof data["token"] === "string" && data["token"] !== "") return data["token"];
    await sleep(clock, "regions.agent", tokenEveryMs, never);
  }
  throw new JoinError(
    `Secret ${regionNamespace}/${account}-token has no token after 30 s: does the region's controller manager run?`,
  );
}

function secretOf(
  { name, namespace }: JoinOptions,
  data: Readonly<Record<string, string>>,
): AnyObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    metadata: { name, namespace, labels: { [labels.region]: name } },
    data,
  };
}

function profileOf(options: JoinOptions): AnyObject {
  const { name, namespace, cost, hasAgent, hasServices, isPulled } = options;
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: {
      name,
      namespace,
      labels: { ...options.labels, [labels.clusterManager]: managerName },
      annotations: {
        ...(cost === undefined ? {} : { [annotations.cost]: cost }),
        ...(hasAgent ? { [annotations.agent]: "true" } : {}),
        ...(hasServices ? { [annotations.services]: "true" } : {}),
        ...(isPulled ? { [annotations.pull]: "true" } : {}),
      },
    },
    spec: { displayName: name, clusterManager: { name: managerName } },
  };
}

/**
 * At home an account for a region's agent, which may open that region's tunnel and nothing else.
 * @returns its token, good for a year.
 */
export async function tunnelToken(
  home: Client,
  { name, namespace }: Pick<JoinOptions, "name" | "namespace">,
): Promise<string> {
  const group = "rbac.authorization.k8s.io";
  const metadata = { name: `region-${name}`, namespace };
  const roleRef = { apiGroup: group, kind: "Role", name: metadata.name };
  const rule = {
    apiGroups: [refs.profiles.group],
    resources: ["clusterprofiles/tunnel"],
    resourceNames: [name],
    verbs: ["create"],
  };
  const subjects = [{ kind: "ServiceAccount", ...metadata }];
  await apply(home, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  await apply(home, { apiVersion: `${group}/v1`, kind: "Role", metadata, rules: [rule] });
  const binding = { kind: "RoleBinding", metadata, roleRef, subjects };
  await apply(home, { apiVersion: `${group}/v1`, ...binding });
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 31_536_000 },
  };
  const accounts = refs.serviceAccounts;
  const answer = await home.createSub(accounts, namespace, metadata.name, "token", request);
  const token = isRecord(answer["status"]) ? answer["status"]["token"] : undefined;
  if (typeof token !== "string") throw new JoinError("home gave no token for the agent's account");
  return token;
}

/**
 * Removes a region's profile and Secret. Its workloads keep running there, and their replicas are placed elsewhere.
 * If the region answers, remove its account with `cleanRegion`.
 */
export async function leaveRegion(
  home: Client,
  { name, namespace }: Pick<JoinOptions, "name" | "namespace">,
): Promise<void> {
  for (const ref of [refs.profiles, refs.secrets]) await remove(home, ref, namespace, name);
}

/** Removes the coordinator's account, permissions and namespace from a region. */
export async function cleanRegion(region: Client): Promise<void> {
  const all = { kinds: [], hasAgent: true, hasServices: true, reads: ["pods"], isPulled: false };
  for (const object of regionObjects(all).toReversed()) {
    const { group = "", version = "v1" } = parseApiVersion(object.apiVersion ?? "") ?? {};
    const ref = { group, version, resource: guessResource(object.kind ?? "") };
    await remove(region, ref, object.metadata?.namespace ?? "", object.metadata?.name ?? "");
  }
}

async function remove(
  client: Client,
  ref: ResourceRef,
  namespace: string,
  name: string,
): Promise<void> {
  try {
    await client.delete(ref, namespace, name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Sets an operator's order for a region; undefined removes the order. */
export async function orderRegion(
  home: Client,
  { name, namespace }: Pick<JoinOptions, "name" | "namespace">,
  word: "drain" | "lost" | undefined,
): Promise<void> {
  const patch = { metadata: { annotations: { [annotations.order]: word ?? null } } };
  await home.patch(refs.profiles, namespace, name, "merge", patch);
}
