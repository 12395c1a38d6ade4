/** Server-side apply: see api/apply for the algorithm; here it meets the request. */
import { failure } from "#api/status.ts";
import type { RequestContext } from "#server/context.ts";
import type { Document } from "./body-text.ts";
import type { ApiDeps } from "./deps.ts";
import type { StoredKind } from "./stored-kind.ts";
import type { writeThrough } from "./update.ts";
import type { WriteQuery } from "./write-options.ts";

export function applyObject(
  _deps: ApiDeps,
  _context: RequestContext,
  _kind: StoredKind,
  _query: WriteQuery,
  _patch: Document,
): ReturnType<typeof writeThrough> {
  throw failure(501, "", "server-side apply is not served yet");
}
