/**
 * The room that pods have on their nodes: who is admitted, what each was given, whose resize waits.
 *
 * Holds  a pod's demand is part of its node's usage from its admission until it has ended or is gone.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client } from "#client/client.ts";
import type { Rejection } from "./admission.ts";
import { rejectionOf } from "./admission.ts";
import type { HollowNode } from "./hollow-node.ts";
import type { Demand } from "./node-usage.ts";
import { demandOf } from "./node-usage.ts";
import type { PodRun, ResizePending } from "./pod-run.ts";
import { hasEnded } from "./pod-run.ts";
import { allocatedSpec, wantsResize } from "./resize.ts";

export interface Place {
  readonly node: HollowNode;
  readonly uid: string;
  /** Resources of the pod that are counted on the node. Undefined: none. */
  demand: Demand | undefined;
  /** Whether the pod was admitted, by this process or by an earlier one. */
  isAdmitted: boolean;
}

const nodesRef = { group: "", version: "v1", resource: "nodes" } as const;

export class PodRoom {
  readonly #client: Client;
  /** Called with the uid of a pod whose deferred resize may fit now. */
  readonly #retry: (uid: string) => void;

  constructor(client: Client, retry: (uid: string) => void) {
    this.#client = client;
    this.#retry = retry;
  }

  /** Counts a pod that an earlier process admitted; it runs and needs no new admission. */
  adopt(place: Place, pod: Pod): void {
    place.isAdmitted = true;
    this.#give(place, demandOf(allocatedSpec(pod)));
  }

  /** Returns the reason against the pod. Reads the node again before a refusal, because the known node may be outdated. */
  async admit(place: Place, pod: Pod): Promise<Rejection | undefined> {
    const isLeaving = hasEnded(pod) || pod.metadata?.deletionTimestamp !== undefined;
    if (place.isAdmitted || isLeaving) return undefined;
    const { node } = place;
    const demand = demandOf(pod.spec);
    const refused = rejectionOf(pod, demand, node, node.usage);
    if (refused !== undefined) {
      await this.#refresh(node);
      const again = rejectionOf(pod, demand, node, node.usage);
      if (again !== undefined) return again;
    }
    place.isAdmitted = true;
    this.#give(place, demand);
    return undefined;
  }

  async #refresh(node: HollowNode): Promise<void> {
    try {
      node.seen(await this.#client.get<Node>(nodesRef, "", node.name));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Returns why the pod's resize must wait. Undefined: the pod has the resources of its spec. */
  resize(place: Place, pod: Pod, run: PodRun): ResizePending | undefined {
    const { node, uid, demand } = place;
    const isNew = (pod.metadata?.generation ?? 0) > run.observed;
    const isAsked = demand !== undefined && (isNew || run.resize !== undefined);
    if (!isAsked || !wantsResize(pod)) {
      node.deferred.delete(uid);
      return undefined;
    }
    const wanted = demandOf(pod.spec);
    node.usage.remove(demand);
    const refused = rejectionOf(pod, wanted, node, node.usage);
    node.usage.add(refused === undefined ? wanted : demand);
    if (refused !== undefined) {
      node.deferred.add(uid);
      return { message: refused.message };
    }
    place.demand = wanted;
    this.#retryDeferred(node);
    node.deferred.delete(uid);
    return undefined;
  }

  /** Releases the resources of a pod that has ended or was deleted. */
  release(place: Place): void {
    const { node, uid, demand } = place;
    node.deferred.delete(uid);
    if (demand === undefined) return;
    node.usage.remove(demand);
    place.demand = undefined;
    this.#retryDeferred(node);
  }

  #give(place: Place, demand: Demand): void {
    place.demand = demand;
    place.node.usage.add(demand);
  }

  #retryDeferred(node: HollowNode): void {
    for (const uid of node.deferred) this.#retry(uid);
  }
}
