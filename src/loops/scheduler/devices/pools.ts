/**
 * Pools of devices, as ResourceSlices publish them, and the devices that a node can reach.
 *
 * Holds  only the slices of a pool's highest generation count. A pool with missing slices is incomplete, and a pool
 *        with contradictions is invalid: neither provides devices.
 * Cost   a node's view is made at first use, and again only after a change of the node's labels or of a slice that may
 *        concern it. Bounds: one view per node, one entry per slice.
 * After  k8s.io/dynamic-resource-allocation/structured/internal/incubating/pools_incubating.go.
 */
import type { CounterSet, Device, Node, NodeSelector, ResourceSlice } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { nodeSelectorMatches } from "#api/selectors/node-match.ts";
import { ownEntry } from "#base/own.ts";

export interface PoolDevice {
  /** Id of the device: `driver/pool/device`. */
  readonly id: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
  readonly pool: Pool;
}

export interface Pool {
  /** Id of the pool: `driver/pool`. */
  readonly id: string;
  readonly driver: string;
  readonly name: string;
  /** By set name: the counter sets of all slices of the pool, on any node. */
  readonly counterSets: ReadonlyMap<string, CounterSet>;
  /** Devices of all slices of the pool; needed to find the consumers of the counters. */
  readonly allDevices: readonly PoolDevice[];
}

/** A pool as one node sees it. */
export type PoolView =
  | { readonly kind: "incomplete" | "invalid"; readonly id: string }
  /** `devices` are ordered by slice name, then by their position in the slice. */
  | { readonly kind: "usable"; readonly id: string; readonly devices: readonly PoolDevice[] };

/** The pools that a node can reach. A change yields a new object, so that derived data can be cached by the object. */
export interface NodeView {
  readonly labels: NonNullable<Node["metadata"]>["labels"];
  /** In the order of allocation attempts: pools with binding conditions last, then by driver and name. */
  readonly pools: readonly PoolView[];
}

interface Group {
  readonly driver: string;
  readonly name: string;
  readonly slices: Map<string, ResourceSlice>;
  /** Computed on demand. Undefined: not computed since the last change. */
  current: Current | undefined;
}

interface Current {
  readonly slices: readonly ResourceSlice[];
  readonly isComplete: boolean;
  readonly isInvalid: boolean;
  readonly devicesOf: ReadonlyMap<ResourceSlice, readonly PoolDevice[]>;
}

export class Pools {
  readonly #groups = new Map<string, Group>();
  /** By node name: pools with a slice of that node. */
  readonly #local = new Map<string, Set<Group>>();
  /** Pools with a slice that names no node. */
  readonly #shared = new Set<Group>();
  readonly #views = new Map<string, NodeView>();
  readonly #stale: (nodeName: string | undefined) => void;

  /** `stale` is called with the name of a node whose reachable pools may have changed. Undefined: any node's. */
  constructor(stale: (nodeName: string | undefined) => void) {
    this.#stale = stale;
  }

  set(slice: ResourceSlice): void {
    const known = this.#groupOf(slice).slices.get(nameOf(slice));
    // The driver and pool of a slice never change, so the group of the known slice is the group of the new one.
    if (known !== undefined) this.#changed(known);
    const group = this.#groupOf(slice);
    group.slices.set(nameOf(slice), slice);
    this.#changed(slice);
  }

  delete(slice: ResourceSlice): void {
    const group = this.#groupOf(slice);
    group.slices.delete(nameOf(slice));
    this.#changed(slice);
  }

  viewOf(node: Node): NodeView {
    const name = node.metadata?.name ?? "";
    const labels = node.metadata?.labels;
    const known = this.#views.get(name);
    if (known !== undefined) {
      const isSame = known.labels === labels || jsonEqual(known.labels ?? {}, labels ?? {});
      if (isSame) return known;
    }
    const made = { labels, pools: this.#makeView(node) };
    this.#views.set(name, made);
    return made;
  }

  forgetNode(name: string): void {
    this.#views.delete(name);
  }

  #groupOf({ spec }: ResourceSlice): Group {
    const id = `${spec.driver}/${spec.pool.name}`;
    const known = this.#groups.get(id);
    if (known !== undefined) return known;
    const made: Group = {
      driver: spec.driver,
      name: spec.pool.name,
      slices: new Map(),
      current: undefined,
    };
    this.#groups.set(id, made);
    return made;
  }

