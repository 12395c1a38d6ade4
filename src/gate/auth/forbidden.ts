/** The 403 of a request no authorizer allowed, worded as kubectl users know it. */
import type { ApiError } from "#api/status.ts";
import { failure, forbidden } from "#api/status.ts";
import type { Attributes } from "./auth.ts";

/** `User "u" cannot get resource "pods" in API group "" in the namespace "n"`. */
function forbiddenMessage(attributes: Attributes): string {
  const user = JSON.stringify(attributes.user.name);
  const { verb, path, group, namespace, subresource } = attributes;
  if (!attributes.isResourceRequest) return `User ${user} cannot ${verb} path "${path}"`;
  const resource = attributes.resource + (subresource === "" ? "" : `/${subresource}`);
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return `User ${user} cannot ${verb} resource "${resource}" in API group "${group}" ${scope}`;
}

/** `reason`: what the authorizers said, "" when nothing. */
export function authorizationError(attributes: Attributes, reason: string): ApiError {
  const message = forbiddenMessage(attributes) + (reason === "" ? "" : `: ${reason}`);
  if (!attributes.isResourceRequest) return failure(403, "Forbidden", `forbidden: ${message}`, {});
  const { group, resource, name } = attributes;
  return forbidden({ group, resource }, name, message);
}
