/**
 * Which nodes go: those that are little used for long enough and whose Pods have a place elsewhere.
 *
 * Holds  no group below its minimum; no Pod is moved that a budget keeps; the Pods of all nodes that go have places on
 *        nodes that stay, together; within the cooldown nothing goes.
 */
import type { Node } from "#api/gen/types.ts";
import type { Cache } from "#scheduler/cache.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { Action, Removal } from "./action.ts";
import { type Book, note } from "./book.ts";
import { type Blocker, Budgets, verdictOn } from "./drainable.ts";
import { type GroupHealth, type Health, isNodeReady } from "./group-health.ts";
import { Mover } from "./mover.ts";
import type { AutoscalerOptions } from "./options.ts";
import { isDaemon } from "./pending.ts";
import type { Snapshot } from "./snapshot.ts";
import { isBeingDeleted, isCandidate } from "./taints.ts";
import { Totals } from "./totals.ts";

const disabledAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled";

/** Upstream's names of the reasons why a node stays. */
type Unremovable =
  | Blocker
  | "ScaleDownDisabledAnnotation"
  | "ScaleDownUnreadyDisabled"
  | "NotUnderutilized"
  | "NotUnneededLongEnough"
  | "NotUnreadyLongEnough"
  | "NodeGroupMinSizeReached"
  | "MinimalResourceLimitExceeded"
  | "NoPlaceToMovePods";

export interface ScaleDown {
  readonly actions: readonly Action[];
  /** Names of nodes that are unneeded now. They may be removed once they have been unneeded for long enough. */
  readonly unneeded: ReadonlySet<string>;
  readonly unremovable: ReadonlyMap<Unremovable, number>;
  readonly isInCooldown: boolean;
}

interface Candidate {
  readonly health: GroupHealth;
  readonly node: Node;
  readonly slot: number;
  readonly utilization: number;
  readonly pods: readonly PodInfo[];
}

interface Deps {
  readonly snapshot: Snapshot;
  readonly book: Book;
  readonly options: AutoscalerOptions;
}

/** `needed`: nodes with a place for Pods that have no node; `hasWaiting`: whether there are such Pods. */
export function planScaleDown(
  deps: Deps,
  health: Health,
  pending: { readonly needed: ReadonlySet<string>; readonly hasWaiting: boolean },
): ScaleDown {
  const run = new ScaleDownRun(deps, health, pending.needed);
  try {
    return run.plan(pending.hasWaiting);
  } finally {
    run.end();
  }
}

class ScaleDownRun {
  readonly #deps: Deps;
  readonly #health: Health;
  readonly #needed: ReadonlySet<string>;
  readonly #whatIf;
  readonly #mover: Mover;
  readonly #budgets: Budgets;
  readonly #totals: Totals;
  readonly #unremovable = new Map<Unremovable, number>();
  /** By group: number of nodes to remove, including removals in progress. */
  readonly #going = new Map<string, number>();
  readonly #closed = new Set<number>();

  constructor(deps: Deps, health: Health, needed: ReadonlySet<string>) {
    const { snapshot, options, book } = deps;
    const { cluster } = snapshot;
    const { nodes } = cluster.cache;
    this.#deps = deps;
    this.#health = health;
    this.#needed = needed;
    this.#whatIf = cluster.what();
    this.#budgets = new Budgets(snapshot.budgets);
    this.#totals = new Totals(nodes, options);
    for (const [name, { group }] of book.removing) {
      const slot = nodes.slotOf(name);
      if (slot !== undefined) this.#closed.add(slot);
      this.#going.set(group, (this.#going.get(group) ?? 0) + 1);
    }
    const isOpen = (slot: number): boolean => !this.#closed.has(slot);
    this.#mover = new Mover(cluster, this.#whatIf, isOpen);
  }

