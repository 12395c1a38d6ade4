/**
 * ReplicaSet and ReplicationController: N pods of one template, no more and no fewer.
 *
 * In    ReplicaSets (or RCs) and Pods. Out: Pod creates and deletes, status.
 * Safe  a key whose writes are not in the cache yet makes no creates or deletes (client/expectations.ts); deletes name
 *       the uid; orphans that match are adopted, pods that no longer match are released (ownership/adopt.ts).
 */
import type { Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import { formatTime } from "#api/values/time.ts";
import type { ResourceRef } from "#client/client.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source, type WatchOptions } from "#client/sources.ts";
import { textOf } from "../framework/api-errors.ts";
import { callEach } from "../framework/call-each.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import {
  claimCached,
  indexByController,
  indexForClaims,
  listControlled,
} from "../ownership/cached.ts";
import { controllerOf, controllerReference, ownerKeys } from "#client/owner.ts";
import { isActive, nextAvailableMs, podFromTemplate } from "../pods/pod.ts";
import { PodControl, type PodOwner } from "../pods/pod-control.ts";
import type { ReplicaKind, ReplicaOwner } from "./kinds.ts";
import { planReplicas, replicaStatus, type Failure } from "./replicas.ts";

/** Results of creating or deleting pods. */
interface Outcome {
  readonly error: unknown;
  readonly failure: Failure | "none" | "unknown";
}

const notTried: Outcome = { error: undefined, failure: "unknown" };

export class ReplicaSetController implements ControllerOptions<ReplicaOwner> {
  readonly name: string;
  readonly workers: number;
  readonly ref: ResourceRef;
  readonly when: WatchOptions<ReplicaOwner> = { changed: (old, owner) => !isSameSpec(old, owner) };
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #kind: ReplicaKind;
  readonly #owners: Informer<ReplicaOwner>;
  readonly #pods: Informer<Pod>;
  readonly #expectations: Expectations<Pod>;
  readonly #control: PodControl;

