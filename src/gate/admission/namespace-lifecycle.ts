/**
 * NamespaceLifecycle: refuses to create objects in a namespace that is missing or terminating, and to delete the
 * namespaces that a cluster depends on.
 */
import type { Lister } from "#api/lister.ts";
import { isNamespaceResource, type AnyObject } from "#api/object.ts";
import { ApiError, notFound } from "#api/status.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { isResource, forbiddenError } from "./request.ts";

const namespaces = { group: "", resource: "namespaces" };
const immortal: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

export function namespaceLifecycle(deps: { readonly lookup: Lister }): AdmissionPlugin {
  return {
    name: "NamespaceLifecycle",
    mutate(request: AdmissionRequest): AnyObject {
      checkNamespace(deps.lookup, request);
      return request.object ?? {};
    },
    validate(request: AdmissionRequest): void {
      if (request.operation !== "DELETE" || !isNamespaceResource(request.info)) return;
      if (immortal.has(request.name))
        throw forbiddenError(request, "this namespace may not be deleted");
    },
  };
}

function checkNamespace(lookup: Lister, request: AdmissionRequest): void {
  if (request.namespace === "" || isNamespaceResource(request.info) || isAccessReview(request))
    return;
  if (request.operation !== "CREATE" && request.operation !== "UPDATE") return;
  const namespace = lookup.get(namespaces, "", request.namespace);
  if (namespace === undefined) throw notFound(namespaces, request.namespace);
  if (request.operation === "CREATE" && isTerminating(namespace)) throw terminating(request);
}

/** Access reviews are exempt, because a different answer would reveal whether the namespace exists. */
function isAccessReview(request: AdmissionRequest): boolean {
  return isResource(request, "authorization.k8s.io", "localsubjectaccessreviews");
}

/** Phase and deletion timestamp are written together, so either one suffices. */
function isTerminating(namespace: AnyObject): boolean {
  const phase = (namespace["status"] as { readonly phase?: string } | undefined)?.phase;
  return phase === "Terminating" || namespace.metadata?.deletionTimestamp !== undefined;
}

function terminating(request: AdmissionRequest): ApiError {
  const { namespace } = request;
  const { status } = forbiddenError(
    request,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  );
  const cause = {
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  };
  return new ApiError({ ...status, details: { ...status.details, causes: [cause] } });
}
