/**
 * Deployments: one ReplicaSet per template, rolled over within the bounds of the strategy.
 *
 * In    Deployments, their ReplicaSets, and Pods (Recreate waits for the old ones to be gone).
 * Out   ReplicaSets made, sized, deleted; status; the revision annotation. One step per reconcile:
 *       the ReplicaSets' own status changes wake the next.
 * Safe  no step before the cache shows the last one (shared/barrier.ts).
 */
import type { Deployment, DeploymentStatus, Pod, ReplicaSet } from "#api/gen/types.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/label-selector.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes, keyOf } from "#client/local-store.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { claim } from "../shared/adopt.ts";
import { Barrier } from "../shared/barrier.ts";
import { findCondition, withCondition, type Condition } from "../shared/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { jsonEqual } from "../shared/equal.ts";
import { controllerKey, controllerOf, controllerReference } from "../shared/owner.ts";
import { refs } from "../shared/refs.ts";
import {
  findNewReplicaSet,
  hashLabel,
  newestAnnotations,
  nextRevision,
  revisionAnnotation,
  revisionOf,
  sizeAnnotations,
} from "./revision.ts";
import { templateHash } from "../shared/template-hash.ts";
import * as sizes from "./sizes.ts";
import { deadlineInMs, deploymentStatus, isCompleteStatus } from "./status.ts";

const gvk = { group: "apps", version: "v1", kind: "Deployment" };
const replicaSetGvk = { group: "apps", kind: "ReplicaSet" };
const workers = 20;

/** What one reconcile knows: the Deployment, its ReplicaSets, and what it has decided so far. */
interface Rollout {
  readonly key: string;
  /** As last written by this reconcile. */
  deployment: Deployment;
  readonly olds: readonly ReplicaSet[];
  newest: ReplicaSet | undefined;
  conditions: readonly Condition[];
  collisionCount: number | undefined;
}

