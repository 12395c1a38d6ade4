/**
 * Shared counters: the amounts that the devices of a pool take of the same hardware. An allocated device takes its
 * amounts once, for any number of claims that share it.
 */
import type { Device } from "#api/gen/types.ts";
import type { AllocatedDevices } from "./allocated-devices.ts";
import { nanosOf } from "./consumable-capacity.ts";
import type { Pool } from "./pools.ts";

/** Remaining amounts of pools by `set/counter`, cached for one version of the pool's allocations. */
export class CountersLeft {
  readonly #left = new WeakMap<Pool, { readonly version: number; readonly amounts: Amounts }>();

  of(pool: Pool, allocated: AllocatedDevices): Amounts {
    const version = allocated.poolVersion(pool.id);
    const known = this.#left.get(pool);
    if (known?.version === version) return known.amounts;
    const amounts = leftOf(pool, allocated);
    this.#left.set(pool, { version, amounts });
    return amounts;
  }
}

type Amounts = ReadonlyMap<string, bigint>;

function leftOf(pool: Pool, allocated: AllocatedDevices): Amounts {
  const left = new Map<string, bigint>();
  for (const [set, { counters }] of pool.counterSets) {
    for (const [name, { value }] of Object.entries(counters)) {
      left.set(`${set}/${name}`, nanosOf(value));
    }
  }
  for (const { id, device } of pool.allDevices) {
    if (!allocated.isUsed(id)) continue;
    for (const [key, amount] of amountsOf(device)) left.set(key, (left.get(key) ?? 0n) - amount);
  }
  return left;
}

function amountsOf({ consumesCounters = [] }: Device): readonly (readonly [string, bigint])[] {
  return consumesCounters.flatMap(({ counterSet, counters }) =>
    Object.entries(counters).map(
      ([name, { value }]) => [`${counterSet}/${name}`, nanosOf(value)] as const,
    ),
  );
}

/** Counter amounts that one search has taken. */
export class CountersTaken {
  readonly #taken = new Map<Pool, Map<string, bigint>>();

  /** Takes the device's amounts. @returns false, and takes nothing, when the pool has less left. */
  take(device: Device, pool: Pool, left: Amounts): boolean {
    const amounts = amountsOf(device);
    const taken = this.#taken.get(pool) ?? new Map<string, bigint>();
    this.#taken.set(pool, taken);
    for (const [key, amount] of amounts) {
      if ((taken.get(key) ?? 0n) + amount > (left.get(key) ?? 0n)) return false;
    }
    for (const [key, amount] of amounts) taken.set(key, (taken.get(key) ?? 0n) + amount);
    return true;
  }

  giveBack(device: Device, pool: Pool): void {
    const taken = this.#taken.get(pool);
    for (const [key, amount] of amountsOf(device)) taken?.set(key, (taken.get(key) ?? 0n) - amount);
  }
}
