/** Answers 405 in upstream's words; lists the verbs of a kind or subresource. */
import { qualifiedResource } from "#api/object.ts";
import { failure } from "#api/status.ts";
import type { PlainRequest } from "#platform/http.ts";
import type { ServedKind } from "./kind.ts";

const text = "the server does not allow this method on the requested resource";

/** Allows only GET for documents; upstream's router has no HEAD for them either. @throws ApiError 405. */
export function requireGet(request: PlainRequest): void {
  if (request.method !== "GET") throw failure(405, "MethodNotAllowed", text, {});
}

export function methodNotAllowed(kind: ServedKind, verb = ""): Error {
  const resource = qualifiedResource(kind.resource);
  const message =
    verb === ""
      ? text
      : `${verb} is not supported on resources of kind ${JSON.stringify(resource)}`;
  const { group, resource: name } = kind.resource;
  const details = verb === "" ? {} : { ...(group === "" ? {} : { group }), kind: name };
  return failure(405, "MethodNotAllowed", message, details);
}