  constructor(deps: ControllerDeps, kind: ReplicaKind) {
    this.name = kind.name;
    this.workers = kind.workers;
    this.ref = kind.ref;
    this.#deps = deps;
    this.#kind = kind;
    this.#owners = deps.informers.informer<ReplicaOwner>(kind.ref);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    indexByController(this.#owners);
    indexForClaims(this.#pods);
    this.#expectations = new Expectations(this.#pods, deps.clock);
    this.#control = new PodControl(deps, this.#expectations);
    const mayAdopt = (owner: ReplicaOwner, pod: Pod): boolean =>
      pod.metadata?.deletionTimestamp === undefined && this.#isSelected(owner, pod);
    const sizeOf = (key: string): number => sizeOfOwner(this.#owners.getByKey(key));
    this.sources = [
      watch(this.#owners, keyOf, { on: ["update"], changed: isSameSpec, sizeOf }),
      watch(this.#pods, ownerKeys(this.#owners, kind.gvk, mayAdopt), {
        changed: mayMatter,
        sizeOf,
      }),
    ];
  }

  /** The status is written even while expectations are unsatisfied, because it counts what the cache contains. */
  async reconcile({
    key,
    object: owner,
  }: ReconcileRequest<ReplicaOwner>): Promise<ReconcileResult> {
    if (owner === undefined) return this.#expectations.forget(key);
    const isSatisfied = this.#expectations.isSatisfied(key);
    const pods = isSatisfied ? await this.#claimPods(key, owner) : this.#listOwned(owner);
    const isDeleting = owner.metadata?.deletionTimestamp !== undefined;
    const outcome = isSatisfied && !isDeleting ? await this.#manage(key, owner, pods) : notTried;
    await this.#writeStatus(owner, pods, outcome);
    if (outcome.error !== undefined) throw outcome.error;
    return this.#requeue(owner, pods, isSatisfied ? Infinity : unsatisfied.requeueAfterMs);
  }

  #listOwned(owner: ReplicaOwner): readonly Pod[] {
    return listControlled(this.#pods, owner.metadata?.uid);
  }

  #isSelected(owner: ReplicaOwner, pod: Pod): boolean {
    return labelsMatch(this.#kind.selectorOf(owner), pod.metadata?.labels ?? {});
  }

  #claimPods(key: string, owner: ReplicaOwner): Promise<readonly Pod[]> {
    const adopter = {
      client: this.#deps.client,
      ref: refs.pods,
      owner,
      ownerRef: this.#kind.ref,
      reference: controllerReference(this.#kind.gvk, owner),
      matches: (pod: Pod) => this.#isSelected(owner, pod),
      onWrite: (pod: Pod) => this.#expectations.expectWrite(key, pod),
    };
    return claimCached(this.#pods, adopter, isActive);
  }

  async #manage(key: string, object: ReplicaOwner, pods: readonly Pod[]): Promise<Outcome> {
    const podsByNode = this.#countByNode(object);
    const crowd = (pod: Pod): number => podsByNode.get(pod.spec?.nodeName ?? "") ?? 0;
    const nowMs = this.#deps.clock.nowMs();
    const { create, remove } = planReplicas(pods, object.spec?.replicas ?? 1, nowMs, crowd);
    const owner = { key, object };
    const error =
      create > 0
        ? await this.#createPods(owner, create)
        : await callEach(remove, (pod) => this.#deletePod(owner, pod));
    if (error === undefined) return { error, failure: "none" };
    const reason = create > 0 ? "FailedCreate" : "FailedDelete";
    return { error, failure: { reason, message: textOf(error) } };
  }

  /** Active pods by node, of this owner and the other ReplicaSets of the same Deployment. */
  #countByNode(owner: ReplicaOwner): ReadonlyMap<string, number> {
    const uid = controllerOf(owner)?.uid;
    const siblings = uid === undefined ? [owner] : listControlled(this.#owners, uid);
    const counts = new Map<string, number>();
    for (const pod of siblings.flatMap((sibling) => this.#listOwned(sibling))) {
      const node = pod.spec?.nodeName ?? "";
      if (isActive(pod)) counts.set(node, (counts.get(node) ?? 0) + 1);
    }
    return counts;
  }

  /** @returns the first error, if any. */
  async #createPods(owner: PodOwner<ReplicaOwner>, count: number): Promise<unknown> {
    const { metadata, spec } = owner.object;
    const pod = podFromTemplate(spec?.template ?? {}, {
      namespace: metadata?.namespace ?? "",
      generateName: `${metadata?.name ?? ""}-`,
      owner: controllerReference(this.#kind.gvk, owner.object),
    });
    const pods = Array.from({ length: count }, () => pod);
    return (await this.#control.createPods(owner, pods)).error;
  }

  async #deletePod(owner: PodOwner, pod: Pod): Promise<void> {
    try {
      await this.#control.deletePod(owner, pod);
    } catch (error) {
      const text = `Error deleting: ${textOf(error)}`;
      this.#deps.recorder.event(owner.object, "Warning", "FailedDelete", text);
      throw error;
    }
  }

  async #writeStatus(owner: ReplicaOwner, pods: readonly Pod[], outcome: Outcome): Promise<void> {
    const nowMs = this.#deps.clock.nowMs();
    const status = replicaStatus({
      pods,
      template: owner.spec?.template,
      minReadySeconds: owner.spec?.minReadySeconds ?? 0,
      generation: owner.metadata?.generation,
      old: owner.status?.conditions,
      failure: outcome.failure,
      countsTerminating: this.#kind.countsTerminating,
      nowMs,
      now: formatTime(nowMs),
    });
    if (jsonEqual(owner.status, status)) return;
    const next = { ...owner, status };
    const namespace = owner.metadata?.namespace ?? "";
    await this.#deps.client.update(this.#kind.ref, namespace, next, { subresource: "status" });
  }

  /** Requeues for when the next pod becomes available, after `mostMs` at the latest. */
  #requeue(owner: ReplicaOwner, pods: readonly Pod[], mostMs: number): ReconcileResult {
    const minReadySeconds = owner.spec?.minReadySeconds ?? 0;
    const nowMs = this.#deps.clock.nowMs();
    const waitMs = nextAvailableMs(pods.filter(isActive), minReadySeconds, nowMs) ?? Infinity;
    const requeueAfterMs = Math.min(waitMs, mostMs);
    return Number.isFinite(requeueAfterMs) ? { requeueAfterMs } : undefined;
  }
}

function isSameSpec(old: ReplicaOwner, owner: ReplicaOwner): boolean {
  return old.metadata?.generation === owner.metadata?.generation;
}

/** A status change of an orphan cannot cause its adoption. */
function mayMatter(old: Pod, pod: Pod): boolean {
  const isOrphan = controllerOf(old) === undefined && controllerOf(pod) === undefined;
  return !isOrphan || !jsonEqual(old.metadata?.labels, pod.metadata?.labels);
}

function sizeOfOwner(owner: ReplicaOwner | undefined): number {
  return Math.max(owner?.spec?.replicas ?? 0, owner?.status?.replicas ?? 0);
}
