/**
 * What a kubelet may do: its own node, lease and CSINode, its pods, and what its pods refer to.
 *
 * In     users `system:node:NAME` in system:nodes; everybody else gets no opinion.
 * Cost   a secret or config map asked for is looked for in the pods of its namespace; reads of own
 *        node, lease and pods cost one look-up.
 * Absent DRA's slices, pod certificates. Which object a create or update may touch is admission's to
 *        say (NodeRestriction), because here the body is still unread.
 */
import { ownEntry } from "#base/own.ts";
import type { Lookup } from "#api/lookup.ts";
import type { AnyObject } from "#api/object.ts";
import { ruleAllows } from "#api/policy-rules.ts";
import type { PolicyRule } from "#api/policy-rules.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer, Decision, ResourceRule } from "./auth.ts";
import { nodeIdentity } from "./groups.ts";
import { podReferences } from "./pod-references.ts";

const leaseNamespace = "kube-node-lease";
const allow: Decision = { allowed: true, denied: false, reason: "" };

function noOpinion(reason: string): Decision {
  return { allowed: false, denied: false, reason };
}

type Check = (node: string, attributes: Attributes) => Decision;

export class NodeAuthorizer implements Authorizer {
  readonly #lookup: Lookup;
  /** Rules of ClusterRole system:node, for everything not divided by node. */
  readonly #rules: readonly PolicyRule[];
  readonly #checks: Readonly<Record<string, Check>>;

  constructor(deps: { readonly lookup: Lookup; readonly rules: readonly PolicyRule[] }) {
    this.#lookup = deps.lookup;
    this.#rules = deps.rules;
    this.#checks = {
      "/nodes": nodeCheck,
      "/pods": this.#pods,
      "/secrets": this.#readOfPods,
      "/configmaps": this.#readOfPods,
      "/persistentvolumeclaims": this.#claims,
      "/persistentvolumes": this.#volumes,
      "/serviceaccounts": this.#accounts,
      "coordination.k8s.io/leases": leaseCheck,
      "storage.k8s.io/csinodes": csiNodeCheck,
      "storage.k8s.io/volumeattachments": this.#attachments,
    };
  }

  authorize(attributes: Attributes): Decision {
    const { isNode, name } = nodeIdentity(attributes.user);
    if (!isNode) return noOpinion("");
    if (name === "") return noOpinion(`unknown node for user "${attributes.user.name}"`);
    if (attributes.resourceRequest) {
      const check = ownEntry(this.#checks, `${attributes.group}/${attributes.resource}`);
      if (check !== undefined) return check(name, attributes);
    }
    const ruled = this.#rules.some((rule) => ruleAllows(rule, attributes));
    return ruled ? allow : noOpinion("");
  }

  /** A node's rights depend on its pods, so they cannot be listed. */
  rulesFor(user: UserInfo): {
    readonly rules: readonly ResourceRule[];
    readonly incomplete: boolean;
  } {
    return { rules: [], incomplete: nodeIdentity(user).isNode };
  }

  readonly #pods: Check = (node, attributes) => {
    const { verb, subresource } = attributes;
    if (subresource === "status") return when(verb === "update" || verb === "patch");
    if (subresource === "eviction") return when(verb === "create");
    if (subresource !== "") return noOpinion("");
    if (verb === "create" || verb === "delete") return allow;
    if (verb === "get") return this.#ownPod(node, attributes);
    if (verb !== "list" && verb !== "watch") return noOpinion("");
    if (selectsNode(attributes, node)) return allow;
    if (attributes.name !== "") return this.#ownPod(node, attributes);
    return noOpinion("can only list/watch pods with spec.nodeName field selector");
  };

  #ownPod(node: string, attributes: Attributes): Decision {
    const pod = this.#lookup.get(core("pods"), attributes.namespace, attributes.name);
    return related(node, pod !== undefined && nodeOf(pod) === node);
  }

  /** Secrets and config maps: single ones, read only, of own pods. */
  readonly #readOfPods: Check = (node, attributes) => {
    const { verb, subresource, namespace, name } = attributes;
    if (!["get", "list", "watch"].includes(verb)) {
      return noOpinion("can only read resources of this type");
    }
    if (subresource !== "") return noOpinion("cannot read subresource");
    if (namespace === "") return noOpinion("can only read namespaced object of this type");
    if (name === "") return noOpinion("No Object name found");
    const kind = attributes.resource === "secrets" ? "secrets" : "configMaps";
    return related(node, this.#someOwnPod(node, namespace, kind, name));
  };

  readonly #claims: Check = (node, attributes) => {
    const { verb, subresource, namespace, name } = attributes;
    const statusWrite = subresource === "status" && (verb === "update" || verb === "patch");
    if (subresource === "status" && !statusWrite) {
      return noOpinion("can only get/update/patch this type");
    }
    if (!statusWrite && verb !== "get") {
      return noOpinion("can only get individual resources of this type");
    }
    if (!statusWrite && subresource !== "") return noOpinion("cannot get subresource");
    return related(node, this.#someOwnPod(node, namespace, "claims", name));
  };

  /** A volume is the node's when its claim is used by one of the node's pods. */
  readonly #volumes: Check = (node, attributes) => {
    const refusal = refuseUnlessGet(attributes);
    if (refusal !== undefined) return refusal;
    const volume = this.#lookup.get(core("persistentvolumes"), "", attributes.name);
    const spec = (volume?.["spec"] ?? {}) as {
      readonly claimRef?: { readonly namespace?: string; readonly name?: string };
    };
    const { namespace = "", name = "" } = spec.claimRef ?? {};
    return related(node, namespace !== "" && this.#someOwnPod(node, namespace, "claims", name));
  };

  readonly #attachments: Check = (node, attributes) => {
    const refusal = refuseUnlessGet(attributes);
    if (refusal !== undefined) return refusal;
    const resource = { group: "storage.k8s.io", resource: "volumeattachments" };
    const spec = this.#lookup.get(resource, "", attributes.name)?.["spec"];
    return related(node, (spec as { readonly nodeName?: string } | undefined)?.nodeName === node);
  };

  readonly #accounts: Check = (node, attributes) => {
    const { verb, subresource, namespace, name } = attributes;
    const read = verb === "get" && subresource === "";
    if (!read && (verb !== "create" || name === "")) {
      return noOpinion("can only create tokens for individual service accounts");
    }
    if (!read && subresource !== "token") {
      return noOpinion("can only create token subresource of serviceaccount");
    }
    return related(node, this.#someOwnPod(node, namespace, "serviceAccounts", name));
  };

  #someOwnPod(
    node: string,
    namespace: string,
    kind: keyof ReturnType<typeof podReferences>,
    name: string,
  ): boolean {
    if (namespace === "" || name === "") return false;
    return this.#lookup
      .list(core("pods"), namespace)
      .some((pod) => nodeOf(pod) === node && podReferences(pod)[kind].includes(name));
  }
}

