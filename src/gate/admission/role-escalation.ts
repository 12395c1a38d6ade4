/** Privilege escalation check: writes of roles and bindings are compared with their writer's own rights. */
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
    validate(request: AdmissionRequest): void {
      const { info, user, namespace, object, oldObject } = request;
      if (info.group !== "rbac.authorization.k8s.io" || !resources.has(info.resource)) return;
      if (object === undefined) return;
      const write = { user, resource: info.resource, namespace, object, oldObject };
      const error = deps.access.escalation(write);
      if (error !== undefined) throw error;
    },
  };
}
