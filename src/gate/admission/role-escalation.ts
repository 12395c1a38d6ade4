/** Privilege escalation check: a role or binding may not contain more rights than its writer has. */
import type { AnyObject } from "#api/object.ts";
import type { Access } from "./access.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

const resources: ReadonlySet<string> = new Set([
  "roles",
  "clusterroles",
  "rolebindings",
  "clusterrolebindings",
]);

export function roleEscalation(deps: { readonly access: Access }): AdmissionPlugin {
  return {
    // Not a plugin in upstream, which checks in the storage of the four kinds.
    name: "RoleEscalation",
    validate(request: AdmissionRequest): void | Promise<void> {
      const { info, object } = request;
      if (info.group !== "rbac.authorization.k8s.io" || !resources.has(info.resource)) return;
      return object === undefined ? undefined : refuseEscalation(deps.access, request, object);
    },
  };
}

async function refuseEscalation(
  access: Access,
  { info, user, namespace, oldObject }: AdmissionRequest,
  object: AnyObject,
): Promise<void> {
  const error = await access.escalation({
    user,
    resource: info.resource,
    namespace,
    object,
    oldObject,
  });
  if (error !== undefined) throw error;
}
