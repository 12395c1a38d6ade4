/**
 * Authorises kubelets: for their own node, lease, CSINode and resource slices, for their pods, and for objects that
 * their pods refer to.
 *
 * In     users `system:node:NAME` in system:nodes; for all other users it has no opinion.
 * Cost   the cost of NodeRelations; reads of the own node, lease and pods cost one look-up.
 * Absent the check of the object in a create or update: the body is not read yet, so NodeRestriction does it.
 * After  upstream plugin/pkg/auth/authorizer/node/node_authorizer.go, 1.36, with every feature on whose
 *        kinds this server has.
 */
import type { Lister } from "#api/lister.ts";
import { ruleAllows } from "#api/policy/policy-rules.ts";
import type { PolicyRule } from "#api/policy/policy-rules.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Attributes, Authorizer, Decision, Rules } from "./auth.ts";
import { nodeIdentity } from "./groups.ts";
import { NodeRelations, type RelatedKind } from "./node-relations.ts";

const leaseNamespace = "kube-node-lease";
const allow: Decision = { allowed: true, denied: false, reason: "" };

function noOpinion(reason: string): Decision {
  return { allowed: false, denied: false, reason };
}

type Check = (node: string, attributes: Attributes) => Decision;

export class NodeAuthorizer implements Authorizer {
  readonly #relations: NodeRelations;
  /** Rules of ClusterRole system:node, for all resources that are not divided by node. */
  readonly #rules: readonly PolicyRule[];
  readonly #checks: ReadonlyMap<string, Check>;

