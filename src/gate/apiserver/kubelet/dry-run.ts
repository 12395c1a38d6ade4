/** What runs at a node cannot be tried without an effect. */
import { badRequest } from "#api/status.ts";
import type { RequestContext } from "#server/context.ts";

/** @throws ApiError 400. */
export function refuseDryRun({ query }: RequestContext): void {
  if (query.has("dryRun")) throw badRequest("dryRun is not supported");
}
