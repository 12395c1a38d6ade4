/** All rules; the order is that of the documentation. */
import type { Rule } from "./rule.ts";
import { aggregatedApis } from "./rules/aggregated-apis.ts";
import { certificates } from "./rules/certificates.ts";
import { flows } from "./rules/flows.ts";
import { leaders } from "./rules/leaders.ts";
import { stuckNamespaces } from "./rules/namespaces.ts";
import { webhooks } from "./rules/webhooks.ts";

export const rules: readonly Rule[] = [
  webhooks,
  aggregatedApis,
  leaders,
  certificates,
  flows,
  stuckNamespaces,
];