  plan(hasWaiting: boolean): ScaleDown {
    const { book, snapshot } = this.#deps;
    const { nowMs } = snapshot;
    const candidates = this.#candidates();
    const removable: Candidate[] = [];
    for (const candidate of candidates) {
      if (this.#mover.isTired) break;
      if (this.#mayGo(candidate)) removable.push(candidate);
    }
    const names = new Set(removable.map(({ node }) => nameOf(node)));
    const empty = removable.filter(({ pods }) => pods.length === 0);
    const emptyNames = new Set(empty.map(({ node }) => nameOf(node)));
    // Covers all nodes, so that the time of a node that is no candidate now starts anew later.
    for (const name of this.#health.groupOf.keys()) {
      note(book.unneededSince, name, names.has(name), nowMs);
      note(book.emptySince, name, emptyNames.has(name), nowMs);
    }
    const isInCooldown = this.#isInCooldown();
    const removals = isInCooldown ? [] : this.#removals(removable, hasWaiting);
    return {
      actions: [...removals, ...this.#marks(names)],
      unneeded: names,
      unremovable: this.#unremovable,
      isInCooldown,
    };
  }

  end(): void {
    this.#whatIf.undo();
  }

  #isInCooldown(): boolean {
    const { book, options, snapshot } = this.#deps;
    const { nowMs } = snapshot;
    return (
      nowMs - book.lastAddMs < options.scaleDownDelayAfterAddMs ||
      nowMs - book.lastDeleteMs < options.scaleDownDelayAfterDeleteMs ||
      nowMs - book.lastFailureMs < options.scaleDownDelayAfterFailureMs
    );
  }

  /** Returns the nodes already known to be unneeded first, so that their time continues; then by utilization, the lowest first. */
  #candidates(): readonly Candidate[] {
    const { cluster } = this.#deps.snapshot;
    const { nodes } = cluster.cache;
    const found: Candidate[] = [];
    for (const health of this.#health.groups) {
      if (!health.group.isOwn) continue;
      for (const node of health.nodes) {
        const slot = nodes.slotOf(nameOf(node));
        const candidate = slot === undefined ? undefined : this.#candidate(health, node, slot);
        if (candidate !== undefined) found.push(candidate);
      }
    }
    const { unneededSince } = this.#deps.book;
    const rank = ({ node, utilization }: Candidate): number =>
      unneededSince.has(nameOf(node)) ? utilization - 10 : utilization;
    return found.toSorted((a, b) => rank(a) - rank(b));
  }

  #candidate(health: GroupHealth, node: Node, slot: number): Candidate | undefined {
    const { snapshot, options, book } = this.#deps;
    const name = nameOf(node);
    if (book.removing.has(name) || isBeingDeleted(node)) return undefined;
    if (node.metadata?.annotations?.[disabledAnnotation] === "true") {
      return this.#stays("ScaleDownDisabledAnnotation");
    }
    const isReady = isNodeReady(node);
    if (!isReady && !options.scaleDownUnreadyEnabled)
      return this.#stays("ScaleDownUnreadyDisabled");
    if (this.#needed.has(name)) return this.#stays("NotUnderutilized");
    const { cache } = snapshot.cluster;
    const utilization = utilizationOf(
      cache,
      slot,
      health.group.options.ignoreDaemonSetsUtilization,
    );
    const threshold = health.group.options.scaleDownUtilizationThreshold;
    if (isReady && utilization >= threshold) return this.#stays("NotUnderutilized");
    const pods: PodInfo[] = [];
    for (const info of cache.podsOn(slot)) {
      const verdict = verdictOn(info, this.#budgets, options);
      if (verdict.kind === "blocks") return this.#stays(verdict.why);
      if (verdict.kind === "moves") pods.push(info);
    }
    return { health, node, slot, utilization, pods };
  }

  #mayGo({ health, slot, pods }: Candidate): boolean {
    if (this.#mover.receivers.has(slot)) return this.#refuse("NoPlaceToMovePods");
    const { id, min, target } = health.group;
    const going = this.#going.get(id) ?? 0;
    if (target - going - 1 < min) return this.#refuse("NodeGroupMinSizeReached");
    const { nodes } = this.#deps.snapshot.cluster.cache;
    const isKept = this.#budgets.take(pods) !== undefined;
    if (isKept) return this.#refuse("NotEnoughPdb");
    if (this.#mover.move(pods, slot) !== undefined) return this.#refuse("NoPlaceToMovePods");
    if (!this.#totals.remove(nodes.cpuMax[slot] ?? 0, nodes.memoryMax[slot] ?? 0)) {
      return this.#refuse("MinimalResourceLimitExceeded");
    }
    this.#closed.add(slot);
    this.#going.set(id, going + 1);
    return true;
  }

  #removals(removable: readonly Candidate[], hasWaiting: boolean): readonly Action[] {
    const { book, options } = this.#deps;
    const drains = [...book.removing.values()].filter(({ isDrain }) => isDrain).length;
    let nodesLeft = options.maxScaleDownParallelism - book.removing.size;
    let drainsLeft = options.maxDrainParallelism - drains;
    const actions: Action[] = [];
    for (const candidate of removable) {
      if (nodesLeft <= 0) break;
      const reason = this.#isDue(candidate);
      if (reason === undefined) continue;
      const { pods, node, health, utilization } = candidate;
      if (pods.length > 0 && (drainsLeft <= 0 || hasWaiting)) continue;
      nodesLeft--;
      if (pods.length > 0) drainsLeft--;
      actions.push({ kind: "remove", group: health.group.id, node, reason, pods, utilization });
    }
    return actions;
  }

  #isDue({ health, node, pods }: Candidate): Removal | undefined {
    const { book, snapshot, options } = this.#deps;
    const { nowMs } = snapshot;
    const name = nameOf(node);
    const own = health.group.options;
    const unreadyMs = nowMs - (book.unreadySince.get(name) ?? nowMs);
    if (!isNodeReady(node)) {
      if (unreadyMs >= own.scaleDownUnreadyMs) return "unready";
      this.#stays("NotUnreadyLongEnough");
      return undefined;
    }
    const emptyMs = nowMs - (book.emptySince.get(name) ?? nowMs);
    const emptyLongMs = options.emptyNodeMs ?? own.scaleDownUnneededMs;
    if (pods.length === 0 && emptyMs >= emptyLongMs) return "empty";
    const unneededMs = nowMs - (book.unneededSince.get(name) ?? nowMs);
    if (unneededMs >= own.scaleDownUnneededMs) return pods.length === 0 ? "empty" : "underutilized";
    this.#stays("NotUnneededLongEnough");
    return undefined;
  }

  #marks(unneeded: ReadonlySet<string>): readonly Action[] {
    const actions: Action[] = [];
    for (const { nodes, group } of this.#health.groups) {
      if (!group.isOwn) continue;
      for (const node of nodes) {
        if (actions.length >= this.#deps.options.maxBulkSoftTaintCount) return actions;
        const isWanted = unneeded.has(nameOf(node));
        if (isBeingDeleted(node) || isCandidate(node) === isWanted) continue;
        actions.push({ kind: isWanted ? "mark" : "unmark", node });
      }
    }
    return actions;
  }

  #stays(why: Unremovable): undefined {
    this.#unremovable.set(why, (this.#unremovable.get(why) ?? 0) + 1);
    return undefined;
  }

  #refuse(why: Unremovable): false {
    this.#stays(why);
    return false;
  }
}

function nameOf({ metadata }: Node): string {
  return metadata?.name ?? "";
}

/** Returns the larger of the requested shares of cores and memory. Pods of DaemonSets count unless `ignoresDaemons` is true. */
function utilizationOf(cache: Cache, slot: number, ignoresDaemons: boolean): number {
  const { nodes } = cache;
  let cpu = nodes.cpuUsed[slot] ?? 0;
  let memory = nodes.memoryUsed[slot] ?? 0;
  if (ignoresDaemons) {
    for (const { pod, requests } of cache.podsOn(slot)) {
      if (!isDaemon(pod)) continue;
      cpu -= requests.cpu;
      memory -= requests.memory;
    }
  }
  const share = (used: number, most = 0): number => (most === 0 ? 0 : used / most);
  return Math.max(share(cpu, nodes.cpuMax[slot]), share(memory, nodes.memoryMax[slot]));
}
