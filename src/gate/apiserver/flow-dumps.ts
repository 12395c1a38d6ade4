/**
 * Serves `/debug/api_priority_and_fairness/*`: the waiting and executing requests of each priority level, as text.
 *
 * Authorised like any non-resource path; any method is accepted; not listed in the index, as in upstream
 * (`UnlistedHandleFunc`). The right to see these pages is the right to see other users' names and paths.
 */
import { dumpPriorityLevels, dumpQueues, dumpRequests } from "#flowcontrol/dump.ts";
import type { Gate } from "#flowcontrol/gate.ts";
import type { Clock } from "#platform/clock.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { textResponse } from "#server/respond.ts";
import type { Documents } from "./non-resource.ts";

const prefix = "/debug/api_priority_and_fairness/";

/** @returns undefined for an unknown page. `path` begins with /debug/. */
function flowDump(
  { gate, clock }: { readonly gate: Pick<Gate, "dump">; readonly clock: Clock },
  path: string,
  query: URLSearchParams,
): string | undefined {
  if (!path.startsWith(prefix)) return undefined;
  switch (path.slice(prefix.length)) {
    case "dump_priority_levels":
      return dumpPriorityLevels(gate.dump());
    case "dump_queues":
      return dumpQueues(gate.dump());
    case "dump_requests": {
      const times = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
      // Any text that is not empty counts as true, even `0`, as upstream.
      const withDetails = (query.get("includeRequestDetails") ?? "") !== "";
      return dumpRequests(gate.dump(), times, { withDetails });
    }
    default:
      return undefined;
  }
}

export function flowDumps(deps: {
  readonly gate: Pick<Gate, "dump">;
  readonly clock: Clock;
}): Documents {
  return {
    paths: () => [],
    serve({ request, query }: RequestContext): PlainResponse | undefined {
      const text = flowDump(deps, request.path, query);
      return text === undefined ? undefined : textResponse(200, text);
    },
  };
}
