/**
 * The cluster as the autoscaler sees it: the scheduler's own cache and filters, kept by informers, and what-ifs on them.
 *
 * Holds  after `undo` the cache is as before the what-if: a what-if is never seen by another one.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import type { Random } from "#platform/random.ts";
import { Cache } from "#scheduler/cache.ts";
import type { VolumeLookup } from "#scheduler/claims.ts";
import type { ServicesOf } from "#scheduler/default-spreads.ts";
import type { DeviceLookup } from "#scheduler/devices/lookup.ts";
import { haveSameStaticFacts } from "#scheduler/node-table.ts";
import { Nominations } from "#scheduler/nominations.ts";
import { podInfo, type PodInfo, sameForScheduling } from "#scheduler/pod-info.ts";
import { choosePlugins, defaultArguments } from "#scheduler/profile.ts";
import { ScheduleAlgorithm } from "#scheduler/schedule-algorithm.ts";
import type { NamespaceLabels } from "#scheduler/selection.ts";

interface ClusterDeps {
  readonly random: Random;
  readonly namespaces: NamespaceLabels;
  readonly volumes: VolumeLookup;
  readonly devices?: DeviceLookup;
  readonly services?: ServicesOf;
}

/** Scores are disabled: they cost memory per class and node, and the autoscaler does not use them. */
const filtersOnly = choosePlugins(defaultArguments, () => ({
  filters: true,
  scores: false,
  weight: undefined,
}));

export class Cluster {
  readonly cache: Cache;
  readonly algorithm: ScheduleAlgorithm;
  readonly namespaces: NamespaceLabels;
  /** Pods without a node, by uid. */
  readonly #pending = new Map<string, PodInfo>();

  constructor(deps: ClusterDeps) {
    this.namespaces = deps.namespaces;
    this.cache = new Cache({ namespaces: deps.namespaces });
    const nominations = new Nominations();
    const { cache } = this;
    this.algorithm = new ScheduleAlgorithm({ ...deps, cache, nominations, plugins: filtersOnly });
  }

  get pending(): readonly PodInfo[] {
    return [...this.#pending.values()];
  }

  setNode(node: Node): void {
    const { nodes } = this.cache;
    const slot = nodes.slotOf(node.metadata?.name ?? "");
    const old = slot === undefined ? undefined : nodes.node(slot);
    // A heartbeat changes nothing that a filter reads.
    if (old !== undefined && haveSameStaticFacts(old, node)) nodes.set(node);
    else this.cache.setNode(node);
  }

  deleteNode(name: string): void {
    this.cache.deleteNode(name);
  }

  setPod(pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    const nodeName = pod.spec?.nodeName ?? "";
    const { phase } = pod.status ?? {};
    if (phase === "Succeeded" || phase === "Failed") return this.deletePod(pod);
    const held = this.cache.infoOf(uid) ?? this.#pending.get(uid);
    const isSame = held !== undefined && sameForScheduling(held.pod, pod);
    if (isSame) held.pod = pod;
    const info = isSame ? held : podInfo(pod);
    if (nodeName !== "") {
      this.#pending.delete(uid);
      this.cache.confirm(info, nodeName);
    } else if (pod.metadata?.deletionTimestamp === undefined) this.#pending.set(uid, info);
    else this.#pending.delete(uid);
  }

  deletePod(pod: Pod): void {
    const uid = pod.metadata?.uid ?? "";
    this.#pending.delete(uid);
    this.cache.removePod(uid);
  }

  /** Starts a what-if. */
  what(): WhatIf {
    return new WhatIf(this.cache);
  }
}

/** Adds hypothetical Pods and nodes to the cache for the duration of a question. */
export class WhatIf {
  readonly #cache: Cache;
  readonly #undo: (() => void)[] = [];

  constructor(cache: Cache) {
    this.#cache = cache;
  }

  /** Position in the list of changes; `undo(mark)` undoes the later ones only. */
  get mark(): number {
    return this.#undo.length;
  }

  assume(info: PodInfo, nodeName: string): void {
    this.#cache.assume(info, nodeName);
    this.#undo.push(() => this.#cache.forget(info.uid));
  }

  /** Removes a placed Pod from its node. */
  lift(info: PodInfo, nodeName: string): void {
    this.#cache.removePod(info.uid);
    this.#undo.push(() => this.#cache.confirm(info, nodeName));
  }

  /** @returns the slot of the new node. */
  addNode(node: Node): number {
    const name = node.metadata?.name ?? "";
    const slot = this.#cache.setNode(node);
    this.#undo.push(() => this.#cache.deleteNode(name));
    return slot;
  }

  undo(mark = 0): void {
    while (this.#undo.length > mark) this.#undo.pop()?.();
  }
}