const nodeCheck: Check = (node, { verb, subresource, name }) => {
  const write = verb === "update" || verb === "patch";
  if (subresource === "status") return when(write);
  if (subresource !== "") return noOpinion("");
  if (verb === "create" || write) return allow;
  if (!["get", "list", "watch"].includes(verb)) return noOpinion("");
  if (name === node) return allow;
  return noOpinion(
    name === ""
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${name}', only its own Node object`,
  );
};

const ownVerbs: readonly string[] = ["get", "create", "update", "patch", "delete"];

const leaseCheck: Check = (node, { verb, namespace, name }) => {
  if (!ownVerbs.includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a node lease");
  }
  if (namespace !== leaseNamespace) {
    return noOpinion(`can only access leases in the "${leaseNamespace}" system namespace`);
  }
  // On create the name is still in the unread body.
  if (verb === "create" || name === node) return allow;
  return noOpinion("can only access node lease with the same name as the requesting node");
};

const csiNodeCheck: Check = (node, { verb, subresource, name }) => {
  if (!ownVerbs.includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a CSINode");
  }
  if (subresource !== "") return noOpinion("cannot authorize CSINode subresources");
  if (verb === "create" || name === node) return allow;
  return noOpinion("can only access CSINode with the same name as the requesting node");
};

function refuseUnlessGet({ verb, subresource }: Attributes): Decision | undefined {
  if (verb !== "get") return noOpinion("can only get individual resources of this type");
  return subresource === "" ? undefined : noOpinion("cannot get subresource");
}

function when(condition: boolean): Decision {
  return condition ? allow : noOpinion("");
}

function related(node: string, found: boolean): Decision {
  if (found) return allow;
  return noOpinion(`no relationship found between node '${node}' and this object`);
}

function selectsNode(attributes: Attributes, node: string): boolean {
  const requirements = attributes.fieldSelector?.requirements ?? [];
  return requirements.some(
    (r) => r.field === "spec.nodeName" && r.operator === "=" && r.value === node,
  );
}

function nodeOf(pod: AnyObject): string {
  return ((pod["spec"] ?? {}) as { readonly nodeName?: string }).nodeName ?? "";
}

function core(resource: string): { readonly group: ""; readonly resource: string } {
  return { group: "", resource };
}
