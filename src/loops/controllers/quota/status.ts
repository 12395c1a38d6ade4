/** Computes the status of a ResourceQuota: its limits and the usage. Pure. */
import type { ResourceQuota, ResourceQuotaStatus } from "#api/gen/types.ts";
import { ownEntry } from "#base/own.ts";
import { compareQuantities, formatQuantity, tryParseQuantity } from "#api/values/quantity.ts";
import type { Usage } from "#api/quota-usage.ts";

type Amounts = Readonly<Record<string, string>>;

/** Names missing in `usage` cannot be counted here and keep their old amount. */
export function quotaStatus(quota: ResourceQuota, usage: Usage): ResourceQuotaStatus {
  const hard: Amounts = quota.spec?.hard ?? {};
  const old: Amounts = quota.status?.used ?? {};
  const used = Object.keys(hard).flatMap((name) => {
    const amount = ownEntry(usage, name);
    if (amount !== undefined) return [[name, formatQuantity(amount)] as const];
    return old[name] === undefined ? [] : [[name, old[name]] as const];
  });
  return { hard, used: Object.fromEntries(used) };
}

/** Compares amounts by value: `1` equals `1000m`. */
export function sameQuotaStatus(
  a: ResourceQuotaStatus | undefined,
  b: ResourceQuotaStatus,
): boolean {
  if (a?.hard === undefined || a.used === undefined) return false;
  return sameAmounts(a.hard, b.hard ?? {}) && sameAmounts(a.used, b.used ?? {});
}

function sameAmounts(a: Amounts, b: Amounts): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => {
    const [left, right] = [a[name], b[name]];
    if (left === undefined || right === undefined) return false;
    const [amount, other] = [tryParseQuantity(left), tryParseQuantity(right)];
    if (amount === undefined || other === undefined) return left === right;
    return compareQuantities(amount, other) === 0;
  });
}
