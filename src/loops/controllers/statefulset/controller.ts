/**
 * StatefulSets: pods with stable names, in order, each with its own claims.
 *
 * In    StatefulSets, Pods, PersistentVolumeClaims, ControllerRevisions. Out: the same, and status.
 * Safe  the plan (plan.ts) is made only when the cache shows every earlier step; pod-control.ts says
 *       how pods and claims are written.
 */
import type { ControllerRevision, Pod, StatefulSet } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { slowStart } from "../framework/slow-start.ts";
import { claimCached, indexForClaims } from "../ownership/cached.ts";
import { controllerReference, ownerKeys } from "#client/owner.ts";
import { selectorOf } from "../ownership/selectors.ts";
import { nextAvailableMs } from "../pods/pod.ts";
import { claimRevisions, ensureRevision, hashLabel, trimRevisions } from "../pods/revisions.ts";
import { ordinalOf } from "./identity.ts";
import { planStateful, revisionsInUse, type StatefulInput } from "./plan.ts";
import { gvk, StatefulPodControl } from "./pod-control.ts";
import { statefulStatus } from "./status.ts";

export const statefulSetRole: ControllerRole = {
  account: "statefulset-controller",
  rules: [
    "list,watch | core | pods",
    "read | apps | statefulsets",
    "update | apps | statefulsets/status",
    "update | apps | statefulsets/finalizers",
    "create,delete,get,patch,update | core | pods",
    "create,delete,get,list,patch,update,watch | apps | controllerrevisions",
    "create,get,list,watch | core | persistentvolumeclaims",
    "delete,update | core | persistentvolumeclaims",
    "update | core | pods/finalizers",
    "events",
  ],
};

/** Delay until the garbage collector has deleted a leftover claim. */
const leftoverMs = 1_000;

/** The input of one reconcile. */
interface Round extends StatefulInput {
  readonly revisions: readonly ControllerRevision[];
}

/** The first error of a step, and whether it waits for the deletion of a leftover claim. */
interface Outcome {
  readonly error: unknown;
  readonly isWaiting: boolean;
}

const done: Outcome = { error: undefined, isWaiting: false };

export class StatefulSetController implements ControllerOptions<StatefulSet> {
  readonly name = "statefulset-controller";
  readonly workers = 10;
  readonly ref = refs.statefulsets;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #revisions: Informer<ControllerRevision>;
  readonly #expectations: Expectations<Pod>;
  readonly #control: StatefulPodControl;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const sets = deps.informers.informer<StatefulSet>(refs.statefulsets);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#revisions = deps.informers.informer<ControllerRevision>(refs.controllerrevisions);
    indexForClaims(this.#pods);
    indexForClaims(this.#revisions);
    this.#expectations = new Expectations(this.#pods, deps.clock);
    this.#control = new StatefulPodControl(deps, this.#expectations);
    const sizeOf = (key: string): number => sets.getByKey(key)?.spec?.replicas ?? 0;
    this.sources = [watch(this.#pods, ownerKeys(sets, gvk, isSelected), { sizeOf })];
  }

  async reconcile({ key, object: set }: ReconcileRequest<StatefulSet>): Promise<ReconcileResult> {
    if (set === undefined) return this.#expectations.forget(key);
    if (!this.#expectations.isSatisfied(key)) return unsatisfied;
    const known = await claimRevisions(this.#revisions, this.#adopterOf(set), selectorOf(set));
    const round = await this.#gather(set, known);
    const isDeleting = set.metadata?.deletionTimestamp !== undefined;
    const outcome = isDeleting ? done : await this.#carryOut(round);
    await this.#writeStatus(round);
    await trimRevisions(this.#deps.client, set, known, revisionsInUse(round));
    if (outcome.error !== undefined) throw outcome.error;
    return outcome.isWaiting ? { requeueAfterMs: leftoverMs } : this.#requeue(round);
  }

  #adopterOf(set: StatefulSet) {
    const reference = controllerReference(gvk, set);
    return { client: this.#deps.client, owner: set, ownerRef: refs.statefulsets, reference };
  }

  async #gather(set: StatefulSet, known: readonly ControllerRevision[]): Promise<Round> {
    const { client, clock } = this.#deps;
    const pods = await this.#claimPods(set);
    const reference = controllerReference(gvk, set);
    const onCollision = (collisions = 0): number => collisions + 1;
    const deps = { client, reference, hashLabel, onCollision } as const;
    const { revision: newest, collisions = 0 } = await ensureRevision(deps, set, known);
    const revisions = [...known, newest];
    const updateRevision = newest.metadata?.name ?? "";
    const current = revisions.find(
      ({ metadata }) => metadata?.name === set.status?.currentRevision,
    );
    const currentRevision = current?.metadata?.name ?? updateRevision;
    const nowMs = clock.nowMs();
    return { set, pods, revisions, currentRevision, updateRevision, collisions, nowMs };
  }

  #claimPods(set: StatefulSet): Promise<readonly Pod[]> {
    return claimCached(this.#pods, {
      ...this.#adopterOf(set),
      ref: refs.pods,
      matches: (pod) => isSelected(set, pod),
      onWrite: (pod) => this.#expectations.expectWrite(keyOf(set), pod),
    });
  }

  /** Errors are thrown only after the status is written. */
  async #carryOut(round: Round): Promise<Outcome> {
    try {
      await Promise.all(round.pods.map((pod) => this.#control.repairPod(round.set, pod)));
      return await this.#carryOutPlan(round);
    } catch (error) {
      return { error, isWaiting: false };
    }
  }

  async #carryOutPlan(round: Round): Promise<Outcome> {
    const { set, revisions } = round;
    const { create, remove } = planStateful(round);
    const removed = await slowStart(remove, (pod) => this.#control.deletePod(set, pod));
    if (removed.error !== undefined) return { error: removed.error, isWaiting: false };
    const ready = create.filter(({ ordinal }) => !this.#control.isBlocked(set, ordinal));
    const made = await slowStart(ready, (wanted) =>
      this.#control.createPod(set, revisions, wanted),
    );
    return { error: made.error, isWaiting: ready.length < create.length };
  }

  async #writeStatus(round: Round): Promise<void> {
    const { set } = round;
    const status = statefulStatus(round);
    if (jsonEqual(status, set.status)) return;
    const namespace = set.metadata?.namespace ?? "";
    const next = { ...set, status };
    await this.#deps.client.update(refs.statefulsets, namespace, next, { subresource: "status" });
  }

  #requeue({ set, pods }: Round): ReconcileResult {
    const minReadySeconds = set.spec?.minReadySeconds ?? 0;
    const requeueAfterMs = nextAvailableMs(pods, minReadySeconds, this.#deps.clock.nowMs());
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }
}

function isSelected(set: StatefulSet, pod: Pod): boolean {
  const matches = labelsMatch(selectorOf(set), pod.metadata?.labels ?? {});
  return matches && ordinalOf(set, pod) !== undefined;
}
