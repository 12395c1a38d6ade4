/**
 * OwnerReferencesPermissionEnforcement: a user who adds an owner to an existing object needs the right to delete the
 * object. A user who sets blockOwnerDeletion needs the right to set finalizers on the owner.
 */
import type { OwnerReference } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { Access } from "./access.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { forbiddenError, isSubresource } from "./request.ts";

interface OwnerReferencesDeps {
  readonly access: Access;
  /** Resources that are currently served. */
  readonly served: () => readonly ResourceInfo[];
}

export function ownerReferences(deps: OwnerReferencesDeps): AdmissionPlugin {
  return {
    name: "OwnerReferencesPermissionEnforcement",
    async validate(request) {
      if (request.object === undefined || isSubresource(request, "", "pods", "status")) return;
      const next = request.object.metadata?.ownerReferences ?? [];
      const old = request.oldObject?.metadata?.ownerReferences ?? [];
      if (isSame(next, old)) return;
      if (request.operation !== "CREATE") await checkDelete(deps, request);
      const blocking = next.filter(
        (ref) =>
          ref.blockOwnerDeletion === true &&
          !old.some((known) => known.uid === ref.uid && known.blockOwnerDeletion === true),
      );
      if (blocking.length > 0) await checkFinalize(deps, request, blocking);
    },
  };
}

function isSame(next: readonly OwnerReference[], old: readonly OwnerReference[]): boolean {
  const fields = (refs: readonly OwnerReference[]): string =>
    JSON.stringify(
      refs.map((ref) => [
        ref.apiVersion,
        ref.kind,
        ref.name,
        ref.uid,
        ref.controller ?? null,
        ref.blockOwnerDeletion ?? null,
      ]),
    );
  return fields(next) === fields(old);
}

async function checkDelete(
  { access }: OwnerReferencesDeps,
  request: AdmissionRequest,
): Promise<void> {
  const { info, subresource, namespace, name, user } = request;
  const { group, resource } = info;
  const question = { user, verb: "delete", group, resource, subresource, namespace, name };
  if (await access.isAllowed(question)) return;
  // Upstream prints reason and error of its authorizer, which usually are these.
  const why = "cannot set an ownerRef on a resource you can't delete: , <nil>";
  throw forbiddenError(request, why);
}

async function checkFinalize(
  { access, served }: OwnerReferencesDeps,
  request: AdmissionRequest,
  refs: readonly OwnerReference[],
): Promise<void> {
  const asked = { user: request.user, verb: "update", subresource: "finalizers" };
  const all = { ...asked, group: "*", resource: "*", namespace: "", name: "*" };
  if (await access.isAllowed(all)) return;
  for (const { apiVersion, kind, name } of refs) {
    const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: "" };
    const owners = served().filter(
      (info) => info.group === group && info.version === version && info.kind === kind,
    );
    if (owners.length === 0) {
      const why = `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`;
      throw forbiddenError(
        request,
        `${why}: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
      );
    }
    for (const { resource, namespaced } of owners) {
      const namespace = namespaced ? request.namespace : "";
      if (await access.isAllowed({ ...asked, group, resource, namespace, name })) continue;
      const why =
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
      throw forbiddenError(request, `${why}: , <nil>`);
    }
  }
}