  constructor(deps: { readonly lookup: Lister; readonly rules: readonly PolicyRule[] }) {
    this.#relations = new NodeRelations(deps);
    this.#rules = deps.rules;
    this.#checks = new Map<string, Check>([
      ["/nodes", checkNode],
      ["/pods", this.#pods],
      ["/secrets", this.#readsOf("secrets")],
      ["/configmaps", this.#readsOf("configMaps")],
      ["/persistentvolumeclaims", this.#claims],
      ["/persistentvolumes", this.#getsOf("volumes")],
      ["/serviceaccounts", this.#accounts],
      ["certificates.k8s.io/podcertificaterequests", this.#certificateRequests],
      ["coordination.k8s.io/leases", checkLease],
      ["resource.k8s.io/resourceclaims", this.#getsOf("resourceClaims")],
      ["resource.k8s.io/resourceslices", this.#slices],
      ["storage.k8s.io/csinodes", checkCsiNode],
      ["storage.k8s.io/volumeattachments", this.#getsOf("attachments")],
    ]);
  }

  authorize(attributes: Attributes): Decision {
    const { isNode, name } = nodeIdentity(attributes.user);
    if (!isNode) return noOpinion("");
    if (name === "") return noOpinion(`unknown node for user "${attributes.user.name}"`);
    if (attributes.isResourceRequest) {
      const check = this.#checks.get(`${attributes.group}/${attributes.resource}`);
      if (check !== undefined) return check(name, attributes);
    }
    return when(this.#rules.some((rule) => ruleAllows(rule, attributes)));
  }

  /** Returns no rules: a node's rights depend on its pods, so they cannot be listed. */
  rulesFor(user: UserInfo): Rules {
    if (!nodeIdentity(user).isNode) return { rules: [], incomplete: false };
    const error = "node authorizer does not support user rule resolution";
    return { rules: [], incomplete: true, error };
  }

  #related(node: string, kind: RelatedKind, { namespace, name }: Attributes): Decision {
    if (name === "") return noOpinion("No Object name found");
    if (this.#relations.isRelated(node, kind, namespace, name)) return allow;
    return noOpinion(`no relationship found between node '${node}' and this object`);
  }

  readonly #pods: Check = (node, attributes) => {
    const { verb, subresource, name } = attributes;
    if (subresource === "status") return when(verb === "update" || verb === "patch");
    if (subresource === "eviction") return when(verb === "create");
    if (subresource !== "") return noOpinion("");
    if (verb === "create" || verb === "delete") return allow;
    if (verb === "get") return this.#related(node, "pods", attributes);
    if (verb !== "list" && verb !== "watch") return noOpinion("");
    if (selectsNode(attributes, node)) return allow;
    if (name !== "") return this.#related(node, "pods", attributes);
    return noOpinion("can only list/watch pods with spec.nodeName field selector");
  };

  /** Returns the check for get, list and watch of single objects. */
  #readsOf(kind: RelatedKind): Check {
    return (node, attributes) => {
      const { verb, subresource, namespace } = attributes;
      if (!readVerbs.includes(verb)) return noOpinion("can only read resources of this type");
      if (subresource !== "") return noOpinion("cannot read subresource");
      if (namespace === "") return noOpinion("can only read namespaced object of this type");
      return this.#related(node, kind, attributes);
    };
  }

  #getsOf(kind: RelatedKind): Check {
    return (node, attributes) => {
      const { verb, subresource } = attributes;
      if (verb !== "get") return noOpinion("can only get individual resources of this type");
      if (subresource !== "") return noOpinion("cannot get subresource");
      return this.#related(node, kind, attributes);
    };
  }

  readonly #claims: Check = (node, attributes) => {
    const { verb, subresource } = attributes;
    if (subresource !== "status") return this.#getsOf("claims")(node, attributes);
    if (verb === "update" || verb === "patch") return this.#related(node, "claims", attributes);
    return noOpinion("can only get/update/patch this type");
  };

  readonly #accounts: Check = (node, attributes) => {
    const { verb, subresource, name } = attributes;
    if (verb === "get" && subresource === "") {
      return this.#readsOf("serviceAccounts")(node, attributes);
    }
    if (verb !== "create" || name === "") {
      return noOpinion("can only create tokens for individual service accounts");
    }
    if (subresource !== "token") {
      return noOpinion("can only create token subresource of serviceaccount");
    }
    return this.#related(node, "serviceAccounts", attributes);
  };

  readonly #slices: Check = (node, attributes) => {
    const { verb, subresource } = attributes;
    if (subresource !== "") return noOpinion("cannot authorize ResourceSlice subresources");
    switch (verb) {
      case "create":
        return allow;
      case "get":
      case "update":
      case "patch":
      case "delete":
        return this.#related(node, "slices", attributes);
      case "watch":
      case "list":
      case "deletecollection":
        if (selectsNode(attributes, node)) return allow;
        return noOpinion(
          "can only list/watch/deletecollection resourceslices with nodeName field selector",
        );
      default:
        return noOpinion(
          "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
        );
    }
  };

  readonly #certificateRequests: Check = (node, attributes) => {
    const { verb, subresource } = attributes;
    if (subresource !== "") {
      return noOpinion("nodes may not access the status subresource of PodCertificateRequests");
    }
    switch (verb) {
      case "create":
        return allow;
      case "get":
        return this.#related(node, "certificateRequests", attributes);
      case "list":
      case "watch":
        if (selectsNode(attributes, node)) return allow;
        return noOpinion("can only list/watch podcertificaterequests with nodeName field selector");
      default:
        return noOpinion(`nodes may not ${verb} podcertificaterequests`);
    }
  };
}

const readVerbs: readonly string[] = ["get", "list", "watch"];

const checkNode: Check = (node, { verb, subresource, name }) => {
  const write = verb === "update" || verb === "patch";
  if (subresource === "status") return when(write);
  if (subresource !== "") return noOpinion("");
  if (verb === "create" || write) return allow;
  if (!readVerbs.includes(verb)) return noOpinion("");
  if (name === node) return allow;
  return noOpinion(
    name === ""
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${name}', only its own Node object`,
  );
};

const ownVerbs: readonly string[] = ["get", "create", "update", "patch", "delete"];

const checkLease: Check = (node, { verb, namespace, name }) => {
  if (!ownVerbs.includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a node lease");
  }
  if (namespace !== leaseNamespace) {
    return noOpinion(`can only access leases in the "${leaseNamespace}" system namespace`);
  }
  // On create the name is in the body, which has not been read yet.
  if (verb === "create" || name === node) return allow;
  return noOpinion("can only access node lease with the same name as the requesting node");
};

const checkCsiNode: Check = (node, { verb, subresource, name }) => {
  if (!ownVerbs.includes(verb)) {
    return noOpinion("can only get, create, update, patch, or delete a CSINode");
  }
  if (subresource !== "") return noOpinion("cannot authorize CSINode subresources");
  if (verb === "create" || name === node) return allow;
  return noOpinion("can only access CSINode with the same name as the requesting node");
};

function when(condition: boolean): Decision {
  return condition ? allow : noOpinion("");
}

function selectsNode(attributes: Attributes, node: string): boolean {
  const requirements = attributes.fieldSelector?.requirements ?? [];
  return requirements.some(
    (r) => r.field === "spec.nodeName" && r.operator === "=" && r.value === node,
  );
}
