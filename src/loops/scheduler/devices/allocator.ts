/**
 * The allocator: finds devices for all claims of a Pod on one node, or for none of them. Pure.
 *
 *   claims ─► requests, in order ─► alternatives, in order of preference ─► devices, in the pools' order
 *
 * The first assignment found wins. It depends only on the requests and on the published and allocated devices, so
 * `filter` and `reserve` of one decision agree. The search backtracks when a device leads to no solution.
 *
 * Bounds every examined device is a step, and the first evaluation of a selector on a device costs CEL units. Above the
 *        budget of either, the search throws StepsExceeded. Results are kept, so a later search gets further. A branch
 *        is cut where too few devices, or too few with the attribute's value, are left: "all of one domain, else none"
 *        takes no search.
 * After  k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go, all features of which
 *        are on in 1.36. Differs: distinctAttribute counts every device of a request, as documented (upstream: the last
 *        one), and counters belong to a driver's pool (upstream: to pools of that name).
 */
import type { AllocationResult, Node, ResourceClaim } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import { resultOf, type Taken } from "./allocation-result.ts";
import { Candidates } from "./candidates.ts";
import { type Amounts, consumption } from "./consumable-capacity.ts";
import { Constraint } from "./constraints.ts";
import type { Inventory } from "./inventory.ts";
import type { PoolDevice, PoolView } from "./pools.ts";
import {
  AllocationError,
  type Alternative,
  claimKey,
  devicesMax,
  type Wanted,
  wantedOf,
} from "./requests.ts";
import { CountersTaken } from "./shared-counters.ts";

/** Remaining work that one decision may do over all nodes. */
export interface Budget {
  /** Remaining steps; a step examines one device. */
  left: number;
  /** Remaining CEL cost for selectors not yet evaluated on a device. Below 0: the budget is exceeded. */
  celLeft: number;
}

export class StepsExceeded extends Error {
  constructor(node: string) {
    super(`node ${node}: timed out trying to allocate devices`);
    this.name = "StepsExceeded";
  }
}

export type Allocation =
  | { readonly kind: "found"; readonly results: readonly AllocationResult[] }
  | { readonly kind: "none"; readonly reason: string };

/** @throws AllocationError for wrong claims, and StepsExceeded. `shareId` returns an id for a share of a device. */
export function allocate(
  inventory: Inventory,
  { node, pools, claims }: Scene,
  budget: Budget,
  shareId: () => string,
): Allocation {
  const wanted = claims.map((claim) => wantedOf(claim, (name) => inventory.classOf(name)));
  const search = new Search(inventory, { node, pools, wanted }, budget);
  if (!search.run()) {
    const isInvalid = pools.some(({ kind }) => kind === "invalid");
    const reason = isInvalid
      ? "invalid resource pools were encountered"
      : "cannot allocate all claims";
    return { kind: "none", reason };
  }
  const results = wanted.map((one, i) =>
    resultOf(one, search.takenFor(i), node.metadata?.name ?? "", shareId),
  );
  return { kind: "found", results };
}

interface Scene {
  readonly node: Node;
  readonly pools: readonly PoolView[];
  readonly claims: readonly ResourceClaim[];
}

interface SearchScene extends Omit<Scene, "claims"> {
  readonly wanted: readonly Wanted[];
}

class Search {
  readonly #inventory: Inventory;
  readonly #wanted: readonly Wanted[];
  readonly #budget: Budget;
  readonly #nodeName: string;
  readonly #candidates: Candidates;
  readonly #constraints: readonly (readonly Constraint[])[];
  readonly #taken: readonly Taken[][];
  /** By device id: indexes of the claims to which this search gives the whole device. */
  readonly #whole = new Map<string, Set<number>>();
  readonly #shared = new Map<string, Map<string, bigint>[]>();
  readonly #counters = new CountersTaken();

