/**
 * StatefulSets: pods with names that stay, in order, each with its own claims.
 *
 * In    StatefulSets, Pods, PersistentVolumeClaims, ControllerRevisions. Out: the same, and status.
 * Safe  the plan (plan.ts) is made only when the cache shows every earlier step; a pod's claims exist
 *       before the pod does.
 */
import type {
  ControllerRevision,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from "#api/gen/types.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/label-selector.ts";
import { ApiError } from "#api/status.ts";
import { commonIndexes, keyOf } from "#client/local-store.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { claim } from "../shared/adopt.ts";
import { Barrier } from "../shared/barrier.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { jsonEqual } from "../shared/equal.ts";
import { controllerKey, controllerOf, controllerReference } from "../shared/owner.ts";
import { availableInMs, isReady } from "../shared/pod.ts";
import { refs } from "../shared/refs.ts";
import { ensureRevision, templateOf, trimRevisions } from "../shared/revisions.ts";
import {
  claimName,
  makeClaims,
  makePod,
  ordinalOf,
  ordinalsOf,
  revisionOfPod,
} from "./identity.ts";
import { planStateful, type StatefulInput, type StatefulPlan } from "./plan.ts";
import { statefulStatus } from "./status.ts";

const gvk = { group: "apps", version: "v1", kind: "StatefulSet" };
const workers = 10;

// long: one closure holds the informers and the barrier that the small functions below share
export function statefulSetController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const sets = informers.informer<StatefulSet>(refs.statefulsets);
  const pods = informers.informer<Pod>(refs.pods);
  const claims = informers.informer<PersistentVolumeClaim>(refs.persistentvolumeclaims);
  const revisions = informers.informer<ControllerRevision>(refs.controllerrevisions);
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  revisions.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  const barrier = new Barrier(pods, clock);
  const controller = queueController(deps, { name: "statefulset-controller", workers }, reconcile);
  const { queue } = controller;
  sets.addHandler({
    add: (set) => queue.add(keyOf(set)),
    update: (_old, set) => queue.add(keyOf(set)),
    delete: (set) => queue.add(keyOf(set)),
  });
  pods.addHandler({ add: wake, delete: wake, update: (old, pod) => void (wake(old), wake(pod)) });
  return controller;

  function wake(pod: Pod): void {
    const key = controllerKey(pod, gvk);
    if (key !== undefined) return queue.add(key);
    if (controllerOf(pod) !== undefined) return;
    for (const set of sets.list(pod.metadata?.namespace))
      if (isCandidate(set, pod)) queue.add(keyOf(set));
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const set = sets.getByKey(key);
    if (set === undefined) return barrier.forget(key);
    if (!barrier.passed(key)) return undefined;
    const mine = await claimPods(set);
    const known = revisions.byIndex("controllers.controllerUid", set.metadata?.uid ?? "");
    const labels = set.spec?.selector?.matchLabels ?? {};
    const reference = controllerReference(gvk, set);
    const newest = await ensureRevision({ client, reference, labels }, set, known);
    const updateRevision = newest.metadata?.name ?? "";
    const currentRevision = set.status?.currentRevision ?? updateRevision;
    const input: StatefulInput = {
      set,
      pods: mine,
      currentRevision,
      updateRevision,
      nowMs: clock.nowMs(),
    };
    if (set.metadata?.deletionTimestamp === undefined) {
      await act(key, input, [...known, newest], planStateful(input));
    }
    await writeStatus(set, statefulStatus(input));
    await trimRevisions(
      client,
      set,
      known,
      new Set([currentRevision, updateRevision, ...mine.map(revisionOfPod)]),
    );
    return requeue(set, mine);
  }

  function claimPods(set: StatefulSet): Promise<readonly Pod[]> {
    const matches = (pod: Pod): boolean => isCandidate(set, pod);
    const orphans = pods
      .list(set.metadata?.namespace)
      .filter((pod) => controllerOf(pod) === undefined && matches(pod));
    const owned = pods.byIndex("controllers.controllerUid", set.metadata?.uid ?? "");
    const reference = controllerReference(gvk, set);
    const wrote = (pod: Pod): void => barrier.wrote(keyOf(set), pod);
    const ownerRef = refs.statefulsets;
    const adopter = { client, ref: refs.pods, owner: set, ownerRef, reference, matches, wrote };
    return claim(adopter, [...owned, ...orphans]);
  }

  async function act(
    key: string,
    input: StatefulInput,
    known: readonly ControllerRevision[],
    plan: StatefulPlan,
  ): Promise<void> {
    await Promise.all(plan.remove.map((pod) => removePod(key, input.set, pod)));
    await Promise.all(
      plan.create.map(async ({ ordinal, revision }) => {
        const of = known.find((object) => object.metadata?.name === revision);
        const template =
          (of === undefined ? undefined : templateOf(of)) ?? input.set.spec?.template ?? {};
        await createClaims(input.set, ordinal);
        const owner = controllerReference(gvk, input.set);
        await createPod(key, input.set, makePod(input.set, template, { ordinal, revision, owner }));
      }),
    );
    await dropScaledClaims(input.set);
  }

  async function createClaims(set: StatefulSet, ordinal: number): Promise<void> {
    const namespace = set.metadata?.namespace ?? "";
    for (const object of makeClaims(set, ordinal, controllerReference(gvk, set))) {
      const name = object.metadata?.name ?? "";
      if (claims.get(namespace, name) !== undefined) continue;
      await client
        .create(refs.persistentvolumeclaims, namespace, object)
        .catch(ignore("AlreadyExists"));
      recorder.event(
        set,
        "Normal",
        "SuccessfulCreate",
        `create Claim ${name} Pod ${set.metadata?.name ?? ""}-${ordinal} in StatefulSet ${set.metadata?.name ?? ""} success`,
      );
    }
  }

  async function createPod(key: string, set: StatefulSet, pod: Pod): Promise<void> {
    const name = pod.metadata?.name ?? "";
    const text = `create Pod ${name} in StatefulSet ${set.metadata?.name ?? ""}`;
    try {
      barrier.wrote(key, await client.create<Pod>(refs.pods, set.metadata?.namespace ?? "", pod));
      recorder.event(set, "Normal", "SuccessfulCreate", `${text} successful`);
    } catch (error) {
      if (error instanceof ApiError && error.reason === "AlreadyExists") throw error;
      recorder.event(
        set,
        "Warning",
        "FailedCreate",
        `${text} failed error: ${error instanceof Error ? error.message : ""}`,
      );
      throw error;
    }
  }

  async function removePod(key: string, set: StatefulSet, pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    barrier.deleting(key, pod);
    try {
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      recorder.event(
        set,
        "Normal",
        "SuccessfulDelete",
        `delete Pod ${name} in StatefulSet ${set.metadata?.name ?? ""} successful`,
      );
    } catch (error) {
      barrier.notDeleted(key, pod);
      if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 409)) throw error;
    }
  }

  /** `whenScaled: Delete`: claims of ordinals that are no longer wanted go once their pod has gone. */
  async function dropScaledClaims(set: StatefulSet): Promise<void> {
    if (set.spec?.persistentVolumeClaimRetentionPolicy?.whenScaled !== "Delete") return;
    const { start, end } = ordinalsOf(set);
    const namespace = set.metadata?.namespace ?? "";
    for (const template of set.spec.volumeClaimTemplates ?? []) {
      const prefix = claimName(template, set, 0).slice(0, -1);
      for (const object of claims.list(namespace)) {
        const tail = object.metadata?.name?.startsWith(prefix)
          ? object.metadata.name.slice(prefix.length)
          : "";
        const ordinal = /^\d+$/.test(tail) ? Number(tail) : undefined;
        if (ordinal === undefined || (ordinal >= start && ordinal < end)) continue;
        if (pods.get(namespace, `${set.metadata?.name ?? ""}-${ordinal}`) !== undefined) continue;
        await client
          .delete(refs.persistentvolumeclaims, namespace, object.metadata?.name ?? "")
          .catch(ignore("NotFound"));
      }
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

function isCandidate(set: StatefulSet, pod: Pod): boolean {
  const selector = selectorFromLabelSelector(set.spec?.selector);
  return labelsMatch(selector, pod.metadata?.labels ?? {}) && ordinalOf(set, pod) !== undefined;
}

function ignore(reason: string): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof ApiError && error.reason === reason) return undefined;
    throw error;
  };
}
