/**
 * The devices as one decision sees them: the published and the allocated devices, and the nodes that can satisfy
 * claims.
 *
 * Holds  `judge` returns the result that `allocate` would have on a node in the current state.
 * Cost   a verdict is kept, by node and (verdict-columns.ts) by slot, until the pools of its node or their allocated
 *        devices change: a decision allocates only on changed nodes. Bounds: `shapesMax` verdicts per node;
 *        `stepsPerNode` examined devices per verdict and `stepsPerDecision` per decision; `celPerDecision` units of CEL
 *        for new answers of selectors, instead of upstream's ten seconds.
 */
import type { AllocationResult, DeviceClass, Node, ResourceClaim } from "#api/gen/types.ts";
import { AllocatedDevices } from "./allocated-devices.ts";
import { allocate, type Allocation, type Budget, StepsExceeded } from "./allocator.ts";
import { DeviceSelectors } from "./device-selectors.ts";
import { ExtendedResources } from "./extended-resources.ts";
import type { Inventory } from "./inventory.ts";
import { type NodeView, Pools, type PoolView } from "./pools.ts";
import { CountersLeft } from "./shared-counters.ts";
import { type Verdict, VerdictColumns } from "./verdict-columns.ts";

const stepsPerNode = 20_000;
export const stepsPerDecision = 200_000;
/** CEL budget of one decision: a few selectors of the maximum cost, or a hundred thousand simple ones. */
export const celPerDecision = 4_000_000;
/** Maximum number of claim shapes whose verdicts are kept per node; the oldest are dropped. */
const shapesMax = 16;

/** Maximum number of numbered claim shapes; beyond it, all numbers are discarded and assigned anew. */
const shapeIdsMax = 1_024;

/** Upstream's text without the node name, because refusals are counted by reason over all nodes. */
const timedOut = "timed out trying to allocate devices";

/** The part of the node table that this file reads. */
interface SlotNodes {
  readonly capacity: number;
  /** By slot: generation of the node, which changes with the node's labels. */
  readonly generation: Float64Array;
  node(slot: number): Node;
}

interface KeptNode {
  readonly view: NodeView;
  readonly verdicts: Map<number, Kept>;
}

interface Kept {
  readonly classes: number;
  readonly versions: readonly number[];
  readonly verdict: Verdict;
}

export class DeviceState {
  readonly #columns = new VerdictColumns();
  readonly pools = new Pools((nodeName) => {
    if (nodeName === undefined) this.#columns.clear();
    else this.#columns.nodeChanged(nodeName);
  });
  readonly allocated = new AllocatedDevices((pool) => this.#columns.poolChanged(pool));
  readonly #classes = new Map<string, DeviceClass>();
  readonly #extended = new ExtendedResources();
  #classesVersion = 0;
  readonly #shapes = new Map<string, number>();
  #lastShape = 0;
  readonly #inventory: Inventory;
  /** By node name: verdicts, kept as long as the node's view stays the same. */
  readonly #nodes = new Map<string, KeptNode>();

  constructor() {
    this.#inventory = {
      selectors: new DeviceSelectors(),
      allocated: this.allocated,
      counters: new CountersLeft(),
      classOf: (name) => this.#classes.get(name),
    };
  }

  classOf(name: string): DeviceClass | undefined {
    return this.#classes.get(name);
  }

  /** Returns the class whose devices provide an extended resource. */
  classBehind(resource: string): DeviceClass | undefined {
    return this.#extended.classOf(resource);
  }

  setClass(deviceClass: DeviceClass): void {
    this.#classesChanged();
    this.#classes.set(deviceClass.metadata?.name ?? "", deviceClass);
    this.#extended.set(deviceClass);
  }

  deleteClass(name: string): void {
    this.#classesChanged();
    this.#classes.delete(name);
    this.#extended.delete(name);
  }

