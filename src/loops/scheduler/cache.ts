/**
 * The scheduler's view of nodes and placed Pods: the server's state plus the assumed Pods.
 *
 *   assume ──► assumed ──(informer shows it bound: confirm)──► placed ──(informer: gone)──► removed
 *                └──(bind failed: forget)──► removed
 *
 * Holds  an assumed Pod is later confirmed, forgotten or removed; a Pod counts once, on one node;
 *        all sums (node columns, selection counts, placed terms, ports) equal those over placed Pods.
 * Cost   adding or removing a Pod is O(its labels and terms), never O(all Pods).
 * A cycle is synchronous, so the cache itself is its snapshot: it does not change during a cycle.
 */
import type { Node } from "#api/gen/types.ts";
import { assert } from "#base/assert.ts";
import type { PlacedPod } from "./counts.ts";
import { SelectionCounts } from "./counts.ts";
import { NodeTable } from "./node-table.ts";
import { PlacedTerms } from "./placed-terms.ts";
import type { HostPort, PodInfo } from "./pod-info.ts";
import type { NamespaceLabels } from "./selection.ts";

interface Placed extends PlacedPod {
  readonly info: PodInfo;
  readonly nodeName: string;
  /** Slot of the node; -1 while the node is unknown, because a Pod may be seen before its node. */
  slot: number;
  assumed: boolean;
}

export class Cache {
  readonly nodes = new NodeTable();
  readonly counts: SelectionCounts;
  readonly terms: PlacedTerms;
  readonly #placed = new Map<string, Placed>();
  readonly #bySlot: (Map<string, Placed> | undefined)[] = [];
  readonly #waiting = new Map<string, Set<Placed>>();
  readonly #ports = new Map<number, HostPort[]>();
  readonly #volumeUsers = new Map<number, Map<string, PodInfo>>();
  /** Grows with each change that may let a refused Pod fit: a changed node, or a Pod that leaves a node. */
  loosened = 0;
  /** Grows with each change. */
  version = 0;

  constructor(deps: { namespaces: NamespaceLabels }) {
    this.counts = new SelectionCounts({
      ...deps,
      nodes: this.nodes,
      placed: () => this.#counted(),
    });
    this.terms = new PlacedTerms({ ...deps, nodes: this.nodes });
  }

  get podCount(): number {
    return this.#placed.size;
  }