// long: one closure holds the informers and the barrier that the small functions below share
export function deploymentController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const deployments = informers.informer<Deployment>(refs.deployments);
  const replicaSets = informers.informer<ReplicaSet>(refs.replicasets);
  const pods = informers.informer<Pod>(refs.pods);
  replicaSets.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  replicaSets.addIndex("controllers.orphan", (rs) =>
    controllerOf(rs) === undefined ? [rs.metadata?.namespace ?? ""] : [],
  );
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  const barrier = new Barrier(replicaSets, clock);
  const controller = queueController(deps, { name: "deployment-controller", workers }, reconcile);
  const { queue } = controller;

  deployments.addHandler({
    add: (deployment) => queue.add(keyOf(deployment)),
    update: (_old, deployment) => queue.add(keyOf(deployment)),
    delete: (deployment) => queue.add(keyOf(deployment)),
  });
  replicaSets.addHandler({
    add: wake,
    delete: wake,
    update: (old, rs) => void (wake(old), wake(rs)),
  });
  pods.addHandler({ delete: wakeRecreate });
  return controller;

  function wake(rs: ReplicaSet): void {
    const key = controllerKey(rs, gvk);
    if (key !== undefined) return queue.add(key);
    if (controllerOf(rs) !== undefined) return;
    for (const deployment of deployments.list(rs.metadata?.namespace)) {
      if (selects(deployment, rs)) queue.add(keyOf(deployment));
    }
  }

  /** A Recreate rollout waits for the last old pod; nothing else tells it that it has gone. */
  function wakeRecreate(pod: Pod): void {
    const owner = controllerKey(pod, replicaSetGvk);
    const rs = owner === undefined ? undefined : replicaSets.getByKey(owner);
    const key = rs === undefined ? undefined : controllerKey(rs, gvk);
    if (key === undefined) return;
    if (deployments.getByKey(key)?.spec?.strategy?.type === "Recreate") queue.add(key);
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const deployment = deployments.getByKey(key);
    if (deployment === undefined) return barrier.forget(key);
    if (!barrier.passed(key)) return undefined;
    if (selectsEverything(deployment)) return warnSelector(deployment);
    const sets = await claimSets(deployment);
    const newest = findNewReplicaSet(deployment, sets);
    const rollout: Rollout = {
      key,
      deployment,
      newest,
      olds: sets.filter((rs) => rs !== newest),
      conditions: deployment.status?.conditions ?? [],
      collisionCount: deployment.status?.collisionCount,
    };
    if (deployment.metadata?.deletionTimestamp === undefined) await step(rollout);
    await writeStatus(rollout);
    const progressing = findCondition(rollout.conditions, "Progressing");
    const wait = deadlineInMs(deployment, progressing, clock.nowMs());
    return Number.isFinite(wait) && wait > 0 ? { requeueAfterMs: wait + 1000 } : undefined;
  }

  function warnSelector(deployment: Deployment): void {
    const text = "This deployment is selecting all pods. A non-empty selector is required.";
    recorder.event(deployment, "Warning", "SelectingAll", text);
  }

  function claimSets(deployment: Deployment): Promise<readonly ReplicaSet[]> {
    const owned = replicaSets.byIndex("controllers.controllerUid", deployment.metadata?.uid ?? "");
    const orphans = replicaSets.byIndex("controllers.orphan", deployment.metadata?.namespace ?? "");
    const matches = (rs: ReplicaSet): boolean => selects(deployment, rs);
    const reference = controllerReference(gvk, deployment);
    const adopter = { client, ref: refs.replicasets, owner: deployment, reference, matches };
    return claim(adopter, [...owned, ...orphans.filter(matches)]);
  }

  async function step(rollout: Rollout): Promise<void> {
    const { deployment, newest, olds } = rollout;
    const all = newest === undefined ? olds : [...olds, newest];
    notePause(rollout);
    const paused = deployment.spec?.paused === true;
    if (paused || sizes.isScalingEvent(deployment, all)) {
      if (newest !== undefined) await refreshNewest(rollout);
      await applyScales(rollout, sizes.scaleProportionally(deployment, rollout.newest, olds));
      if (paused) await cleanUp(rollout);
      return;
    }
    if (deployment.spec?.strategy?.type === "Recreate") await recreate(rollout);
    else await roll(rollout);
    const status = deploymentStatus(statusInput(rollout));
    if (isCompleteStatus(deployment, status)) await cleanUp(rollout);
  }

  function notePause(rollout: Rollout): void {
    const { deployment } = rollout;
    if (deployment.spec?.progressDeadlineSeconds === undefined) return;
    const reason = findCondition(rollout.conditions, "Progressing")?.reason;
    if (reason === "ProgressDeadlineExceeded") return;
    if (deployment.spec.paused === true && reason !== "DeploymentPaused") {
      setProgress(rollout, "Unknown", "DeploymentPaused", "Deployment is paused");
    } else if (deployment.spec.paused !== true && reason === "DeploymentPaused") {
      setProgress(rollout, "Unknown", "DeploymentResumed", "Deployment is resumed");
    }
  }

  async function roll(rollout: Rollout): Promise<void> {
    const { deployment, olds } = rollout;
    await ensureNewest(rollout);
    const wanted = sizes.newReplicaSetSize(deployment, rollout.newest, olds);
    if (rollout.newest !== undefined && sizes.specReplicas(rollout.newest) !== wanted) {
      return applyScales(rollout, [{ replicaSet: rollout.newest, replicas: wanted }]);
    }
    await applyScales(rollout, sizes.shrinkOld(deployment, rollout.newest, olds));
  }

  async function recreate(rollout: Rollout): Promise<void> {
    const { deployment, olds } = rollout;
    const running = olds.filter((rs) => sizes.specReplicas(rs) > 0);
    if (running.length > 0) {
      return applyScales(
        rollout,
        running.map((replicaSet) => ({ replicaSet, replicas: 0 })),
      );
    }
    if (olds.some(hasLivePods)) return;
    await ensureNewest(rollout);
    const replicas = deployment.spec?.replicas ?? 1;
    if (rollout.newest !== undefined)
      await applyScales(rollout, [{ replicaSet: rollout.newest, replicas }]);
  }

  function hasLivePods(rs: ReplicaSet): boolean {
    return pods
      .byIndex("controllers.controllerUid", rs.metadata?.uid ?? "")
      .some((pod) => pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed");
  }

  async function ensureNewest(rollout: Rollout): Promise<void> {
    if (rollout.newest !== undefined) return refreshNewest(rollout);
    await createNewest(rollout);
  }

  /** Revision, copied annotations and minReadySeconds of a ReplicaSet that is (again) the newest. */
  async function refreshNewest(rollout: Rollout): Promise<void> {
    const { deployment, newest, olds } = rollout;
    if (newest === undefined) return;
    const current = newest.metadata?.annotations ?? {};
    const annotations = newestAnnotations(deployment, current, nextRevision(olds));
    const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
    if (
      !jsonEqual(annotations, current) ||
      (newest.spec?.minReadySeconds ?? 0) !== minReadySeconds
    ) {
      await patchSet(rollout, newest, { metadata: { annotations }, spec: { minReadySeconds } });
    }
    if (findCondition(rollout.conditions, "Progressing") === undefined) {
      setProgress(
        rollout,
        "True",
        "FoundNewReplicaSet",
        `Found new replica set "${newest.metadata?.name ?? ""}"`,
      );
    }
    await writeRevision(rollout, annotations[revisionAnnotation]);
  }

  async function createNewest(rollout: Rollout): Promise<void> {
    const { deployment, olds } = rollout;
    const { replicaSet, revision } = newReplicaSet(deployment, olds, rollout.collisionCount ?? 0);
    const name = replicaSet.metadata?.name ?? "";
    try {
      const made = await client.create<ReplicaSet>(
        refs.replicasets,
        deployment.metadata?.namespace ?? "",
        replicaSet,
      );
      barrier.wrote(rollout.key, made);
      rollout.newest = made;
    } catch (error) {
      return createFailed(rollout, name, error);
    }
    const size = sizes.specReplicas(rollout.newest);
    if (size > 0) {
      recorder.event(
        deployment,
        "Normal",
        "ScalingReplicaSet",
        `Scaled up replica set ${name} from 0 to ${size}`,
      );
    }
    setProgress(rollout, "True", "NewReplicaSetCreated", `Created new replica set "${name}"`);
    await writeRevision(rollout, String(revision));
  }

  async function createFailed(rollout: Rollout, name: string, error: unknown): Promise<void> {
    if (error instanceof ApiError && error.reason === "AlreadyExists") {
      // Either our cache is behind (the name is of our template) or two templates share a hash.
      rollout.collisionCount = (rollout.collisionCount ?? 0) + 1;
      await writeStatus(rollout);
      throw error;
    }
    const text = `Failed to create new replica set "${name}": ${error instanceof Error ? error.message : ""}`;
    setProgress(rollout, "False", "ReplicaSetCreateError", text);
    await writeStatus(rollout);
    throw error;
  }

  function newReplicaSet(
    deployment: Deployment,
    olds: readonly ReplicaSet[],
    collisionCount: number,
  ): { readonly replicaSet: ReplicaSet; readonly revision: number } {
    const template = deployment.spec?.template ?? {};
    const hash = templateHash(template, collisionCount);
    const labels = { ...template.metadata?.labels, [hashLabel]: hash };
    const selector = deployment.spec?.selector ?? {};
    const revision = nextRevision(olds);
    const { replicas, maxSurge } = sizes.boundsOf(deployment);
    const replicaSet: ReplicaSet = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name: `${deployment.metadata?.name ?? ""}-${hash}`,
        namespace: deployment.metadata?.namespace ?? "",
        labels,
        annotations: {
          ...newestAnnotations(deployment, {}, revision),
          ...sizeAnnotations(replicas, replicas + maxSurge),
        },
        ownerReferences: [controllerReference(gvk, deployment)],
      },
      spec: {
        replicas: sizes.newReplicaSetSize(deployment, undefined, olds),
        minReadySeconds: deployment.spec?.minReadySeconds ?? 0,
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    };
    return { replicaSet, revision };
  }

  async function applyScales(rollout: Rollout, scales: readonly sizes.Scale[]): Promise<void> {
    const { replicas, maxSurge } = sizes.boundsOf(rollout.deployment);
    const annotations = sizeAnnotations(replicas, replicas + maxSurge);
    for (const { replicaSet, replicas: wanted } of scales) {
      const current = sizes.specReplicas(replicaSet);
      const marked = Object.entries(annotations).every(
        ([key, value]) => replicaSet.metadata?.annotations?.[key] === value,
      );
      if (current === wanted && marked) continue;
      await patchSet(rollout, replicaSet, {
        metadata: { annotations },
        spec: { replicas: wanted },
      });
      if (current === wanted) continue;
      const way = current < wanted ? "up" : "down";
      const text = `Scaled ${way} replica set ${replicaSet.metadata?.name ?? ""} from ${current} to ${wanted}`;
      recorder.event(rollout.deployment, "Normal", "ScalingReplicaSet", text);
    }
  }

  async function patchSet(rollout: Rollout, replicaSet: ReplicaSet, change: object): Promise<void> {
    const { namespace = "", name = "", uid } = replicaSet.metadata ?? {};
    const metadata =
      "metadata" in change && typeof change.metadata === "object" ? change.metadata : {};
    const patch = { ...change, metadata: { ...metadata, uid } };
    const written = await client.patch<ReplicaSet>(
      refs.replicasets,
      namespace,
      name,
      "merge",
      patch,
    );
    barrier.wrote(rollout.key, written);
    if (rollout.newest?.metadata?.uid === uid) rollout.newest = written;
  }

  async function cleanUp(rollout: Rollout): Promise<void> {
    for (const rs of sizes.beyondHistory(rollout.deployment, rollout.olds, revisionOf)) {
      const { namespace = "", name = "", uid = "" } = rs.metadata ?? {};
      await client
        .delete(refs.replicasets, namespace, name, { preconditions: { uid } })
        .catch(ignoreGone);
    }
  }

  async function writeRevision(rollout: Rollout, revision: string | undefined): Promise<void> {
    const { metadata, ...rest } = rollout.deployment;
    if (revision === undefined || metadata?.annotations?.[revisionAnnotation] === revision) return;
    const annotations = { ...metadata?.annotations, [revisionAnnotation]: revision };
    const next = { ...rest, metadata: { ...metadata, annotations } };
    rollout.deployment = await client.update(refs.deployments, metadata?.namespace ?? "", next);
  }

  function setProgress(rollout: Rollout, status: string, reason: string, message: string): void {
    if (rollout.deployment.spec?.progressDeadlineSeconds === undefined) return;
    const now = formatTime(clock.nowMs());
    rollout.conditions = withCondition(rollout.conditions, {
      type: "Progressing",
      status,
      reason,
      message,
      lastUpdateTime: now,
      lastTransitionTime: now,
    });
  }

  function statusInput(rollout: Rollout) {
    const { deployment, newest, olds, conditions, collisionCount } = rollout;
    const nowMs = clock.nowMs();
    const all = newest === undefined ? olds : [...olds, newest];
    return { deployment, newest, all, conditions, collisionCount, nowMs, now: formatTime(nowMs) };
  }

  async function writeStatus(rollout: Rollout): Promise<void> {
    const status: DeploymentStatus = deploymentStatus(statusInput(rollout));
    rollout.conditions = status.conditions ?? [];
    if (jsonEqual(status, rollout.deployment.status)) return;
    const next = { ...rollout.deployment, status };
    const namespace = next.metadata?.namespace ?? "";
    rollout.deployment = await client.update(refs.deployments, namespace, next, {
      subresource: "status",
    });
  }
}

function selects(deployment: Deployment, rs: ReplicaSet): boolean {
  return labelsMatch(
    selectorFromLabelSelector(deployment.spec?.selector),
    rs.metadata?.labels ?? {},
  );
}

function selectsEverything(deployment: Deployment): boolean {
  return selectorFromLabelSelector(deployment.spec?.selector).requirements.length === 0;
}

function ignoreGone(error: unknown): void {
  if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return;
  throw error;
}
