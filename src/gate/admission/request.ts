/** Reads and refuses admission requests; used by nearly every plugin. */
import type { AnyObject, GroupResource } from "#api/object.ts";
import type { ApiError } from "#api/status.ts";
import { forbidden } from "#api/status.ts";
import type { AdmissionRequest } from "./admission.ts";

export function groupResource(request: AdmissionRequest): GroupResource {
  return { group: request.info.group, resource: request.info.resource };
}

/** Whether the request is for core resource `resource` itself, not a subresource. */
export function isCore(request: AdmissionRequest, resource: string): boolean {
  return isResource(request, "", resource);
}

export function isResource(request: AdmissionRequest, group: string, resource: string): boolean {
  const { info, subresource } = request;
  return subresource === "" && info.resource === resource && info.group === group;
}

/** Whether the request is for the given subresource. */
export function isSubresource(
  request: AdmissionRequest,
  group: string,
  resource: string,
  subresource: string,
): boolean {
  const { info } = request;
  return request.subresource === subresource && info.resource === resource && info.group === group;
}

/** 403 `RESOURCE "name" is forbidden: why`; for generateName with its base. */
export function forbiddenError(request: AdmissionRequest, why: string): ApiError {
  return forbidden(groupResource(request), nameOf(request), why);
}

function nameOf(request: AdmissionRequest): string {
  if (request.name !== "") return request.name;
  const { name = "", generateName = "" } = request.object?.metadata ?? {};
  return name || generateName || "Unknown";
}

/** `object` with its spec overridden by `fields`. */
export function withSpec(object: AnyObject, fields: object): AnyObject {
  return { ...object, spec: { ...(object["spec"] as object | undefined), ...fields } };
}

/** Text as Go's %q prints it; names and classes contain no characters for which JSON differs. */
export function quote(text: string): string {
  return JSON.stringify(text);
}
