/** Rules by resource, as `group/resource`. */
import type { Rules } from "../strategies/build.ts";
import { clusterRules } from "./rules-cluster.ts";
import { coreRules } from "./rules-core.ts";
import { appsRules, batchRules, podRules } from "./rules-workloads.ts";

export const ruleTable: Readonly<Record<string, Rules>> = {
  ...podRules,
  ...coreRules,
  ...appsRules,
  ...batchRules,
  ...clusterRules,
};
