/** The 403 answer to a request that no authorizer allowed, in the words that kubectl users know. */
import type { ApiError } from "#api/status.ts";
import { failure, forbidden } from "#api/status.ts";
import type { Attributes } from "./auth.ts";

/** Returns a text such as `User "u" cannot get resource "pods" in API group "" in the namespace "n"`. */
function forbiddenMessage(attributes: Attributes): string {
  const user = JSON.stringify(attributes.user.name);
  const { verb, path, group, namespace, subresource } = attributes;
  if (!attributes.isResourceRequest) return `User ${user} cannot ${verb} path "${path}"`;
  const resource = attributes.resource + (subresource === "" ? "" : `/${subresource}`);
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return `User ${user} cannot ${verb} resource "${resource}" in API group "${group}" ${scope}`;
}

/** `reason`: the reasons of the authorizers, or "" if they gave none. */
export function authorizationError(attributes: Attributes, reason: string): ApiError {
  const message = forbiddenMessage(attributes) + (reason === "" ? "" : `: ${reason}`);
  if (!attributes.isResourceRequest) return failure(403, "Forbidden", `forbidden: ${message}`, {});
  const { group, resource, name } = attributes;
  return forbidden({ group, resource }, name, message);
}