  /** Counts the assumed Pods by a walk over all placed Pods. */
  countAssumed(): number {
    let count = 0;
    for (const { assumed } of this.#placed.values()) if (assumed) count++;
    return count;
  }

  isAssumed(uid: string): boolean {
    return this.#placed.get(uid)?.assumed ?? false;
  }

  nodeOf(uid: string): string | undefined {
    return this.#placed.get(uid)?.nodeName;
  }

  infoOf(uid: string): PodInfo | undefined {
    return this.#placed.get(uid)?.info;
  }

  podsOn(slot: number): Iterable<PodInfo> {
    return podInfos(this.#bySlot[slot]);
  }

  portsOn(slot: number): readonly HostPort[] {
    return this.#ports.get(slot) ?? noPorts;
  }

  /** Pods on the node that have claims or disks. */
  volumeUsersOn(slot: number): Iterable<PodInfo> {
    return this.#volumeUsers.get(slot)?.values() ?? noPods;
  }

  assume(info: PodInfo, nodeName: string): void {
    assert(!this.#placed.has(info.uid), "a Pod is assumed once", { pod: info.key });
    this.#place(info, nodeName, true);
  }

  /** Forgets an assumed Pod whose bind failed. No effect when the server has shown the Pod bound meanwhile. */
  forget(uid: string): void {
    if (this.#placed.get(uid)?.assumed === true) this.removePod(uid);
  }

  /** Places the Pod on the node that the server shows; replaces the earlier assumption about this Pod. */
  confirm(info: PodInfo, nodeName: string): void {
    const known = this.#placed.get(info.uid);
    if (known?.info === info && known.nodeName === nodeName) {
      known.assumed = false;
      return;
    }
    if (known !== undefined) this.removePod(info.uid);
    this.#place(info, nodeName, false);
  }

  removePod(uid: string): void {
    const placed = this.#placed.get(uid);
    if (placed === undefined) return;
    this.#placed.delete(uid);
    this.loosened++;
    if (placed.slot >= 0) this.#count(placed, -1);
    else this.#unwait(placed);
  }

  /** Takes a Pod off its node in a what-if within one cycle: undone by `putBack`, or undoes it for an added Pod. */
  lift(info: PodInfo, slot: number): void {
    this.#count(this.#placed.get(info.uid) ?? guest(info, slot), -1);
  }

  putBack(info: PodInfo, slot: number): void {
    this.#count(this.#placed.get(info.uid) ?? guest(info, slot), 1);
  }

  setNode(node: Node): number {
    const slot = this.nodes.set(node);
    this.loosened++;
    this.version++;
    const name = node.metadata?.name ?? "";
    for (const placed of this.#waiting.get(name) ?? []) {
      placed.slot = slot;
      this.#count(placed, 1);
    }
    this.#waiting.delete(name);
    return slot;
  }

  /** Discards the cached room, because the set of resources that devices provide may have changed. */
  classesChanged(): void {
    this.nodes.touchRoom();
    this.loosened++;
    this.version++;
  }

  deleteNode(name: string): void {
    const slot = this.nodes.slotOf(name);
    if (slot === undefined) return;
    for (const placed of this.#bySlot[slot]?.values() ?? []) {
      this.#count(placed, -1);
      placed.slot = -1;
      this.#wait(placed);
    }
    this.nodes.delete(name);
    this.loosened++;
    this.version++;
  }

  #place(info: PodInfo, nodeName: string, assumed: boolean): void {
    const slot = this.nodes.slotOf(nodeName) ?? -1;
    const placed: Placed = { info, nodeName, slot, assumed };
    this.#placed.set(info.uid, placed);
    if (slot >= 0) this.#count(placed, 1);
    else this.#wait(placed);
  }

  #count(placed: Placed, sign: 1 | -1): void {
    const { info, slot } = placed;
    this.version++;
    this.nodes.use(slot, info.requests, sign);
    this.counts.change(placed, sign);
    this.terms.change(info, slot, sign);
    if (info.hostPorts.length > 0) this.#changePorts(slot, info.hostPorts, sign);
    if (info.claims.length + info.disks.length > 0) this.#changeVolumeUsers(slot, info, sign);
    const onNode = (this.#bySlot[slot] ??= new Map());
    const pods = onNode.size;
    if (sign > 0) onNode.set(info.uid, placed);
    else onNode.delete(info.uid);
    if (onNode.size !== pods + sign) assert(false, "a Pod counts once", { pod: info.key, sign });
  }

  #changePorts(slot: number, ports: readonly HostPort[], sign: 1 | -1): void {
    const held = this.#ports.get(slot) ?? [];
    if (sign > 0) held.push(...ports);
    else for (const port of ports) removeOne(held, port);
    if (held.length === 0) this.#ports.delete(slot);
    else this.#ports.set(slot, held);
  }

  #changeVolumeUsers(slot: number, info: PodInfo, sign: 1 | -1): void {
    const users = this.#volumeUsers.get(slot) ?? new Map<string, PodInfo>();
    if (sign > 0) users.set(info.uid, info);
    else users.delete(info.uid);
    if (users.size === 0) this.#volumeUsers.delete(slot);
    else this.#volumeUsers.set(slot, users);
  }

  #wait(placed: Placed): void {
    const waiting = this.#waiting.get(placed.nodeName);
    if (waiting === undefined) this.#waiting.set(placed.nodeName, new Set([placed]));
    else waiting.add(placed);
  }

  #unwait(placed: Placed): void {
    const waiting = this.#waiting.get(placed.nodeName);
    waiting?.delete(placed);
    if (waiting?.size === 0) this.#waiting.delete(placed.nodeName);
  }

  /** Yields the Pods by node, so that a what-if counts: without lifted Pods, with the Pods that were put on. */
  *#counted(): Generator<PlacedPod> {
    for (const onNode of this.#bySlot) if (onNode !== undefined) yield* onNode.values();
  }
}

/** Returns an unplaced Pod as placed on a node, for the duration of one what-if. */
function guest(info: PodInfo, slot: number): Placed {
  return { info, slot, nodeName: "", assumed: true };
}

const noPorts: readonly HostPort[] = [];
const noPods: readonly PodInfo[] = [];

function* podInfos(onNode: Map<string, Placed> | undefined): Generator<PodInfo> {
  for (const placed of onNode?.values() ?? []) yield placed.info;
}

function removeOne(held: HostPort[], port: HostPort): void {
  const at = held.findIndex((h) => samePort(h, port));
  if (at >= 0) held.splice(at, 1);
}

function samePort(a: HostPort, b: HostPort): boolean {
  return a.port === b.port && a.protocol === b.protocol && a.ip === b.ip;
}

/** Whether two host ports exclude each other: same port and protocol on an address that they share. */
export function portsClash(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === "0.0.0.0" || b.ip === "0.0.0.0";
}
