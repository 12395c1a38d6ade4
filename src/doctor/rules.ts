/** All rules; the order is that of the documentation. */
import type { Rule } from "./rule.ts";
import { aggregatedApis } from "./rules/aggregated-apis.ts";
import { certificates } from "./rules/certificates.ts";
import { flows } from "./rules/flows.ts";
import { leaders } from "./rules/leaders.ts";
import { listStorm } from "./rules/list-storm.ts";
import { stuckNamespaces } from "./rules/namespaces.ts";
import { objectGrowth } from "./rules/object-growth.ts";
import { openFiles } from "./rules/open-files.ts";
import { requestErrors } from "./rules/request-errors.ts";
import { slowRequests } from "./rules/slow-requests.ts";
import { slowWatchers } from "./rules/slow-watchers.ts";
import { storeLatency } from "./rules/store-latency.ts";
import { storeSize } from "./rules/store-size.ts";
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
];