  constructor(inventory: Inventory, { node, pools, wanted }: SearchScene, budget: Budget) {
    this.#inventory = inventory;
    this.#wanted = wanted;
    this.#budget = budget;
    this.#nodeName = node.metadata?.name ?? "";
    this.#candidates = new Candidates(inventory, pools, (cost) => this.#charge(cost));
    this.#constraints = wanted.map(({ claim }) =>
      (claim.spec.devices?.constraints ?? []).map(
        (one, i) => new Constraint(one, `claim ${claimKey(claim)}, constraint #${i}`),
      ),
    );
    this.#taken = wanted.map(() => []);
    for (const each of wanted) this.#checkSize(each);
  }

  takenFor(claim: number): readonly Taken[] {
    return this.#taken[claim] ?? [];
  }

  run(): boolean {
    return this.#fromClaim(0);
  }

  /** Checks the number of devices. Resolves "All" for each alternative first: a changing pool refuses the node. */
  #checkSize({ claim, requests }: Wanted): void {
    let least = 0;
    for (const alternatives of requests) {
      const sizes = alternatives.map((one) => this.#sizeOf(one, claim));
      if (sizes.length > 0) least += Math.min(...sizes);
    }
    if (least <= devicesMax) return;
    const text = `number of requested devices ${least} exceeds the claim limit of ${devicesMax}`;
    throw new AllocationError(`claim ${claimKey(claim)}: ${text}`);
  }

  #sizeOf(alternative: Alternative, claim: ResourceClaim): number {
    if (!alternative.isAll) return alternative.count;
    return this.#candidates.allOf(alternative, claim, () => this.#step()).length;
  }

  #fromClaim(claim: number): boolean {
    return claim >= this.#wanted.length || this.#fromRequest(claim, 0);
  }

  #fromRequest(claim: number, request: number): boolean {
    const wanted = must(this.#wanted[claim], "the claim is one of those wanted");
    const alternatives = wanted.requests[request];
    if (alternatives === undefined) return this.#fromClaim(claim + 1);
    return alternatives.some((one) => this.#tryAlternative(one, claim, request));
  }

  #tryAlternative(alternative: Alternative, claim: number, request: number): boolean {
    const count = this.#sizeOf(alternative, this.#claim(claim));
    if (alternative.isAll && count === 0) return false;
    if (this.takenFor(claim).length + count > devicesMax) return false;
    const next = (): boolean => this.#fromRequest(claim, request + 1);
    if (alternative.isAll) return this.#takeAll(alternative, claim, 0, next);
    return this.#takeCount({ alternative, claim, count, next }, 0);
  }

  #takeAll(alternative: Alternative, claim: number, at: number, next: () => boolean): boolean {
    const all = this.#candidates.allOf(alternative, this.#claim(claim), () => this.#step());
    const device = all[at];
    if (device === undefined) return next();
    this.#step();
    if (!this.#take(device, alternative, claim, true)) return false;
    if (this.#takeAll(alternative, claim, at + 1, next)) return true;
    this.#giveBack(claim);
    return false;
  }

  /** Takes devices in rising order, so that only one of several equivalent choices is tried. */
  #takeCount(pick: Pick, from: number): boolean {
    const { alternative, claim, count, next } = pick;
    if (count === 0) return next();
    const list = this.#candidates.of(alternative);
    const matching = this.#constraints[claim]?.find(
      (one) => one.isMatch && one.appliesTo(alternative),
    );
    for (let at = from; list.length - at >= count; at++) {
      this.#step();
      if (!list.matches(at, this.#claim(claim))) continue;
      const device = list.at(at);
      if (matching !== undefined && list.countLike(at, matching) < count) continue;
      if (!this.#take(device, alternative, claim, false)) continue;
      if (this.#takeCount({ ...pick, count: count - 1 }, at + 1)) return true;
      this.#giveBack(claim);
    }
    return false;
  }

  #take(device: PoolDevice, alternative: Alternative, claim: number, isMust: boolean): boolean {
    if (this.#isInUse(device, alternative, claim)) return false;
    const consumed = this.#consumptionOf(device, alternative);
    if (consumed === undefined) return false;
    if (!isTolerated(device, alternative)) return false;
    if (!this.#takeCounters(device)) return false;
    if (!this.#addToConstraints(device, alternative, claim)) {
      this.#giveCountersBack(device);
      if (!isMust) return false;
      const where = `claim ${claimKey(this.#claim(claim))}, request ${alternative.ownName}`;
      const why = "because a claim constraint would not be satisfied";
      throw new AllocationError(`${where}: cannot add device ${device.id} ${why}`);
    }
    const isShared = device.device.allowMultipleAllocations === true;
    if (isShared) this.#sharesOf(device.id).push(new Map(consumed));
    else this.#claimsWith(device.id).add(claim);
    const taken = { device, alternative, consumed: isShared ? consumed : undefined };
    this.#taken[claim]?.push(taken);
    return true;
  }

  #giveBack(claim: number): void {
    const { device, alternative, consumed } = must(this.#taken[claim]?.pop(), "was taken");
    if (consumed === undefined) this.#claimsWith(device.id).delete(claim);
    else this.#sharesOf(device.id).pop();
    for (const one of this.#constraints[claim] ?? []) {
      if (one.appliesTo(alternative)) one.removeLast();
    }
    this.#giveCountersBack(device);
  }

  /** Whether the device is in use. Admin access ignores other users, but a claim gets each device only once. */
  #isInUse({ id, device }: PoolDevice, { isAdmin }: Alternative, claim: number): boolean {
    const users = this.#whole.get(id);
    if (isAdmin) return device.allowMultipleAllocations !== true && users?.has(claim) === true;
    return this.#inventory.allocated.isTaken(id, device) || (users !== undefined && users.size > 0);
  }

  #consumptionOf({ id, device }: PoolDevice, { capacity }: Alternative): Amounts | undefined {
    const used = new Map(this.#inventory.allocated.consumedOf(id));
    for (const share of this.#shared.get(id) ?? []) {
      for (const [name, amount] of share) used.set(name, (used.get(name) ?? 0n) + amount);
    }
    return consumption(device, capacity, used);
  }

  #takeCounters(device: PoolDevice): boolean {
    if (!this.#countsNow(device)) return true;
    const left = this.#inventory.counters.of(device.pool, this.#inventory.allocated);
    return this.#counters.take(device.device, device.pool, left);
  }

  #giveCountersBack(device: PoolDevice): void {
    if (this.#countsNow(device)) this.#counters.giveBack(device.device, device.pool);
  }

  /** Whether the device consumes its counters now: of a shared device, only the first share consumes them. */
  #countsNow({ id, device }: PoolDevice): boolean {
    if ((device.consumesCounters ?? []).length === 0) return false;
    if (device.allowMultipleAllocations !== true) return true;
    if (this.#inventory.allocated.consumedOf(id) !== undefined) return false;
    return (this.#shared.get(id)?.length ?? 0) === 0;
  }

  #addToConstraints(device: PoolDevice, alternative: Alternative, claim: number): boolean {
    const added: Constraint[] = [];
    for (const one of this.#constraints[claim] ?? []) {
      if (!one.appliesTo(alternative)) continue;
      if (!one.add(device)) {
        for (const undone of added) undone.removeLast();
        return false;
      }
      added.push(one);
    }
    return true;
  }

  #claimsWith(id: string): Set<number> {
    const known = this.#whole.get(id) ?? new Set<number>();
    this.#whole.set(id, known);
    return known;
  }

  #sharesOf(id: string): Map<string, bigint>[] {
    const known = this.#shared.get(id) ?? [];
    this.#shared.set(id, known);
    return known;
  }

  #claim(at: number): ResourceClaim {
    return must(this.#wanted[at], "the claim is one of those wanted").claim;
  }

  #step(): void {
    if (--this.#budget.left < 0) throw new StepsExceeded(this.#nodeName);
  }

  #charge(cost: number): void {
    this.#budget.celLeft -= cost;
    if (this.#budget.celLeft < 0) throw new StepsExceeded(this.#nodeName);
  }
}

interface Pick {
  readonly alternative: Alternative;
  readonly claim: number;
  /** Number of devices that are still to be taken. */
  readonly count: number;
  readonly next: () => boolean;
}

function isTolerated({ device }: PoolDevice, { tolerations = [] }: Alternative): boolean {
  return (device.taints ?? []).every((taint) => {
    if (taint.effect !== "NoSchedule" && taint.effect !== "NoExecute") return true;
    return tolerations.some(({ key = "", operator = "Equal", value = "", effect = "" }) => {
      if (effect !== "" && effect !== taint.effect) return false;
      if (key !== "" && key !== taint.key) return false;
      return operator === "Exists" || (operator === "Equal" && value === (taint.value ?? ""));
    });
  });
}
