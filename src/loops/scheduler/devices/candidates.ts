/**
 * Lists the devices that a request may get on a node, in the order in which they are tried. Selectors are evaluated
 * when a device is reached, not before: an expression that would fail on a device that is never reached causes no
 * error.
 */
import type { ResourceClaim } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import { consumption } from "./consumable-capacity.ts";
import type { Constraint } from "./constraints.ts";
import type { Charge } from "./device-selectors.ts";
import type { Inventory } from "./inventory.ts";
import type { PoolDevice, PoolView } from "./pools.ts";
import { AllocationError, type Alternative, claimKey } from "./requests.ts";

type Selectors = Pick<Inventory, "selectors" | "allocated">;

export class Candidates {
  readonly #inventory: Selectors;
  readonly #pools: readonly PoolView[];
  readonly #charge: Charge;
  readonly #lists = new Map<Alternative, CandidateList>();
  readonly #all = new Map<Alternative, readonly PoolDevice[]>();

  constructor(inventory: Selectors, pools: readonly PoolView[], charge: Charge) {
    this.#inventory = inventory;
    this.#pools = pools;
    this.#charge = charge;
  }

  /** Returns the candidates of an alternative, without the devices that were allocated before the search began. */
  of(alternative: Alternative): CandidateList {
    const known = this.#lists.get(alternative);
    if (known !== undefined) return known;
    const { allocated } = this.#inventory;
    const devices = this.#devices().filter(
      ({ id, device }) => alternative.isAdmin || !allocated.isTaken(id, device),
    );
    const list = this.#listOf(alternative, devices);
    this.#lists.set(alternative, list);
    return list;
  }

  /** Returns all matching devices with room. @throws AllocationError when a pool of the node is unusable. */
  allOf(alternative: Alternative, claim: ResourceClaim, step: () => void): readonly PoolDevice[] {
    const known = this.#all.get(alternative);
    if (known !== undefined) return known;
    for (const { kind, id } of this.#pools) {
      if (kind === "usable") continue;
      const where = `claim ${claimKey(claim)}, request ${alternative.ownName}`;
      const state = kind === "incomplete" ? "being updated" : "invalid";
      const why = `resource pool ${id} is currently ${state}`;
      throw new AllocationError(`${where}: asks for all devices, but ${why}`);
    }
    const list = this.#listOf(alternative, this.#devices());
    const all: PoolDevice[] = [];
    for (let at = 0; at < list.length; at++) {
      step();
      const device = list.at(at);
      const used = this.#inventory.allocated.consumedOf(device.id);
      const hasRoom = (): boolean =>
        consumption(device.device, alternative.capacity, used) !== undefined;
      if (list.matches(at, claim) && hasRoom()) all.push(device);
    }
    this.#all.set(alternative, all);
    return all;
  }

  #listOf(alternative: Alternative, devices: readonly PoolDevice[]): CandidateList {
    return new CandidateList(this.#inventory, { alternative, devices, charge: this.#charge });
  }

  #devices(): readonly PoolDevice[] {
    return this.#pools.flatMap((view) => (view.kind === "usable" ? view.devices : []));
  }
}

interface Listed {
  readonly alternative: Alternative;
  readonly devices: readonly PoolDevice[];
  readonly charge: Charge;
}

/** The candidate devices of one alternative. */
class CandidateList {
  readonly #inventory: Selectors;
  readonly #alternative: Alternative;
  readonly #devices: readonly PoolDevice[];
  readonly #charge: Charge;
  readonly #counts = new Map<Constraint, readonly number[]>();

  constructor(inventory: Selectors, { alternative, devices, charge }: Listed) {
    this.#inventory = inventory;
    this.#alternative = alternative;
    this.#devices = devices;
    this.#charge = charge;
  }

  get length(): number {
    return this.#devices.length;
  }

  at(index: number): PoolDevice {
    return must(this.#devices[index], "a candidate's index");
  }

  /** Returns how many devices from `index` on have the value of the device at `index`: the upper bound of a match. */
  countLike(index: number, constraint: Constraint): number {
    const known = this.#counts.get(constraint) ?? this.#countSuffixes(constraint);
    this.#counts.set(constraint, known);
    return known[index] ?? 0;
  }

  #countSuffixes(constraint: Constraint): readonly number[] {
    const seen = new Map<string, number>();
    const counts: number[] = Array.from({ length: this.#devices.length }, () => 0);
    for (let at = this.#devices.length - 1; at >= 0; at--) {
      const value = constraint.valueOf(this.at(at));
      if (value === undefined) continue;
      const count = (seen.get(value) ?? 0) + 1;
      seen.set(value, count);
      counts[at] = count;
    }
    return counts;
  }

  /** Evaluates the selectors of the class, then the selectors of the request. @throws AllocationError */
  matches(index: number, claim: ResourceClaim): boolean {
    const { deviceClass, selectors } = this.#alternative;
    const device = this.at(index);
    const className = `class ${deviceClass.metadata?.name ?? ""}`;
    if (!this.#answer(device, deviceClass.spec.selectors ?? [], className)) return false;
    return this.#answer(device, selectors, `claim ${claimKey(claim)}`);
  }

  #answer(
    { device, pool }: PoolDevice,
    selectors: Alternative["selectors"],
    where: string,
  ): boolean {
    const { selectors: asked } = this.#inventory;
    return selectors.every(({ cel }, i) => {
      const answer = asked.ask(cel?.expression ?? "", pool.driver, device, this.#charge);
      if (answer.kind === "answer") return answer.matches;
      throw new AllocationError(
        `${where}: selector #${i}: CEL ${answer.step} error: ${answer.message}`,
      );
    });
  }
}
