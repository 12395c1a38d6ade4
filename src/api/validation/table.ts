/** Which rules hold for which resource, as `group/resource`. */
import type { Rules } from "../strategies/build.ts";
import { appsRules, batchRules } from "./rules-workloads.ts";

export const ruleTable: Readonly<Record<string, Rules>> = { ...appsRules, ...batchRules };
