/**
 * Look-up of strategies: one per built-in resource, made once. Custom resources make theirs with
 * `buildStrategy` (strategies/build.ts) or by hand.
 */
import { ownEntry } from "#base/own.ts";
import type { StrategyRow, Rules } from "./build.ts";
import { buildStrategy } from "./build.ts";
import { appsRows, autoscalingRows, batchRows } from "./apps.ts";
import { coreRows } from "./core.ts";
import { gatedFields } from "./gated-fields.ts";
import { policyRows } from "./policies.ts";
import type { Strategy } from "./strategy-types.ts";
import { ruleTable } from "../validation/table.ts";

const rows: Readonly<Record<string, Readonly<Record<string, StrategyRow>>>> = {
  "": coreRows,
  apps: appsRows,
  batch: batchRows,
  autoscaling: autoscalingRows,
  ...policyRows,
};

const noRules: Rules = {};
/** Strategies by the set of enabled gates; each set exists once per process. */
const madeByGates = new WeakMap<ReadonlySet<string>, Map<string, Strategy>>();

function madeWith(gates: ReadonlySet<string>): Map<string, Strategy> {
  const known = madeByGates.get(gates) ?? new Map<string, Strategy>();
  madeByGates.set(gates, known);
  return known;
}

const noGates: ReadonlySet<string> = new Set();

/** A resource without a row gets a strategy without rules, status and generation. `gates`: from ResourceInfo. */
export function strategyFor(
  group: string,
  resource: string,
  gates: ReadonlySet<string> = noGates,
): Strategy {
  const name = `${group}/${resource}`;
  const made = madeWith(gates);
  const known = made.get(name);
  if (known !== undefined) return known;
  const row = ownEntry(ownEntry(rows, group) ?? {}, resource);
  const gated = (ownEntry(gatedFields, name) ?? []).filter(({ gate }) => !gates.has(gate));
  const strategy = buildStrategy({ ...row, gated }, ownEntry(ruleTable, name) ?? noRules);
  // Only resources with a row are cached, so that the map stays small.
  if (row !== undefined) made.set(name, strategy);
  return strategy;
}

/** Every resource with a row of its own, as `group/resource`. */
export function listDescribedResources(): readonly string[] {
  return Object.entries(rows).flatMap(([group, resources]) =>
    Object.keys(resources).map((resource) => `${group}/${resource}`),
  );
}
