/**
 * Protection of claims in use: the finalizer that admission puts on a claim is removed only when no
 * pod needs the claim any more.
 *
 * Safe  before the finalizer is removed, the pods of the namespace are listed live: a pod that the
 *       cache does not show yet must not lose its volume.
 */
import type { PersistentVolumeClaim, Pod } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { claimsOf, indexByClaim, podsOfClaim, usesClaim } from "./claims.ts";
import { FinalizerControl, needsWork } from "./finalizer-control.ts";

export const claimProtectionRole: ControllerRole = {
  account: "pvc-protection-controller",
  rules: [
    "get,list,update,watch | core | persistentvolumeclaims",
    "update | core | persistentvolumeclaims/status",
    "read | core | pods",
    "events",
  ],
};

const workers = 5;
const finalizer = "kubernetes.io/pvc-protection";

export class ClaimProtectionController implements Controller {
  readonly name = "pvc-protection-controller";
  readonly #client: Client;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #pods: Informer<Pod>;
  readonly #finalizers: FinalizerControl;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    const { informers } = deps;
    this.#client = deps.client;
    this.#claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
    this.#pods = informers.informer<Pod>(refs.pods);
    indexByClaim(this.#pods);
    this.#finalizers = new FinalizerControl(deps, refs.persistentvolumeclaims, finalizer);
    const { name } = this;
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#addHandlers();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  #addHandlers(): void {
    const enqueue = (claim: PersistentVolumeClaim): void => this.#enqueue(claim);
    const enqueueClaims = (pod: Pod): void => this.#enqueueClaimsOf(pod);
    this.#claims.addHandler({ add: enqueue, update: (_old, claim) => enqueue(claim) });
    this.#pods.addHandler({ update: (_old, pod) => enqueueClaims(pod), delete: enqueueClaims });
  }

  #enqueue(claim: PersistentVolumeClaim): void {
    if (needsWork(claim, finalizer)) this.#loop.queue.add(keyOf(claim));
  }

  #enqueueClaimsOf(pod: Pod): void {
    for (const key of claimsOf(pod)) {
      const claim = this.#claims.getByKey(key);
      if (claim !== undefined) this.#enqueue(claim);
    }
  }

  async #reconcile(key: string): Promise<void> {
    const claim = this.#claims.getByKey(key);
    if (claim === undefined || !needsWork(claim, finalizer)) return;
    if (claim.metadata?.deletionTimestamp === undefined) return this.#finalizers.add(claim);
    if (await this.#isInUse(key, claim)) return;
    await this.#finalizers.remove(claim);
  }

  /** Asks the cache first, then the server. */
  async #isInUse(key: string, claim: PersistentVolumeClaim): Promise<boolean> {
    if (podsOfClaim(this.#pods, key).some((pod) => usesClaim(pod, claim))) return true;
    const namespace = claim.metadata?.namespace ?? "";
    const live = await this.#client.list<Pod>(refs.pods, { namespace });
    return live.items.some((pod) => usesClaim(pod, claim));
  }
}
