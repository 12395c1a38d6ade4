/**
 * Deployments: one ReplicaSet per template, rolled over within the bounds of the strategy.
 *
 * In    Deployments, their ReplicaSets, and Pods (Recreate waits until the old ones are gone).
 * Out   ReplicaSets created, sized, deleted; status; the revision annotation. One step per reconcile:
 *       the status changes of the ReplicaSets wake the next.
 * Safe  no step before the cache shows the last one (client/expectations.ts).
 */
import type { Deployment, Pod, ReplicaSet } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { findCondition } from "#client/conditions.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations, unsatisfied } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import {
  claimCached,
  indexByController,
  indexForClaims,
  listControlled,
} from "../ownership/cached.ts";
import { controllerKey, controllerReference, ownerKeys } from "#client/owner.ts";
import { selectorOf } from "../ownership/selectors.ts";
import { isFinished } from "../pods/pod.ts";
import { isRecreate, planScales, planStep, type Rollout } from "./plan.ts";
import { mayCleanUp, startProgress, statusAfter, type Progress } from "./progress.ts";
import { ReplicaSetControl } from "./replicaset-control.ts";
import { gvk } from "./replicaset.ts";
import { findNewReplicaSet, revisionAnnotation } from "./revision.ts";
import { deadlineInMs } from "./status.ts";

export const deploymentRole: ControllerRole = {
  account: "deployment-controller",
  rules: [
    "get,list,update,watch | apps,extensions | deployments",
    "update | apps,extensions | deployments/status",
    "update | apps,extensions | deployments/finalizers",
    "create,delete,get,list,patch,update,watch | apps,extensions | replicasets",
    "get,list,update,watch | core | pods",
    "events",
  ],
};

const replicaSetGvk = { group: "apps", kind: "ReplicaSet" };

export class DeploymentController implements ControllerOptions<Deployment> {
  readonly name = "deployment-controller";
  readonly workers = 20;
  readonly ref = refs.deployments;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #pods: Informer<Pod>;
  readonly #expectations: Expectations<ReplicaSet>;
  readonly #control: ReplicaSetControl;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const deployments = deps.informers.informer<Deployment>(refs.deployments);
    this.#replicaSets = deps.informers.informer<ReplicaSet>(refs.replicasets);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    indexForClaims(this.#replicaSets);
    indexByController(this.#pods);
    this.#expectations = new Expectations(this.#replicaSets, deps.clock);
    this.#control = new ReplicaSetControl(deps, this.#expectations);
    // A Recreate rollout waits for the deletion of the last old pod.
    const recreateOf = (pod: Pod): string | undefined => {
      const rs = this.#replicaSets.getByKey(controllerKey(pod, replicaSetGvk) ?? "");
      const key = rs && controllerKey(rs, gvk);
      return isRecreate(deployments.getByKey(key ?? "")) ? key : undefined;
    };
    this.sources = [
      watch(this.#replicaSets, ownerKeys(deployments, gvk, isSelected)),
      watch(this.#pods, recreateOf, { on: ["delete"] }),
    ];
  }

  async reconcile({
    key,
    object: deployment,
  }: ReconcileRequest<Deployment>): Promise<ReconcileResult> {
    if (deployment === undefined) return this.#expectations.forget(key);
    if (!this.#expectations.isSatisfied(key)) return unsatisfied;
    if (selectorOf(deployment).requirements.length === 0) return this.#warnSelector(deployment);
    const rollout = this.#gather(deployment, await this.#claimReplicaSets(deployment));
    const progress = await this.#carryOut(rollout);
    const conditions = await this.#writeStatus(rollout, progress);
    if (progress.error !== undefined) throw progress.error;
    const progressing = findCondition(conditions, "Progressing");
    const waitMs = deadlineInMs(deployment, progressing, this.#deps.clock.nowMs());
    return Number.isFinite(waitMs) && waitMs > 0 ? { requeueAfterMs: waitMs + 1000 } : undefined;
  }

  #warnSelector(deployment: Deployment): void {
    const text = "This deployment is selecting all pods. A non-empty selector is required.";
    this.#deps.recorder.event(deployment, "Warning", "SelectingAll", text);
  }

  #claimReplicaSets(deployment: Deployment): Promise<readonly ReplicaSet[]> {
    const key = keyOf(deployment);
    return claimCached(this.#replicaSets, {
      client: this.#deps.client,
      ref: refs.replicasets,
      owner: deployment,
      ownerRef: refs.deployments,
      reference: controllerReference(gvk, deployment),
      matches: (rs) => isSelected(deployment, rs),
      onWrite: (rs) => this.#expectations.expectWrite(key, rs),
    });
  }

  #gather(deployment: Deployment, replicaSets: readonly ReplicaSet[]): Rollout {
    const newest = findNewReplicaSet(deployment, replicaSets);
    const olds = replicaSets.filter((rs) => rs !== newest);
    return {
      key: keyOf(deployment),
      deployment,
      newest,
      olds,
      hasOldPods: isRecreate(deployment) && olds.some((rs) => this.#hasPods(rs)),
      nowMs: this.#deps.clock.nowMs(),
    };
  }

  #hasPods(rs: ReplicaSet): boolean {
    const pods = listControlled(this.#pods, rs.metadata?.uid);
    return (rs.status?.replicas ?? 0) > 0 || pods.some((pod) => !isFinished(pod));
  }

  async #carryOut(rollout: Rollout): Promise<Progress> {
    const step = planStep(rollout);
    let progress = startProgress(rollout, step);
    progress = await this.#control.applyNewest(rollout, step, progress);
    if (progress.error !== undefined) return progress;
    const scales = planScales(rollout, step.name, progress.newest);
    progress = await this.#control.applyScales(rollout, scales, progress);
    if (mayCleanUp(rollout, step, progress)) await this.#control.cleanUp(rollout);
    return progress;
  }

  /** Writes status and revision together: as in upstream, a status update may change annotations. */
  async #writeStatus({ deployment, ...rest }: Rollout, progress: Progress) {
    const { revision } = progress;
    const status = statusAfter({ deployment, ...rest }, progress);
    const { conditions } = status;
    const old = deployment.metadata?.annotations;
    const isAnnotated = revision === undefined || old?.[revisionAnnotation] === revision;
    if (isAnnotated && jsonEqual(status, deployment.status)) return conditions;
    const added = revision === undefined ? {} : { [revisionAnnotation]: revision };
    const metadata = { ...deployment.metadata, annotations: { ...old, ...added } };
    const next = { ...deployment, metadata, status };
    const namespace = metadata.namespace ?? "";
    await this.#deps.client.update(refs.deployments, namespace, next, { subresource: "status" });
    return conditions;
  }
}

function isSelected(deployment: Deployment, rs: ReplicaSet): boolean {
  return labelsMatch(selectorOf(deployment), rs.metadata?.labels ?? {});
}
