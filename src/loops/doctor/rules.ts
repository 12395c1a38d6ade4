/** All rules, in the order of the documentation. */
import type { Rule } from "./rule.ts";
import { afterBurst } from "./rules/after-burst.ts";
import { aggregatedApis } from "./rules/aggregated-apis.ts";
import { callers } from "./rules/callers.ts";
import { certificates } from "./rules/certificates.ts";
import { clientThrottled } from "./rules/client-throttled.ts";
import { conversion } from "./rules/conversion.ts";
import { fanOut } from "./rules/fan-out.ts";
import { endpoints } from "./rules/endpoints.ts";
import { flows } from "./rules/flows.ts";
import { largeLists } from "./rules/large-lists.ts";
import { leaders } from "./rules/leaders.ts";
import { listStorm } from "./rules/list-storm.ts";
import { stuckNamespaces } from "./rules/namespaces.ts";
import { longTurns } from "./rules/long-turns.ts";
import { objectGrowth } from "./rules/object-growth.ts";
import { openFiles } from "./rules/open-files.ts";
import { podHerd } from "./rules/pod-herd.ts";
import { relay } from "./rules/relay.ts";
import { requestErrors } from "./rules/request-errors.ts";
import { schedulerQueue } from "./rules/scheduler-queue.ts";
import { schedulerSlow } from "./rules/scheduler-slow.ts";
import { serverBusy } from "./rules/server-busy.ts";
import { silentNodes } from "./rules/silent-nodes.ts";
import { slowRequests } from "./rules/slow-requests.ts";
import { slowWatchers } from "./rules/slow-watchers.ts";
import { storeDisk } from "./rules/store-disk.ts";
import { storeFragmented } from "./rules/store-fragmented.ts";
import { storeLatency } from "./rules/store-latency.ts";
import { storeQuorum } from "./rules/store-quorum.ts";
import { storeSize } from "./rules/store-size.ts";
import { stuckLoops } from "./rules/stuck-loops.ts";
import { watchCacheRestart } from "./rules/watch-cache-restart.ts";
import { watchFanOut } from "./rules/watch-fan-out.ts";
import { webhooks } from "./rules/webhooks.ts";

export const rules: readonly Rule[] = [
  webhooks,
  aggregatedApis,
  leaders,
  certificates,
  flows,
  stuckNamespaces,
  storeLatency,
  storeSize,
  requestErrors,
  slowRequests,
  listStorm,
  slowWatchers,
  openFiles,
  objectGrowth,
  silentNodes,
  podHerd,
  conversion,
  watchFanOut,
  largeLists,
  watchCacheRestart,
  serverBusy,
  longTurns,
  afterBurst,
  endpoints,
  storeDisk,
  storeQuorum,
  storeFragmented,
  schedulerQueue,
  schedulerSlow,
  clientThrottled,
  stuckLoops,
  callers,
  fanOut,
  relay,
];
