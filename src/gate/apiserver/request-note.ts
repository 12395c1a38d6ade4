/** Passes the object or the patch of a request to its audit event. */
import type { AnyObject } from "#api/object.ts";
import { takeRequestBody, takeRequestObject } from "#server/audit/bodies.ts";
import type { RequestContext } from "#server/context.ts";

export function noteObject({ audit, holding }: RequestContext, object: AnyObject): void {
  if (audit !== undefined) takeRequestObject(audit, object, holding);
}

/** Records a body that has no name of its own: a patch, the options of a deletion. */
export function notePatch({ audit, holding }: RequestContext, patch: unknown): void {
  if (audit !== undefined) takeRequestBody(audit, patch, holding);
}
