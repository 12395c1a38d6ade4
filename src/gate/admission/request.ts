/** Reading an admission request, and refusing one: what nearly every plugin does. */
import type { AnyObject, GroupResource } from "#api/object.ts";
import type { ApiError } from "#api/status.ts";
import { forbidden } from "#api/status.ts";
import type { AdmissionRequest } from "./admission.ts";

export function groupResource(request: AdmissionRequest): GroupResource {
  return { group: request.info.group, resource: request.info.resource };
}

/** The object itself, not a subresource, of core resource `resource`. */
export function isCore(request: AdmissionRequest, resource: string): boolean {
  return isResource(request, "", resource);
}

export function isResource(request: AdmissionRequest, group: string, resource: string): boolean {
  const { info, subresource } = request;
  return subresource === "" && info.resource === resource && info.group === group;
}

/** The same question for a subresource. */
export function isSubresource(
  request: AdmissionRequest,
  group: string,
  resource: string,
  subresource: string,
): boolean {
  const { info } = request;
  return request.subresource === subresource && info.resource === resource && info.group === group;
}

/** 403 `RESOURCE "name" is forbidden: why`; a name still to be generated shows its base. */
export function forbiddenError(request: AdmissionRequest, why: string): ApiError {
  return forbidden(groupResource(request), nameOf(request), why);
}

function nameOf(request: AdmissionRequest): string {
  if (request.name !== "") return request.name;
  const { name = "", generateName = "" } = request.object?.metadata ?? {};
  return name || generateName || "Unknown";
}

/** `object` with `fields` over its spec. */
export function withSpec(object: AnyObject, fields: object): AnyObject {
  return { ...object, spec: { ...(object["spec"] as object | undefined), ...fields } };
}

/** Text as Go's %q prints it; names and classes have no characters where JSON differs. */
export function quote(text: string): string {
  return JSON.stringify(text);
}
