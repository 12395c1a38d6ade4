/**
 * Deployments: one ReplicaSet per template, rolled over within the bounds of the strategy.
 *
 * In    Deployments, their ReplicaSets, and Pods (Recreate waits for the old ones to be gone).
 * Out   ReplicaSets made, sized, deleted; status; the revision annotation. One step per reconcile:
 *       the ReplicaSets' own status changes wake the next.
 * Safe  no step before the cache shows the last one (shared/expectations.ts).
 */
import type { Deployment, DeploymentStatus, Pod, ReplicaSet } from "#api/gen/types.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes, keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { claim } from "../ownership/adopt.ts";
import { Expectations, unfulfilled } from "../framework/expectations.ts";
import { findCondition, withReason, type Condition } from "../framework/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { jsonEqual } from "../framework/equal.ts";
import { controllerKey, controllerOf, controllerReference } from "../ownership/owner.ts";
import { isFinished } from "../pods/pod.ts";
import { refs } from "../framework/refs.ts";
import { orphanIndex, orphanNamespace } from "../ownership/orphans.ts";
import { ignoreGone, isNamespaceGoing, textOf } from "../framework/api-errors.ts";
import { selectorOf } from "../ownership/selectors.ts";
import {
  findNewReplicaSet,
  hashLabel,
  newestAnnotations,
  nextRevision,
  replicaSetName,
  revisionAnnotation,
  revisionOf,
  sameTemplate,
  sizeAnnotations,
} from "./revision.ts";
import { templateHash } from "../pods/template-hash.ts";
import * as sizes from "./sizes.ts";
import { deadlineInMs, deploymentStatus, hasDeadline, isCompleteStatus } from "./status.ts";

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
  /** Goes onto the Deployment with its status. */
  revision: string | undefined;
  /** This reconcile worked on a rollout, so that its progress can be judged. */
  rolling: boolean;
}

