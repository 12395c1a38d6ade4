/** 405 in upstream's words, and which verbs a kind or subresource takes. */
import { qualifiedResource } from "#api/object.ts";
import { failure } from "#api/status.ts";
import type { ServedKind } from "./kind.ts";

export function methodNotAllowed(kind: ServedKind, verb = ""): Error {
  const resource = qualifiedResource(kind.resource);
  const text =
    verb === ""
      ? "the server does not allow this method on the requested resource"
      : `${verb} is not supported on resources of kind ${JSON.stringify(resource)}`;
  const { group, resource: name } = kind.resource;
  const details = verb === "" ? {} : { ...(group === "" ? {} : { group }), kind: name };
  return failure(405, "MethodNotAllowed", text, details);
}
