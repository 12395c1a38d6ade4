/**
 * How many nodes of a group the Pods without a place would take: first fit by falling size, in a what-if.
 *
 * Holds  every Pod counted as helped has a place on one of the nodes; no node stays empty. Nodes are at most `most`.
 * Cost   a run of the filters per kind; then a step per coupled Pod and node, and per kind and node for all others.
 */
import type { Node } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { Cluster, WhatIf } from "./cluster.ts";
import type { Kind } from "./kinds.ts";
import { copies, type Room, take, type Vector } from "./room.ts";
import { copyName, copyOf, type Template } from "./template.ts";

/** Maximum number of steps for coupled Pods per group. Pods left after that are not helped in this loop. */
const stepsMax = 50_000;

export interface Estimate {
  readonly nodes: number;
  /** By kind: number of Pods helped. */
  readonly helped: ReadonlyMap<Kind, number>;
  readonly pods: number;
  readonly cpu: number;
  readonly memory: number;
}

interface Bin {
  /** Undefined: the node has only counted Pods. */
  readonly name: string | undefined;
  readonly slot: number;
  free: Vector;
}

interface EstimateDeps {
  readonly cluster: Cluster;
  readonly room: Room;
  readonly whatIf: WhatIf;
  /** Called with the reasons why a kind does not fit on a fresh node. */
  readonly refused?: (kind: Kind, reasons: readonly string[]) => void;
}

interface Asked {
  readonly id: string;
  readonly template: Template;
  readonly most: number;
}

/** Estimates the nodes that a group needs. Leaves the what-if unchanged. */
export function estimate(deps: EstimateDeps, asked: Asked, kinds: readonly Kind[]): Estimate {
  const { mark } = deps.whatIf;
  const result = pack(deps, asked, kinds);
  deps.whatIf.undo(mark);
  return result;
}

/** Like `estimate`, but nodes with coupled Pods stay in the what-if, and helped Pods are removed from their kinds. */
export function settle(deps: EstimateDeps, asked: Asked, kinds: readonly Kind[]): Estimate {
  const result = pack(deps, asked, kinds);
  for (const [{ left }, count] of result.helped) left.length -= count;
  return result;
}

function pack(deps: EstimateDeps, { id, template, most }: Asked, kinds: readonly Kind[]): Estimate {
  const packing = new Packing(deps, { id, node: template.node, most });
  const fitting = packing.thatFitFresh(kinds.filter(({ left }) => left.length > 0));
  for (const kind of fitting) if (kind.isCoupled) packing.placeCoupled(kind);
  for (const kind of fitting) if (!kind.isCoupled) packing.count(kind);
  return packing.result();
}

class Packing {
  readonly #deps: EstimateDeps;
  readonly #id: string;
  readonly #node: Node;
  readonly #most: number;
  readonly #bins: Bin[] = [];
  readonly #helped = new Map<Kind, number>();
  /** Room of a fresh node. */
  #freshRoom: Vector = new Float64Array(0);
  #steps = 0;

  constructor(
    deps: EstimateDeps,
    { id, node, most }: { readonly id: string; readonly node: Node; readonly most: number },
  ) {
    this.#deps = deps;
    this.#id = id;
    this.#node = node;
    this.#most = most;
  }

  /** Checks against a temporary fresh node. It is removed again, because an empty node counts for topology spread. */
  thatFitFresh(kinds: readonly Kind[]): readonly Kind[] {
    const { whatIf, room } = this.#deps;
    const before = whatIf.mark;
    const slot = whatIf.addNode(copyOf(this.#node, copyName(this.#id, "fresh")));
    this.#freshRoom = room.free(slot);
    const fitting = kinds.filter((kind) => this.#fitsFresh(kind, slot));
    whatIf.undo(before);
    return fitting;
  }

  #fitsFresh(kind: Kind, slot: number): boolean {
    const { demand, sample } = kind;
    const { cluster, refused } = this.#deps;
    const hasRoom = copies(this.#freshRoom, demand, 1) > 0;
    if (hasRoom && cluster.algorithm.passes(sample, slot)) return true;
    refused?.(kind, cluster.algorithm.refusalsOn(sample, slot));
    return false;
  }

  /** Places Pods one by one, because each may change where the next one fits. */
  placeCoupled(kind: Kind): void {
    let at = 0;
    let placed = 0;
    for (const info of kind.left.toReversed()) {
      while (at < this.#bins.length && !this.#placeOn(info, kind, at)) at++;
      if (at === this.#bins.length && !this.#open(info, kind)) break;
      placed++;
    }
    if (placed > 0) this.#helped.set(kind, placed);
  }

  #placeOn(info: PodInfo, { demand }: Kind, at: number): boolean {
    const bin = must(this.#bins[at], "a bin that was opened");
    if (++this.#steps > stepsMax || copies(bin.free, demand, 1) === 0) return false;
    if (!this.#deps.cluster.algorithm.passes(info, bin.slot)) return false;
    this.#deps.whatIf.assume(info, bin.name ?? "");
    take(bin.free, demand, 1);
    return true;
  }

  /** @returns false when no further node is allowed, or when a further node would not help. */
  #open(info: PodInfo, kind: Kind): boolean {
    if (this.#bins.length >= this.#most || this.#steps > stepsMax) return false;
    const { whatIf } = this.#deps;
    const before = whatIf.mark;
    const name = copyName(this.#id, this.#bins.length);
    const slot = whatIf.addNode(copyOf(this.#node, name));
    this.#bins.push({ name, slot, free: Float64Array.from(this.#freshRoom) });
    if (this.#placeOn(info, kind, this.#bins.length - 1)) return true;
    this.#bins.pop();
    whatIf.undo(before);
    return false;
  }

  /** The nodes differ only in their coupled Pods, so the filters run again only for nodes that have such Pods. */
  count(kind: Kind): void {
    let left = kind.left.length;
    const { algorithm } = this.#deps.cluster;
    for (const { name, slot, free } of this.#bins) {
      if (left === 0) break;
      const count = copies(free, kind.demand, left);
      if (count === 0 || (name !== undefined && !algorithm.passes(kind.sample, slot))) continue;
      take(free, kind.demand, count);
      left -= count;
    }
    while (left > 0 && this.#bins.length < this.#most) {
      const free = Float64Array.from(this.#freshRoom);
      const count = copies(free, kind.demand, left);
      if (count === 0) break;
      take(free, kind.demand, count);
      this.#bins.push({ name: undefined, slot: -1, free });
      left -= count;
    }
    const placed = kind.left.length - left;
    if (placed > 0) this.#helped.set(kind, placed);
  }

  result(): Estimate {
    let [pods, cpu, memory] = [0, 0, 0];
    for (const [{ sample }, count] of this.#helped) {
      pods += count;
      cpu += count * sample.requests.cpu;
      memory += count * sample.requests.memory;
    }
    return { nodes: this.#bins.length, helped: this.#helped, pods, cpu, memory };
  }
}
