/**
 * StatefulSets: pods with names that stay, in order, each with its own claims.
 *
 * In    StatefulSets, Pods, PersistentVolumeClaims, ControllerRevisions. Out: the same, and status.
 * Safe  the plan (plan.ts) is made only when the cache shows every earlier step; a pod's claims exist
 *       before the pod does; claims are never deleted here, only given owners (claims.ts).
 */
import type {
  ControllerRevision,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from "#api/gen/types.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import { isAlreadyExists } from "#client/api-errors.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { claim } from "../ownership/adopt.ts";
import { Expectations, unfulfilled } from "../framework/expectations.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { addGathered } from "../framework/gather.ts";
import { jsonEqual } from "../framework/equal.ts";
import { orphanIndex, orphanNamespace } from "../ownership/orphans.ts";
import { controllerKey, controllerOf, controllerReference } from "../ownership/owner.ts";
import { availableInMs, isReady } from "../pods/pod.ts";
import { isGone, textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import * as history from "../pods/revisions.ts";
import { selectorOf } from "../ownership/selectors.ts";
import { slowStart } from "../framework/slow-start.ts";
import { claimOwners, firstClaimOwners, isLeftover } from "./claims.ts";
import * as identity from "./identity.ts";
import { planStateful, type StatefulInput, type StatefulPlan } from "./plan.ts";
import { statefulStatus } from "./status.ts";

const gvk = { group: "apps", version: "v1", kind: "StatefulSet" };
const workers = 10;
/** A claim that stands in a pod's way goes with the garbage collector's next step. */
const leftoverMs = 1_000;

// long: one closure holds the informers and the expectations that the small functions below share
export function statefulSetController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const sets = informers.informer<StatefulSet>(refs.statefulsets);
  const pods = informers.informer<Pod>(refs.pods);
  const claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
  const revisions = informers.informer<ControllerRevision>(refs.controllerrevisions);
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  revisions.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  pods.addIndex(orphanIndex, orphanNamespace);
  revisions.addIndex(orphanIndex, orphanNamespace);
  const expectations = new Expectations(pods, clock);
  const controller = queueController(deps, { name: "statefulset-controller", workers }, reconcile);
  const { queue } = controller;
  sets.addHandler({
    add: (set) => queue.add(keyOf(set)),
    update: (_old, set) => queue.add(keyOf(set)),
    delete: (set) => queue.add(keyOf(set)),
  });
  pods.addHandler({
    add: wake,
    delete: wake,
    update(old, pod) {
      wake(old);
      wake(pod);
    },
  });
  return controller;

  function wake(pod: Pod): void {
    const key = controllerKey(pod, gvk);
    if (key !== undefined) return addGathered(queue, key, sets.getByKey(key)?.spec?.replicas ?? 0);
    if (controllerOf(pod) !== undefined) return;
    for (const set of sets.list(pod.metadata?.namespace))
      if (isCandidate(set, pod)) queue.add(keyOf(set));
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const set = sets.getByKey(key);
    if (set === undefined) return expectations.forget(key);
    if (!expectations.passed(key)) return unfulfilled;
    const known = await history.claimRevisions(revisions, adopterOf(set), selectorOf(set));
    const mine = await claimPods(set);
    const reference = controllerReference(gvk, set);
    const newest = await history.ensureRevision(
      { client, reference, hashLabel: history.hashLabel },
      set,
      known,
    );
    const all = [...known, newest];
    const updateRevision = newest.metadata?.name ?? "";
    const current = all.find((one) => one.metadata?.name === set.status?.currentRevision);
    const currentRevision = current?.metadata?.name ?? updateRevision;
    const input = { set, pods: mine, currentRevision, updateRevision, nowMs: clock.nowMs() };
    const living = set.metadata?.deletionTimestamp === undefined;
    const step = living ? await act(key, input, all) : done;
    await writeStatus(set, statefulStatus(input));
    const inUse = [currentRevision, updateRevision, ...mine.map(identity.revisionOfPod)];
    await history.trimRevisions(client, set, known, new Set(inUse));
    if (step.error !== undefined) throw step.error;
    return step.waits ? { requeueAfterMs: leftoverMs } : requeue(set, mine);
  }

  function claimPods(set: StatefulSet): Promise<readonly Pod[]> {
    const matches = (pod: Pod): boolean => isCandidate(set, pod);
    const orphans = pods.byIndex(orphanIndex, set.metadata?.namespace ?? "").filter(matches);
    const owned = pods.byIndex("controllers.controllerUid", set.metadata?.uid ?? "");
    const wrote = (pod: Pod): void => expectations.wrote(keyOf(set), pod);
    return claim({ ...adopterOf(set), ref: refs.pods, matches, wrote }, [...owned, ...orphans]);
  }

  function adopterOf(set: StatefulSet) {
    const reference = controllerReference(gvk, set);
    return { client, owner: set, ownerRef: refs.statefulsets, reference };
  }

  /** Carries out the plan; reports errors after the status is written. */
  async function act(
    key: string,
    input: StatefulInput,
    known: readonly ControllerRevision[],
  ): Promise<Step> {
    try {
      await Promise.all(input.pods.map((pod) => mend(input.set, pod)));
      const plan = planStateful(input);
      const removed = await slowStart(plan.remove.length, (at) =>
        removePod(key, input.set, plan.remove[at]),
      );
      if (removed.error !== undefined) return { error: removed.error, waits: false };
      const ready = plan.create.filter(({ ordinal }) => !mustWait(input.set, ordinal));
      const made = await slowStart(ready.length, (at) => createOne(key, input, known, ready[at]));
      return { error: made.error, waits: ready.length < plan.create.length };
    } catch (error) {
      return { error, waits: false };
    }
  }

  /** What an existing pod of the set may lack: claims while it is pending, their owners, its labels. */
  async function mend(set: StatefulSet, pod: Pod): Promise<void> {
    const ordinal = identity.ordinalOf(set, pod);
    if (ordinal === undefined) return;
    if (pod.status?.phase === "Pending" && pod.metadata?.deletionTimestamp === undefined)
      await createClaims(set, ordinal);
    for (const object of claimsOf(set, ordinal)) {
      const ownerReferences = claimOwners(object, set, pod);
      if (ownerReferences === undefined) continue;
      const next = { ...object, metadata: { ...object.metadata, ownerReferences } };
      await client.update(refs.persistentvolumeclaims, set.metadata?.namespace ?? "", next);
    }
    const labels = identity.missingIdentity(set, pod);
    if (labels === undefined) return;
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const patch = { metadata: { uid, labels } };
    expectations.wrote(
      keyOf(set),
      await client.patch<Pod>(refs.pods, namespace, name, "merge", patch),
    );
  }

  function claimsOf(set: StatefulSet, ordinal: number): readonly PersistentVolumeClaim[] {
    const namespace = set.metadata?.namespace ?? "";
    return (set.spec?.volumeClaimTemplates ?? []).flatMap(
      (template) => claims.get(namespace, identity.claimName(template, set, ordinal)) ?? [],
    );
  }

  function mustWait(set: StatefulSet, ordinal: number): boolean {
    const name = identity.podName(set, ordinal);
    return claimsOf(set, ordinal).some((object) => isLeftover(object, set, name));
  }

  async function createOne(
    key: string,
    { set }: StatefulInput,
    known: readonly ControllerRevision[],
    wanted: StatefulPlan["create"][number] | undefined,
  ): Promise<void> {
    if (wanted === undefined) return;
    const { ordinal, revision } = wanted;
    const kept = known.find((object) => object.metadata?.name === revision);
    const template = (kept && history.templateOf(kept)) ?? set.spec?.template ?? {};
    await createClaims(set, ordinal);
    const owner = controllerReference(gvk, set);
    await createPod(key, set, identity.makePod(set, template, { ordinal, revision, owner }));
  }

  async function createClaims(set: StatefulSet, ordinal: number): Promise<void> {
    const { namespace = "", name: setName = "" } = set.metadata ?? {};
    for (const object of identity.makeClaims(set, ordinal, firstClaimOwners(set))) {
      const name = object.metadata?.name ?? "";
      if (claims.get(namespace, name) !== undefined) continue;
      const pod = `Pod ${identity.podName(set, ordinal)} in StatefulSet ${setName}`;
      try {
        await client.create(refs.persistentvolumeclaims, namespace, object);
        const text = `Create Claim ${name} ${pod} success`;
        recorder.event(set, "Normal", "SuccessfulCreate", text);
      } catch (error) {
        if (isAlreadyExists(error)) continue;
        const text = `Create Claim ${name} for ${pod} failed error: ${textOf(error)}`;
        recorder.event(set, "Warning", "FailedCreate", text);
        throw error;
      }
    }
  }

  async function createPod(key: string, set: StatefulSet, pod: Pod): Promise<void> {
    const text = `Create Pod ${pod.metadata?.name ?? ""} in StatefulSet ${set.metadata?.name ?? ""}`;
    try {
      expectations.wrote(
        key,
        await client.create<Pod>(refs.pods, set.metadata?.namespace ?? "", pod),
      );
      recorder.event(set, "Normal", "SuccessfulCreate", `${text} successful`);
    } catch (error) {
      if (!isAlreadyExists(error)) {
        const why = `${text} failed error: ${textOf(error)}`;
        recorder.event(set, "Warning", "FailedCreate", why);
      }
      throw error;
    }
  }

  async function removePod(key: string, set: StatefulSet, pod: Pod | undefined): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod?.metadata ?? {};
    if (pod === undefined) return;
    const text = `Delete Pod ${name} in StatefulSet ${set.metadata?.name ?? ""}`;
    expectations.deleting(key, pod);
    try {
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      recorder.event(set, "Normal", "SuccessfulDelete", `${text} successful`);
    } catch (error) {
      expectations.notDeleted(key, pod);
      if (isGone(error)) return;
      recorder.event(set, "Warning", "FailedDelete", `${text} failed error: ${textOf(error)}`);
      throw error;
    }
  }

  async function writeStatus(
    set: StatefulSet,
    status: ReturnType<typeof statefulStatus>,
  ): Promise<void> {
    if (jsonEqual(status, set.status)) return;
    const namespace = set.metadata?.namespace ?? "";
    await client.update<StatefulSet>(
      refs.statefulsets,
      namespace,
      { ...set, status },
      { subresource: "status" },
    );
  }

  function requeue(set: StatefulSet, mine: readonly Pod[]): ReconcileResult {
    const waits = mine
      .filter(isReady)
      .map((pod) => availableInMs(pod, set.spec?.minReadySeconds ?? 0, clock.nowMs()))
      .filter((wait) => wait > 0);
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
  }
}

/** How a step ended: what failed, and whether it waits for a claim to go. */
interface Step {
  readonly error: unknown;
  readonly waits: boolean;
}

const done: Step = { error: undefined, waits: false };

function isCandidate(set: StatefulSet, pod: Pod): boolean {
  const selected = labelsMatch(selectorOf(set), pod.metadata?.labels ?? {});
  return selected && identity.ordinalOf(set, pod) !== undefined;
}
