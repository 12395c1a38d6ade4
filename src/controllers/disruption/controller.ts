/**
 * Disruption controller: keeps the status of PodDisruptionBudgets, which the eviction subresource
 * spends. The budget is the server's to enforce; this loop says how much there is.
 */
import type {
  Deployment,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  ReplicationController,
  StatefulSet,
} from "#api/gen/types.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/label-selector.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { keyOf } from "#client/local-store.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { withCondition } from "../shared/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { jsonEqual } from "../shared/equal.ts";
import { controllerKey } from "../shared/owner.ts";
import { refs } from "../shared/refs.ts";
import { budgetStatus, type BudgetStatus } from "./budget.ts";

const workers = 5;
/** While evictions are pending, look again after they time out. */
const pendingMs = 2 * 60_000;

// long: one closure holds the informers that the small functions below share
export function disruptionController(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const budgets = informers.informer<PodDisruptionBudget>(refs.poddisruptionbudgets);
  const pods = informers.informer<Pod>(refs.pods);
  const owners = {
    ReplicaSet: informers.informer<ReplicaSet>(refs.replicasets),
    Deployment: informers.informer<Deployment>(refs.deployments),
    StatefulSet: informers.informer<StatefulSet>(refs.statefulsets),
    ReplicationController: informers.informer<ReplicationController>(refs.replicationcontrollers),
  };
  const controller = queueController(deps, { name: "disruption-controller", workers }, reconcile);
  const { queue } = controller;
  budgets.addHandler({
    add: (budget) => queue.add(keyOf(budget)),
    update: (_old, budget) => queue.add(keyOf(budget)),
  });
  pods.addHandler({ add: wake, update: (_old, pod) => wake(pod), delete: wake });
  for (const informer of Object.values(owners)) {
    informer.addHandler({
      update: (old, object) =>
        void (
          old.metadata?.generation !== object.metadata?.generation &&
          wakeNamespace(object.metadata?.namespace)
        ),
    });
  }
  return controller;

  function wake(pod: Pod): void {
    for (const budget of budgets.list(pod.metadata?.namespace)) {
      if (covers(budget, pod)) queue.add(keyOf(budget));
    }
  }

  function wakeNamespace(namespace: string | undefined): void {
    for (const budget of budgets.list(namespace)) queue.add(keyOf(budget));
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    const budget = budgets.getByKey(key);
    if (budget === undefined) return undefined;
    const matched = pods
      .list(budget.metadata?.namespace)
      .filter((pod) => isCounted(pod) && covers(budget, pod));
    const status = budgetStatus(budget, matched, expectedOf(matched), clock.nowMs());
    await writeStatus(budget, status);
    return status.disruptedPods === undefined ? undefined : { requeueAfterMs: pendingMs };
  }

  /** The sum of what the controllers want, each counted once; undefined when one cannot be told. */
  function expectedOf(matched: readonly Pod[]): number | undefined {
    const wanted = new Map<string, number>();
    for (const pod of matched) {
      const scale = scaleOf(pod);
      if (scale === undefined) return undefined;
      wanted.set(scale.key, scale.replicas);
    }
    return [...wanted.values()].reduce((sum, replicas) => sum + replicas, 0);
  }

  function scaleOf(pod: Pod): { readonly key: string; readonly replicas: number } | undefined {
    const rsKey = controllerKey(pod, { group: "apps", kind: "ReplicaSet" });
    const rs = rsKey === undefined ? undefined : owners.ReplicaSet.getByKey(rsKey);
    const deploymentKey =
      rs === undefined ? undefined : controllerKey(rs, { group: "apps", kind: "Deployment" });
    const statefulSetKey = controllerKey(pod, { group: "apps", kind: "StatefulSet" });
    const rcKey = controllerKey(pod, { group: "", kind: "ReplicationController" });
    const candidates = [
      [deploymentKey, owners.Deployment.getByKey(deploymentKey ?? "")],
      [deploymentKey === undefined ? rsKey : undefined, rs],
      [statefulSetKey, owners.StatefulSet.getByKey(statefulSetKey ?? "")],
      [rcKey, owners.ReplicationController.getByKey(rcKey ?? "")],
    ] as const;
    for (const [key, owner] of candidates) {
      if (key !== undefined && owner !== undefined)
        return { key: `${owner.kind}/${key}`, replicas: owner.spec?.replicas ?? 1 };
    }
    return undefined;
  }

  async function writeStatus(budget: PodDisruptionBudget, counted: BudgetStatus): Promise<void> {
    const now = formatTime(clock.nowMs());
    const enough = counted.disruptionsAllowed > 0;
    const conditions = withCondition(budget.status?.conditions, {
      type: "DisruptionAllowed",
      status: enough ? "True" : "False",
      reason: enough ? "SufficientPods" : "InsufficientPods",
      message: "",
      lastTransitionTime: now,
      observedGeneration: budget.metadata?.generation ?? 0,
    });
    const status = { ...counted, observedGeneration: budget.metadata?.generation ?? 0, conditions };
    if (jsonEqual(status, budget.status)) return;
    const next = { ...budget, status } as PodDisruptionBudget;
    try {
      await client.update(refs.poddisruptionbudgets, budget.metadata?.namespace ?? "", next, {
        subresource: "status",
      });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 404) throw error;
    }
  }
}

function covers(budget: PodDisruptionBudget, pod: Pod): boolean {
  return labelsMatch(selectorFromLabelSelector(budget.spec?.selector), pod.metadata?.labels ?? {});
}

function isCounted(pod: Pod): boolean {
  return pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed";
}
