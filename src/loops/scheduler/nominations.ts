/**
 * Nominated Pods: they preempted others on a node and wait for the room to become free. Until they are placed, Pods of
 * no higher priority cannot use that room.
 */
import { assert } from "#base/assert.ts";
import type { Cycle } from "./cycle.ts";
import type { PodInfo } from "./pod-info.ts";

export class Nominations {
  readonly #byNode = new Map<string, Map<string, PodInfo>>();
  readonly #nodeOf = new Map<string, string>();

  get size(): number {
    return this.#nodeOf.size;
  }

  nodeOf(uid: string): string | undefined {
    return this.#nodeOf.get(uid);
  }

  set(info: PodInfo, nodeName: string): void {
    this.delete(info.uid);
    this.#nodeOf.set(info.uid, nodeName);
    const onNode = this.#byNode.get(nodeName);
    if (onNode === undefined) this.#byNode.set(nodeName, new Map([[info.uid, info]]));
    else onNode.set(info.uid, info);
  }

  delete(uid: string): void {
    const nodeName = this.#nodeOf.get(uid);
    if (nodeName === undefined) return;
    this.#nodeOf.delete(uid);
    const onNode = this.#byNode.get(nodeName);
    const wasThere = onNode?.delete(uid) === true;
    assert(wasThere, "a nominated Pod is listed on its node", { uid, nodeName });
    if (onNode?.size === 0) this.#byNode.delete(nodeName);
  }

  /** Returns the Pods nominated to the node, except `info`, whose priority is at least that of `info`. */
  on(nodeName: string, info: PodInfo): PodInfo[] {
    const onNode = this.#byNode.get(nodeName);
    if (onNode === undefined) return [];
    return [...onNode.values()].filter((n) => n.priority >= info.priority && n.uid !== info.uid);
  }

  /** Refuses feasible nodes where the Pod does not fit beside the nominated Pods. A verdict is -1 or a reason id. */
  exclude(cycle: Cycle, verdictWithNominated: (slot: number) => number): void {
    if (this.#nodeOf.size === 0 || cycle.count === 0) return;
    const { nodes } = cycle.cache;
    cycle.keep((slot) => {
      if (this.on(nodes.name(slot), cycle.info).length === 0) return -1;
      return verdictWithNominated(slot);
    });
  }
}
