/**
 * A PodDisruptionBudget of the whole, divided among regions.
 *
 * Holds  the `maxUnavailable` of all regions add up to at most what the whole budget allows, less what is unavailable in
 *        regions that do not answer. Percentages become numbers first: rounded up in each region they would add up to more.
 */
import { isRecord } from "#base/is-record.ts";
import type { AnyObject } from "#api/object.ts";
import { shareOut } from "../divide/divisor.ts";

interface BudgetRegion {
  readonly name: string;
  readonly replicas: number;
  readonly isReachable: boolean;
}

/** By region: the one number that replaces `minAvailable` and `maxUnavailable` of the budget. Undefined: the budget has no valid number. */
export function disruptionShares(
  budget: AnyObject,
  regions: readonly BudgetRegion[],
): ReadonlyMap<string, number> | undefined {
  const spec = isRecord(budget["spec"]) ? budget["spec"] : {};
  const total = regions.reduce((all, { replicas }) => all + replicas, 0);
  const allowed = allowedOf(spec, total);
  if (allowed === undefined) return undefined;
  const lost = regions.reduce((all, one) => all + (one.isReachable ? 0 : one.replicas), 0);
  const claims = regions
    .filter(({ isReachable }) => isReachable)
    .map(({ name, replicas }) => ({ name, weight: replicas, least: 0, most: replicas }));
  return shareOut(Math.max(0, allowed - lost), claims).shares;
}

function allowedOf(spec: Readonly<Record<string, unknown>>, total: number): number | undefined {
  const most = scaled(spec["maxUnavailable"], total);
  if (most !== undefined) return Math.min(total, most);
  const least = scaled(spec["minAvailable"], total);
  return least === undefined ? undefined : Math.max(0, total - least);
}

/** Rounds percentages up, as upstream's disruption controller does for both fields. */
function scaled(value: unknown, total: number): number | undefined {
  if (typeof value === "number" && Number.isSafeInteger(value)) return Math.max(0, value);
  const percent = /^(\d{1,3})%$/.exec(typeof value === "string" ? value : "")?.[1];
  return percent === undefined ? undefined : Math.ceil((Number(percent) * total) / 100);
}