  #changed(slice: ResourceSlice): void {
    const group = this.#groupOf(slice);
    group.current = undefined;
    const nodeNames = new Set<string>();
    let isShared = isSharedSlice(slice);
    for (const one of group.slices.values()) {
      if (isSharedSlice(one)) isShared = true;
      else nodeNames.add(one.spec.nodeName ?? "");
    }
    if (!isSharedSlice(slice)) nodeNames.add(slice.spec.nodeName ?? "");
    this.#place(group, nodeNames, isShared);
    if (group.slices.size === 0) this.#groups.delete(`${group.driver}/${group.name}`);
  }

  #place(group: Group, nodeNames: ReadonlySet<string>, isShared: boolean): void {
    for (const name of nodeNames) {
      this.#views.delete(name);
      this.#stale(name);
      const isThere = [...group.slices.values()].some(({ spec }) => spec.nodeName === name);
      const local = this.#local.get(name) ?? new Set<Group>();
      if (isThere) local.add(group);
      else local.delete(group);
      if (local.size > 0) this.#local.set(name, local);
      else this.#local.delete(name);
    }
    if (!isShared) return;
    this.#views.clear();
    this.#stale(undefined);
    if ([...group.slices.values()].some(isSharedSlice)) this.#shared.add(group);
    else this.#shared.delete(group);
  }

  #makeView(node: Node): readonly PoolView[] {
    const local = this.#local.get(node.metadata?.name ?? "") ?? [];
    const groups = [...new Set([...this.#shared, ...local])];
    const views = groups.flatMap((group) => viewOfGroup(group, node) ?? []);
    return views.toSorted((a, b) => rankOf(a) - rankOf(b) || (a.id < b.id ? -1 : 1));
  }
}

/** Whether all nodes see the slice. As upstream, the allocator examines slices with counters on every node. */
function isSharedSlice({ spec }: ResourceSlice): boolean {
  return (spec.nodeName ?? "") === "" || (spec.sharedCounters ?? []).length > 0;
}

function rankOf(view: PoolView): number {
  if (view.kind !== "usable") return 0;
  return view.devices.some(({ device }) => device.bindingConditions !== undefined) ? 1 : 0;
}

function viewOfGroup(group: Group, node: Node): PoolView | undefined {
  group.current ??= currentOf(group);
  const { slices, isComplete, isInvalid, devicesOf } = group.current;
  const relevant = slices.filter((slice) => isRelevant(slice, node));
  if (relevant.length === 0) return undefined;
  const id = `${group.driver}/${group.name}`;
  if (!isComplete) return { kind: "incomplete", id };
  const devices = relevant.flatMap((slice) => devicesOf.get(slice) ?? []);
  const hasTwins = new Set(devices.map((one) => one.id)).size < devices.length;
  if (isInvalid || hasTwins) return { kind: "invalid", id };
  return { kind: "usable", id, devices: devices.filter((one) => isReachable(one, node)) };
}

function currentOf({ driver, name, slices: byName }: Group): Current {
  const all = [...byName.values()];
  const generation = Math.max(...all.map(({ spec }) => Number(spec.pool.generation)));
  const slices = all
    .filter(({ spec }) => Number(spec.pool.generation) === generation)
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const wanted = Number(slices[0]?.spec.pool.resourceSliceCount ?? 0);
  const sets = slices.flatMap(({ spec }) => spec.sharedCounters ?? []);
  const counterSets = new Map(sets.map((set) => [set.name, set]));
  const id = `${driver}/${name}`;
  const allDevices: PoolDevice[] = [];
  const pool: Pool = { id, driver, name, counterSets, allDevices };
  const devicesOf = new Map<ResourceSlice, readonly PoolDevice[]>();
  for (const slice of slices) {
    const devices = (slice.spec.devices ?? []).map((device) => ({
      id: `${id}/${device.name}`,
      device,
      slice,
      pool,
    }));
    devicesOf.set(slice, devices);
    allDevices.push(...devices);
  }
  const isInvalid = counterSets.size < sets.length || !allDevices.every(hasItsCounters);
  return { slices, isComplete: slices.length === wanted, isInvalid, devicesOf };
}

function hasItsCounters({ device, pool }: PoolDevice): boolean {
  return (device.consumesCounters ?? []).every(({ counterSet, counters }) => {
    const set = pool.counterSets.get(counterSet);
    if (set === undefined) return false;
    return Object.keys(counters).every((name) => ownEntry(set.counters, name) !== undefined);
  });
}

function isRelevant({ spec }: ResourceSlice, node: Node): boolean {
  if ((spec.sharedCounters ?? []).length > 0) return true;
  if (spec.perDeviceNodeSelection === true) {
    return (spec.devices ?? []).some((device) => isOnNode(device, node));
  }
  return isOnNode(spec, node);
}

function isReachable({ device, slice }: PoolDevice, node: Node): boolean {
  return slice.spec.perDeviceNodeSelection !== true || isOnNode(device, node);
}

interface Place {
  readonly nodeName?: string;
  readonly allNodes?: boolean;
  readonly nodeSelector?: NodeSelector;
}

function isOnNode({ nodeName = "", allNodes, nodeSelector }: Place, node: Node): boolean {
  if (nodeName !== "") return node.metadata?.name === nodeName;
  if (allNodes === true) return true;
  return nodeSelector !== undefined && nodeSelectorMatches(nodeSelector, node);
}

function nameOf({ metadata }: ResourceSlice): string {
  return metadata?.name ?? "";
}