  /** Returns the number of the claims' shape; claims of equal shape get equal verdicts. A number is cheap to look up. */
  shapeOf(claims: readonly ResourceClaim[]): number {
    const text = JSON.stringify(claims.map(({ spec }) => spec.devices ?? {}));
    const known = this.#shapes.get(text);
    if (known !== undefined) return known;
    if (this.#shapes.size >= shapeIdsMax) this.#shapes.clear();
    this.#shapes.set(text, ++this.#lastShape);
    return this.#lastShape;
  }

  /** Like `judge`, for nodes by their slots. Nodes that did not change since their last verdict are not examined. */
  judgeSlots(
    nodes: SlotNodes,
    claims: readonly ResourceClaim[],
    how: { readonly shape: number; readonly budget: Budget },
  ): (slot: number) => Verdict {
    const column = this.#columns.of(how.shape, nodes.capacity);
    return (slot) => {
      const generation = nodes.generation[slot] ?? 0;
      const known = this.#columns.get(column, slot, generation);
      if (known !== undefined) return known;
      const node = nodes.node(slot);
      const verdict = this.judge(node, claims, how);
      const isFinal = verdict.kind === "fits" || verdict.reason !== timedOut;
      if (!isFinal) return verdict;
      const view = this.pools.viewOf(node);
      const nodeName = node.metadata?.name ?? "";
      this.#columns.set(column, { slot, nodeName, generation, view }, verdict);
      return verdict;
    };
  }

  /** Returns the verdict of one node. `shape` is the shape of the claims. @throws AllocationError */
  judge(
    node: Node,
    claims: readonly ResourceClaim[],
    { shape, budget }: { readonly shape: number; readonly budget: Budget },
  ): Verdict {
    const { kept, pools } = this.#keptOf(node);
    const known = kept.get(shape);
    if (known !== undefined && this.#isCurrent(known, pools)) return known.verdict;
    if (budget.left <= 0 || budget.celLeft < 0) return { kind: "refused", reason: timedOut };
    const isShort = budget.left < stepsPerNode;
    const verdict = this.#judgeNow(node, claims, pools, budget);
    const isCut = isShort || budget.celLeft < 0;
    // The decision's budget ran out, not the node's. The verdict is not kept, so that the next decision can continue.
    if (isCut && verdict.kind === "refused" && verdict.reason === timedOut) return verdict;
    const versions = pools.map(({ id }) => this.allocated.poolVersion(id));
    kept.delete(shape);
    kept.set(shape, { classes: this.#classesVersion, versions, verdict });
    const oldest = kept.keys().next();
    if (kept.size > shapesMax && oldest.done !== true) kept.delete(oldest.value);
    return verdict;
  }

  forgetNode(name: string): void {
    this.pools.forgetNode(name);
    this.#nodes.delete(name);
    this.#columns.nodeChanged(name);
  }

  #classesChanged(): void {
    this.#classesVersion++;
    this.#columns.clear();
  }

  #keptOf(node: Node) {
    const view = this.pools.viewOf(node);
    const name = node.metadata?.name ?? "";
    const known = this.#nodes.get(name);
    if (known?.view === view) return { kept: known.verdicts, pools: view.pools };
    const verdicts = new Map<number, Kept>();
    this.#nodes.set(name, { view, verdicts });
    return { kept: verdicts, pools: view.pools };
  }

  /** Returns the allocations of the claims on a node that fits. @throws when the node does not fit. */
  allocateOn(
    node: Node,
    claims: readonly ResourceClaim[],
    shareId: () => string,
  ): readonly AllocationResult[] {
    const found = this.#allocate(
      node,
      claims,
      { left: stepsPerNode, celLeft: celPerDecision },
      shareId,
    );
    if (found.kind === "none") throw new Error("claim allocation not found for node");
    return found.results;
  }

  #judgeNow(
    node: Node,
    claims: readonly ResourceClaim[],
    pools: readonly PoolView[],
    budget: Budget,
  ): Verdict {
    if (pools.length === 0 && needsDevices(claims)) {
      return { kind: "refused", reason: "cannot allocate all claims" };
    }
    const before = Math.min(stepsPerNode, budget.left);
    const own = { left: before, celLeft: budget.celLeft };
    try {
      const found = this.#allocate(node, claims, own, () => "");
      if (found.kind === "none") return { kind: "refused", reason: found.reason };
      return { kind: "fits", score: scoreOf(claims, found.results) };
    } catch (error) {
      if (error instanceof StepsExceeded) return { kind: "refused", reason: timedOut };
      throw error;
    } finally {
      budget.left -= before - own.left;
      budget.celLeft = own.celLeft;
    }
  }

  #allocate(
    node: Node,
    claims: readonly ResourceClaim[],
    budget: Budget,
    shareId: () => string,
  ): Allocation {
    const { pools } = this.pools.viewOf(node);
    return allocate(this.#inventory, { node, pools, claims }, budget, shareId);
  }

  #isCurrent({ classes, versions }: Kept, pools: readonly PoolView[]): boolean {
    if (classes !== this.#classesVersion) return false;
    for (let i = 0; i < pools.length; i++) {
      if (versions[i] !== this.allocated.poolVersion(pools[i]?.id ?? "")) return false;
    }
    return true;
  }
}

/** Whether some request needs at least one device; such claims are refused on a node without pools. */
function needsDevices(claims: readonly ResourceClaim[]): boolean {
  return claims.some(({ spec }) =>
    (spec.devices?.requests ?? []).some(
      ({ exactly }) => exactly !== undefined && exactly.allocationMode !== "All",
    ),
  );
}

/** Upstream's FirstAvailableDeviceRequestMaxSize. */
const choicesMax = 8;

/** Returns upstream's computeScore of the claims and their existing or new allocations. */
export function scoreOf(
  claims: readonly ResourceClaim[],
  results: readonly AllocationResult[],
): number {
  let score = 0;
  claims.forEach(({ spec }, i) => {
    const chosen = new Set((results[i]?.devices?.results ?? []).map(({ request }) => request));
    for (const { name, firstAvailable = [] } of spec.devices?.requests ?? []) {
      firstAvailable.forEach((one, rank) => {
        if (chosen.has(`${name}/${one.name}`)) score += choicesMax - rank;
      });
    }
  });
  return score;
}
