/** Privilege escalation check: writes of roles and bindings are compared with their writer's own rights. */
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
    // Upstream checks in the storage of the four kinds, and has no plugin to name.
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
