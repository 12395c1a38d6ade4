/**
 * ReplicaSet and ReplicationController: N pods of one template, no more and no fewer.
 *
 * In    ReplicaSets (or RCs) and Pods. Out: Pod creates and deletes, status.
 * Safe  a key with writes its cache has not seen yet makes and deletes nothing (shared/expectations.ts);
 *       deletes name the uid; orphans that match are adopted, strangers released (shared/adopt.ts).
 */
import type { LabelSelector as LabelSelectorSpec, Pod, PodTemplateSpec } from "#api/gen/types.ts";
import type { LabelSelector } from "#api/selectors/label-selector.ts";
import {
  labelsMatch,
  selectorFromMap,
  selectorFromLabelSelector,
} from "#api/selectors/label-selector.ts";
import type { GroupVersionKind, KubeObject } from "#api/object.ts";
import { formatTime } from "#api/time.ts";
import type { ResourceRef } from "#client/client.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { claim } from "../ownership/adopt.ts";
import { Expectations, unfulfilled } from "../framework/expectations.ts";
import type { Condition } from "../framework/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { addGathered } from "../framework/gather.ts";
import { jsonEqual } from "../framework/equal.ts";
import { controllerKey, controllerOf, controllerReference } from "../ownership/owner.ts";
import { refs } from "../framework/refs.ts";
import { orphanIndex, orphanNamespace } from "../ownership/orphans.ts";
import { isGone, isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import { slowStart } from "../framework/slow-start.ts";
import { isActive, podFromTemplate } from "../pods/pod.ts";
import { memoSelector } from "../ownership/selectors.ts";
import { nextAvailableMs, planReplicas, replicaStatus, type Failure } from "./replicas.ts";

interface ReplicaOwner extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector?: LabelSelectorSpec | Readonly<Record<string, string>>;
    readonly template?: PodTemplateSpec;
  };
  readonly status?: { readonly replicas?: number; readonly conditions?: readonly Condition[] };
}

interface Kind {
  readonly name: string;
  readonly gvk: GroupVersionKind;
  readonly ref: ResourceRef;
  readonly workers: number;
  readonly selector: (owner: ReplicaOwner) => LabelSelector;
  readonly countsTerminating: boolean;
}

const replicaSet: Kind = {
  name: "replicaset-controller",
  gvk: { group: "apps", version: "v1", kind: "ReplicaSet" },
  ref: refs.replicasets,
  workers: 20,
  selector: (owner) =>
    memoSelector(owner, () =>
      selectorFromLabelSelector((owner.spec?.selector ?? {}) as LabelSelectorSpec),
    ),
  countsTerminating: true,
};

const replicationController: Kind = {
  name: "replication-controller",
  gvk: { group: "", version: "v1", kind: "ReplicationController" },
  ref: refs.replicationcontrollers,
  workers: 5,
  selector: (owner) =>
    memoSelector(owner, () =>
      selectorFromMap((owner.spec?.selector ?? {}) as Record<string, string>),
    ),
  countsTerminating: false,
};

export function replicaSetController(deps: ControllerDeps): Controller {
  return replicaController(deps, replicaSet);
}

export function replicationControllerController(deps: ControllerDeps): Controller {
  return replicaController(deps, replicationController);
}

