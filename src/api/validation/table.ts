/** Which rules hold for which resource. Filled group by group. */
import type { Rules } from "../strategies/build.ts";

export const ruleTable: Readonly<Record<string, Rules>> = {};
