/** What handlers tell the audit of a request: the object that was sent, or the patch. */
import type { AnyObject } from "#api/object.ts";
import { takeRequestBody, takeRequestObject } from "#server/audit/bodies.ts";
import type { RequestContext } from "#server/context.ts";

export function noteObject({ audit, holding }: RequestContext, object: AnyObject): void {
  if (audit !== undefined) takeRequestObject(audit, object, holding);
}

/** Of something without names of its own: a patch, the options of a deletion. */
export function notePatch({ audit, holding }: RequestContext, patch: unknown): void {
  if (audit !== undefined) takeRequestBody(audit, patch, holding);
}
