/** Refuses dry runs of requests that run at a node, because they always have an effect. */
import { badRequest } from "#api/status.ts";
import type { RequestContext } from "#server/context.ts";

/** @throws ApiError 400. */
export function refuseDryRun({ query }: RequestContext): void {
  if (query.has("dryRun")) throw badRequest("dryRun is not supported");
}
