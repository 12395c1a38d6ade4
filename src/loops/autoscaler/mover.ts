/**
 * Whether the Pods of a node have a place on other nodes, in a what-if that goes from node to node: what was moved stays
 * moved, so that two nodes are not emptied into one room.
 *
 * Cost   one pass of the filters over the nodes per kind of Pod; then a few nodes per Pod. Bounds `podsMax` Pods.
 */
import type { PodInfo } from "#scheduler/pod-info.ts";
import type { Cluster, WhatIf } from "./cluster.ts";
import { Room } from "./room.ts";

/** Maximum number of Pods examined per loop. The remaining nodes are examined in the next loops. */
const podsMax = 10_000;

interface Places {
  readonly slots: Int32Array;
  at: number;
}

export class Mover {
  readonly #cluster: Cluster;
  readonly #whatIf: WhatIf;
  readonly #isOpen: (slot: number) => boolean;
  readonly #places = new Map<string, Places>();
  /** Slots of nodes that received Pods. */
  readonly receivers = new Set<number>();
  #pods = 0;

  /** `isOpen`: returns whether the node in a slot may receive Pods. */
  constructor(cluster: Cluster, whatIf: WhatIf, isOpen: (slot: number) => boolean) {
    this.#cluster = cluster;
    this.#whatIf = whatIf;
    this.#isOpen = isOpen;
  }

  get isTired(): boolean {
    return this.#pods > podsMax;
  }

  /** Moves all Pods of a node to other nodes. @returns the first Pod without another place; then all Pods are back on the node. */
  move(pods: readonly PodInfo[], slot: number): PodInfo | undefined {
    const { nodes } = this.#cluster.cache;
    const { mark } = this.#whatIf;
    this.#pods += pods.length;
    const name = nodes.name(slot);
    for (const info of pods) this.#whatIf.lift(info, name);
    const took: number[] = [];
    for (const info of pods) {
      const place = this.#place(info, slot);
      if (place === undefined) {
        this.#whatIf.undo(mark);
        return info;
      }
      this.#whatIf.assume(info, nodes.name(place));
      took.push(place);
    }
    for (const place of took) this.receivers.add(place);
    return undefined;
  }

  /** Continues at the node where the last Pod of this kind found a place. Full nodes stay full, unless a move is undone. */
  #place(info: PodInfo, without: number): number | undefined {
    const { algorithm } = this.#cluster;
    const key = algorithm.signatureOf(info);
    const room = new Room(this.#cluster.cache.nodes, [info.requests]);
    const demand = room.demand(info.requests);
    const places = this.#places.get(key) ?? this.#look(info, key, room, demand);
    for (let tries = 0; tries < places.slots.length; tries++) {
      const slot = places.slots[places.at] ?? 0;
      const isFit =
        slot !== without &&
        this.#isOpen(slot) &&
        room.hasRoom(slot, demand) &&
        algorithm.passes(info, slot);
      if (isFit) return slot;
      places.at = (places.at + 1) % places.slots.length;
    }
    return undefined;
  }

  #look(info: PodInfo, key: string, room: Room, demand: Float64Array): Places {
    const { cache, algorithm } = this.#cluster;
    const { nodes } = cache;
    const slots = nodes.live
      .slice(0, nodes.size)
      .filter((slot) => this.#isOpen(slot) && room.hasRoom(slot, demand));
    const places = { slots: algorithm.feasible(info, slots), at: 0 };
    this.#places.set(key, places);
    return places;
  }
}