// long: one closure holds the informers and the expectations that the small functions below share
function replicaController(deps: ControllerDeps, kind: Kind): Controller {
  const { client, clock, informers } = deps;
  const owners = informers.informer<ReplicaOwner>(kind.ref);
  const pods = informers.informer<Pod>(refs.pods);
  owners.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  pods.addIndex(orphanIndex, orphanNamespace);
  const expectations = new Expectations(pods, clock);
  const controller = queueController(deps, kind, reconcile);
  const { queue } = controller;

  owners.addHandler({
    add: (owner) => queue.add(keyOf(owner)),
    update: wakeOwner,
    delete: (owner) => queue.add(keyOf(owner)),
  });
  pods.addHandler({ add: wake, delete: wake, update: wakeChanged });
  return controller;

  function wakeOwner(old: ReplicaOwner, owner: ReplicaOwner): void {
    const isSame = old.metadata?.generation === owner.metadata?.generation;
    addGathered(queue, keyOf(owner), isSame ? sizeOf(owner) : 0);
  }

  function wakeChanged(old: Pod, pod: Pod): void {
    const orphan = controllerOf(old) === undefined && controllerOf(pod) === undefined;
    // A status change of an orphan cannot cause its adoption.
    if (orphan && jsonEqual(old.metadata?.labels, pod.metadata?.labels)) return;
    wake(old);
    wake(pod);
  }

  function wake(pod: Pod): void {
    const key = controllerKey(pod, kind.gvk);
    if (key !== undefined) return addGathered(queue, key, sizeOf(owners.getByKey(key)));
    if (controllerOf(pod) !== undefined || pod.metadata?.deletionTimestamp !== undefined) return;
    for (const owner of owners.list(pod.metadata?.namespace)) {
      if (labelsMatch(kind.selector(owner), pod.metadata?.labels ?? {})) queue.add(keyOf(owner));
    }
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const owner = owners.getByKey(key);
    if (owner === undefined) return expectations.forget(key);
    const passed = expectations.passed(key);
    const mine = passed ? await claimPods(key, owner) : owned(owner);
    const deleting = owner.metadata?.deletionTimestamp !== undefined;
    const outcome = passed && !deleting ? await manage(key, owner, mine) : notTried;
    await writeStatus(owner, mine, passed ? outcome : notTried);
    if (outcome.error !== undefined) throw outcome.error;
    const wait = nextAvailableMs(mine, owner.spec?.minReadySeconds ?? 0, clock.nowMs());
    if (!passed) return { requeueAfterMs: Math.min(wait ?? Infinity, unfulfilled.requeueAfterMs) };
    return wait === undefined ? undefined : { requeueAfterMs: wait };
  }

  function owned(owner: ReplicaOwner): readonly Pod[] {
    return pods.byIndex("controllers.controllerUid", owner.metadata?.uid ?? "");
  }

  function claimPods(key: string, owner: ReplicaOwner): Promise<readonly Pod[]> {
    const selector = kind.selector(owner);
    const matches = (pod: Pod): boolean => labelsMatch(selector, pod.metadata?.labels ?? {});
    const orphans = pods
      .byIndex(orphanIndex, owner.metadata?.namespace ?? "")
      .filter((pod) => isActive(pod) && matches(pod));
    const reference = controllerReference(kind.gvk, owner);
    const wrote = (pod: Pod): void => expectations.wrote(key, pod);
    const adopter = {
      client,
      ref: refs.pods,
      owner,
      ownerRef: kind.ref,
      reference,
      matches,
      wrote,
    };
    return claim(adopter, [...owned(owner), ...orphans]);
  }

  async function manage(key: string, owner: ReplicaOwner, mine: readonly Pod[]): Promise<Outcome> {
    const crowds = crowdsOf(owner);
    const crowd = (pod: Pod): number => crowds.get(pod.spec?.nodeName ?? "") ?? 0;
    const plan = planReplicas(mine, owner.spec?.replicas ?? 1, clock.nowMs(), crowd);
    const error =
      plan.create > 0
        ? await createPods(key, owner, plan.create)
        : await deletePods(key, owner, plan.remove);
    if (error === undefined) return { error, failure: "none" };
    const reason = plan.create > 0 ? "FailedCreate" : "FailedDelete";
    return { error, failure: { reason, message: textOf(error) } };
  }

  /** By node: living pods of this owner and of its siblings, that is of one Deployment. */
  function crowdsOf(owner: ReplicaOwner): ReadonlyMap<string, number> {
    const controller = controllerOf(owner)?.uid;
    const siblings =
      controller === undefined ? [owner] : owners.byIndex("controllers.controllerUid", controller);
    const crowds = new Map<string, number>();
    for (const pod of siblings.flatMap(owned)) {
      const node = pod.spec?.nodeName ?? "";
      if (isActive(pod)) crowds.set(node, (crowds.get(node) ?? 0) + 1);
    }
    return crowds;
  }

  /** @returns what kept it from making all of them, if anything did. */
  async function createPods(key: string, owner: ReplicaOwner, count: number): Promise<unknown> {
    const namespace = owner.metadata?.namespace ?? "";
    const pod = podFromTemplate(owner.spec?.template ?? {}, {
      namespace,
      generateName: `${owner.metadata?.name ?? ""}-`,
      owner: controllerReference(kind.gvk, owner),
    });
    const { error } = await slowStart(count, async () => {
      const made = await client.create<Pod>(refs.pods, namespace, pod);
      expectations.wrote(key, made);
      deps.recorder.event(
        owner,
        "Normal",
        "SuccessfulCreate",
        `Created pod: ${made.metadata?.name ?? ""}`,
      );
    });
    if (error === undefined) return undefined;
    // A namespace on its way out takes no new pods; its end will end this owner too.
    if (isNamespaceGoing(error)) return undefined;
    deps.recorder.event(owner, "Warning", "FailedCreate", `Error creating: ${textOf(error)}`);
    return error;
  }

  async function deletePods(
    key: string,
    owner: ReplicaOwner,
    victims: readonly Pod[],
  ): Promise<unknown> {
    const results = await Promise.allSettled(victims.map((pod) => deletePod(key, owner, pod)));
    return results.find((result) => result.status === "rejected")?.reason;
  }

  async function deletePod(key: string, owner: ReplicaOwner, pod: Pod): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    expectations.deleting(key, pod);
    try {
      await client.delete(refs.pods, namespace, name, { preconditions: { uid } });
      deps.recorder.event(owner, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    } catch (error) {
      expectations.notDeleted(key, pod);
      if (isGone(error)) return;
      deps.recorder.event(owner, "Warning", "FailedDelete", `Error deleting: ${textOf(error)}`);
      throw error;
    }
  }

  async function writeStatus(
    owner: ReplicaOwner,
    mine: readonly Pod[],
    { failure }: Outcome,
  ): Promise<void> {
    const nowMs = clock.nowMs();
    const status = replicaStatus({
      pods: mine,
      template: owner.spec?.template,
      minReadySeconds: owner.spec?.minReadySeconds ?? 0,
      generation: owner.metadata?.generation,
      old: owner.status?.conditions,
      failure,
      countsTerminating: kind.countsTerminating,
      nowMs,
      now: formatTime(nowMs),
    });
    if (jsonEqual(owner.status, status)) return;
    await client.update(
      kind.ref,
      owner.metadata?.namespace ?? "",
      { ...owner, status },
      { subresource: "status" },
    );
  }
}

/** How making or deleting pods went. */
interface Outcome {
  readonly error: unknown;
  readonly failure: Failure | "none" | "unknown";
}

const notTried: Outcome = { error: undefined, failure: "unknown" };

function sizeOf(owner: ReplicaOwner | undefined): number {
  return Math.max(owner?.spec?.replicas ?? 0, owner?.status?.replicas ?? 0);
}
