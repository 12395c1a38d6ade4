/**
 * Tracks the allocated devices, and the used amounts of shared devices. It follows the allocated claims, on the server
 * or in flight.
 *
 * Holds  each claim counts once, with its last state. Devices with admin access do not count as allocated.
 */
import type { AllocationResult, Device } from "#api/gen/types.ts";
import { assert } from "#base/assert.ts";
import { type Amounts, nanosOf } from "./consumable-capacity.ts";

interface Use {
  readonly id: string;
  readonly pool: string;
  /** Consumed capacity. Absent: the claim has the whole device. */
  readonly consumed: Amounts | undefined;
}

interface Shared {
  users: number;
  readonly amounts: Map<string, bigint>;
}

export class AllocatedDevices {
  /** By claim uid: devices in use by the claim. */
  readonly #claims = new Map<string, readonly Use[]>();
  /** By device id: number of claims that have the whole device; above 1 only by another scheduler's allocations. */
  readonly #whole = new Map<string, number>();
  readonly #shared = new Map<string, Shared>();
  /** By pool id: pools with at least one allocated device. */
  readonly #pools = new Map<string, { version: number; uses: number }>();
  readonly #changed: (pool: string) => void;
  #version = 0;

  /** `changed` is called with each pool in which a device is allocated or released. */
  constructor(changed: (pool: string) => void) {
    this.#changed = changed;
  }

  /** Returns the version of the pool's allocations. A version is never reused; 0: the pool has no allocation. */
  poolVersion(pool: string): number {
    return this.#pools.get(pool)?.version ?? 0;
  }

  /** Whether the device cannot be allocated. One share is enough when the device does not allow several allocations. */
  isTaken(id: string, { allowMultipleAllocations }: Device): boolean {
    if (this.#whole.has(id)) return true;
    return allowMultipleAllocations !== true && this.#shared.has(id);
  }

  /** Returns the consumed capacity of a shared device. Undefined: no claim has a share of it. */
  consumedOf(id: string): Amounts | undefined {
    return this.#shared.get(id)?.amounts;
  }

  isUsed(id: string): boolean {
    return this.#whole.has(id) || this.#shared.has(id);
  }

  /** Records a claim's allocation. Undefined: the claim has no devices. @returns whether that is a change. */
  set(uid: string, allocation: AllocationResult | undefined): boolean {
    const before = this.#claims.get(uid) ?? [];
    const after = usesOf(allocation);
    if (before.length === 0 && after.length === 0) return false;
    for (const use of before) this.#remove(use);
    for (const use of after) this.#add(use);
    if (after.length === 0) this.#claims.delete(uid);
    else this.#claims.set(uid, after);
    return true;
  }

  #add({ id, pool, consumed }: Use): void {
    this.#touch(pool, 1);
    if (consumed === undefined) {
      this.#whole.set(id, (this.#whole.get(id) ?? 0) + 1);
      return;
    }
    const shared = this.#shared.get(id) ?? { users: 0, amounts: new Map<string, bigint>() };
    shared.users++;
    for (const [name, amount] of consumed) {
      shared.amounts.set(name, (shared.amounts.get(name) ?? 0n) + amount);
    }
    this.#shared.set(id, shared);
  }

  #remove({ id, pool, consumed }: Use): void {
    this.#touch(pool, -1);
    if (consumed === undefined) {
      const left = (this.#whole.get(id) ?? 0) - 1;
      assert(left >= 0, "a device that is given back was given away", { id });
      if (left === 0) this.#whole.delete(id);
      else this.#whole.set(id, left);
      return;
    }
    const shared = this.#shared.get(id);
    if (shared === undefined) return assert(false, "a share given back was given away", { id });
    shared.users--;
    for (const [name, amount] of consumed) {
      shared.amounts.set(name, (shared.amounts.get(name) ?? 0n) - amount);
    }
    if (shared.users === 0) this.#shared.delete(id);
  }

  #touch(pool: string, uses: 1 | -1): void {
    const known = this.#pools.get(pool) ?? { version: 0, uses: 0 };
    known.version = ++this.#version;
    this.#changed(pool);
    known.uses += uses;
    if (known.uses === 0) this.#pools.delete(pool);
    else this.#pools.set(pool, known);
  }
}

function usesOf(allocation: AllocationResult | undefined): readonly Use[] {
  const uses: Use[] = [];
  for (const result of allocation?.devices?.results ?? []) {
    if (result.adminAccess === true) continue;
    const pool = `${result.driver}/${result.pool}`;
    const amounts = Object.entries(result.consumedCapacity ?? {});
    const consumed =
      result.shareID === undefined
        ? undefined
        : new Map(amounts.map(([name, text]) => [name, nanosOf(text)]));
    uses.push({ id: `${pool}/${result.device}`, pool, consumed });
  }
  return uses;
}