// long: one closure holds the informers and the expectations that the small functions below share
export function deploymentController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const deployments = informers.informer<Deployment>(refs.deployments);
  const replicaSets = informers.informer<ReplicaSet>(refs.replicasets);
  const pods = informers.informer<Pod>(refs.pods);
  replicaSets.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  replicaSets.addIndex(orphanIndex, orphanNamespace);
  pods.addIndex("controllers.controllerUid", commonIndexes.controllerUid);
  const expectations = new Expectations(replicaSets, clock);
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
    update(old, rs) {
      wake(old);
      wake(rs);
    },
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
    if (deployment === undefined) return expectations.forget(key);
    if (!expectations.passed(key)) return unfulfilled;
    if (selectorOf(deployment).requirements.length === 0) return warnSelector(deployment);
    const sets = await claimSets(deployment);
    const newest = findNewReplicaSet(deployment, sets);
    const rollout: Rollout = {
      key,
      deployment,
      newest,
      olds: sets.filter((rs) => rs !== newest),
      conditions: deployment.status?.conditions ?? [],
      collisionCount: deployment.status?.collisionCount,
      revision: undefined,
      rolling: false,
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
    const orphans = replicaSets.byIndex(orphanIndex, deployment.metadata?.namespace ?? "");
    const matches = (rs: ReplicaSet): boolean => selects(deployment, rs);
    const reference = controllerReference(gvk, deployment);
    const wrote = (rs: ReplicaSet): void => expectations.wrote(keyOf(deployment), rs);
    const ownerRef = refs.deployments;
    const owner = deployment;
    const adopter = { client, ref: refs.replicasets, owner, ownerRef, reference, matches, wrote };
    return claim(adopter, [...owned, ...orphans.filter(matches)]);
  }

  async function step(rollout: Rollout): Promise<void> {
    const { deployment, newest, olds } = rollout;
    const all = newest === undefined ? olds : [...olds, newest];
    notePause(rollout);
    const paused = deployment.spec?.paused === true;
    // What a scaling event or a pause leaves undone, the next reconcile does.
    if (paused || sizes.isScalingEvent(deployment, all)) {
      if (newest !== undefined) await refreshNewest(rollout);
      await applyScales(rollout, sizes.scaleProportionally(deployment, rollout.newest, olds));
      if (paused) await cleanUp(rollout);
      return;
    }
    rollout.rolling = true;
    if (deployment.spec?.strategy?.type === "Recreate") await recreate(rollout);
    else await roll(rollout);
    const status = deploymentStatus(statusInput(rollout));
    if (isCompleteStatus(deployment, status)) await cleanUp(rollout);
  }

  function notePause(rollout: Rollout): void {
    const { deployment } = rollout;
    if (!hasDeadline(deployment)) return;
    const reason = findCondition(rollout.conditions, "Progressing")?.reason;
    if (reason === "ProgressDeadlineExceeded") return;
    if (deployment.spec?.paused === true && reason !== "DeploymentPaused") {
      setProgress(rollout, "Unknown", "DeploymentPaused", "Deployment is paused");
    } else if (deployment.spec?.paused !== true && reason === "DeploymentPaused") {
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
    const uid = rs.metadata?.uid ?? "";
    const living = pods.byIndex("controllers.controllerUid", uid).some((pod) => !isFinished(pod));
    return living || (rs.status?.replicas ?? 0) > 0;
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
    rollout.revision = annotations[revisionAnnotation];
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
      expectations.wrote(rollout.key, made);
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
    rollout.revision = String(revision);
  }

  async function createFailed(rollout: Rollout, name: string, error: unknown): Promise<void> {
    if (error instanceof ApiError && error.reason === "AlreadyExists") {
      return createExists(rollout, name, error);
    }
    // A namespace on its way out takes no new objects: nothing to report.
    if (!isNamespaceGoing(error)) {
      const text = `Failed to create new replica set "${name}": ${textOf(error)}`;
      setProgress(rollout, "False", "ReplicaSetCreateError", text);
      recorder.event(rollout.deployment, "Warning", "ReplicaSetCreateError", text);
      await writeStatus(rollout);
    }
    throw error;
  }

  /** Ours, made by a request whose answer was lost, or two templates share a hash: then count on. */
  async function createExists(rollout: Rollout, name: string, error: ApiError): Promise<void> {
    const { deployment } = rollout;
    const namespace = deployment.metadata?.namespace ?? "";
    const there = await client.get<ReplicaSet>(refs.replicasets, namespace, name);
    const ours = controllerOf(there)?.uid === deployment.metadata?.uid;
    if (ours && sameTemplate(there.spec?.template, deployment.spec?.template)) {
      expectations.wrote(rollout.key, there);
      rollout.newest = there;
      rollout.revision = there.metadata?.annotations?.[revisionAnnotation];
      return;
    }
    rollout.collisionCount = (rollout.collisionCount ?? 0) + 1;
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
        name: replicaSetName(deployment, hash),
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
    expectations.wrote(rollout.key, written);
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

  function setProgress(rollout: Rollout, status: string, reason: string, message: string): void {
    if (!hasDeadline(rollout.deployment)) return;
    const now = formatTime(clock.nowMs());
    rollout.conditions = withReason(rollout.conditions, {
      type: "Progressing",
      status,
      reason,
      message,
      lastUpdateTime: now,
      lastTransitionTime: now,
    });
  }

  function statusInput(rollout: Rollout) {
    const nowMs = clock.nowMs();
    const all = rollout.newest === undefined ? rollout.olds : [...rollout.olds, rollout.newest];
    return { ...rollout, all, nowMs, now: formatTime(nowMs) };
  }

  /** Status and revision in one write: a status update may change annotations, as upstream's. */
  async function writeStatus(rollout: Rollout): Promise<void> {
    const { deployment, revision } = rollout;
    const status: DeploymentStatus = deploymentStatus(statusInput(rollout));
    rollout.conditions = status.conditions ?? [];
    const marked =
      revision === undefined || deployment.metadata?.annotations?.[revisionAnnotation] === revision;
    if (marked && jsonEqual(status, deployment.status)) return;
    const annotations = {
      ...deployment.metadata?.annotations,
      ...(revision === undefined ? {} : { [revisionAnnotation]: revision }),
    };
    const metadata = { ...deployment.metadata, annotations };
    const namespace = deployment.metadata?.namespace ?? "";
    const next = { ...deployment, metadata, status };
    await client.update(refs.deployments, namespace, next, { subresource: "status" });
  }
}

function selects(deployment: Deployment, rs: ReplicaSet): boolean {
  return labelsMatch(selectorOf(deployment), rs.metadata?.labels ?? {});
}
