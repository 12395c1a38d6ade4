/**
 * Disruption controller: keeps the status of PodDisruptionBudgets. The eviction subresource spends the
 * allowed disruptions and enforces the budget; this controller computes them.
 *
 * Safe  what cannot be counted allows nothing, and the condition says why (SyncFailed).
 * Also  clears the DisruptionTarget condition of a pod whose deletion has not begun after two minutes.
 */
import type { Pod, PodDisruptionBudget, PodDisruptionBudgetStatus } from "#api/gen/types.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import type { KubeObject } from "#api/object.ts";
import { formatTime } from "#api/time.ts";
import { keyOf } from "#client/indexer.ts";
import { isConflict, isNotFound } from "#client/api-errors.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { withCondition } from "../framework/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { addGathered } from "../framework/gather.ts";
import { jsonEqual } from "../framework/equal.ts";
import { isFinished, isGoing, podCondition } from "../pods/pod.ts";
import { textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import { selectorOf } from "../ownership/selectors.ts";
import { budgetStatus, disruptionTimeoutMs, needsExpected, recheckInMs } from "./budget.ts";
import { ExpectedPods } from "./expected.ts";

const workers = 5;
/** No watch reports when a controller of another kind appears or gets a scale, so retry. */
const retryMs = 30_000;
/** Keys of pods with a DisruptionTarget condition; keys of budgets have one slash only. */
const podPrefix = "pods/";

// long: one closure holds the informers that the small functions below share
export function disruptionController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const budgets = informers.informer<PodDisruptionBudget>(refs.poddisruptionbudgets);
  const pods = informers.informer<Pod>(refs.pods);
  const expected = new ExpectedPods(deps);
  const controller = queueController(deps, { name: "disruption-controller", workers }, reconcile);
  const { queue } = controller;
  budgets.addHandler({
    add: (budget) => queue.add(keyOf(budget)),
    update: (_old, budget) => queue.add(keyOf(budget)),
  });
  pods.addHandler({
    add: wake,
    delete: wake,
    update(old, pod) {
      wake(old);
      wake(pod);
    },
  });
  expected.onChange((owner: KubeObject) => {
    for (const budget of budgets.list(owner.metadata?.namespace)) queue.add(keyOf(budget));
  });
  return controller;

  function wake(pod: Pod): void {
    for (const budget of budgets.list(pod.metadata?.namespace)) {
      if (covers(budget, pod)) addGathered(queue, keyOf(budget), budget.status?.expectedPods ?? 0);
    }
    if (isStale(pod)) queue.add(`${podPrefix}${keyOf(pod)}`);
  }

  async function reconcile(key: string): Promise<ReconcileResult> {
    if (key.startsWith(podPrefix)) return clearStale(key.slice(podPrefix.length));
    const budget = budgets.getByKey(key);
    if (budget === undefined) return undefined;
    try {
      return await reconcileBudget(budget);
    } catch (error) {
      if (isConflict(error)) throw error;
      // What cannot be counted now may be after the next change of a pod or its controller.
      const text = `Failed to calculate the number of expected pods: ${textOf(error)}`;
      recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", text);
      await failSafe(budget, textOf(error));
      return { requeueAfterMs: retryMs };
    }
  }

  async function reconcileBudget(budget: PodDisruptionBudget): Promise<ReconcileResult> {
    const matched = pods.list(budget.metadata?.namespace).filter((pod) => covers(budget, pod));
    if (matched.length === 0) recorder.event(budget, "Normal", "NoPods", "No matching pods found");
    const { count, unmanaged } = needsExpected(budget)
      ? await expected.of(matched)
      : { count: 0, unmanaged: [] };
    if (unmanaged.length > 0) recorder.event(budget, "Warning", "UnmanagedPods", unmanagedText);
    const status = budgetStatus(budget, matched, count, clock.nowMs());
    const enough = status.disruptionsAllowed > 0;
    const reason = enough ? "SufficientPods" : "InsufficientPods";
    await writeStatus(budget, status, { status: enough ? "True" : "False", reason, message: "" });
    const recheck = recheckInMs(status, clock.nowMs());
    return recheck === undefined ? undefined : { requeueAfterMs: recheck };
  }

  /** The rest of the status stays: it was true once, and allows nothing now. */
  async function failSafe(budget: PodDisruptionBudget, message: string): Promise<void> {
    const { conditions: _old, ...kept } = budget.status ?? nothing;
    const said = { status: "False", reason: "SyncFailed", message };
    await writeStatus(budget, { ...kept, disruptionsAllowed: 0 }, said);
  }

  async function writeStatus(
    budget: PodDisruptionBudget,
    counted: Omit<PodDisruptionBudgetStatus, "conditions">,
    said: { readonly status: string; readonly reason: string; readonly message: string },
  ): Promise<void> {
    const observedGeneration = budget.metadata?.generation ?? 0;
    const conditions = withCondition(budget.status?.conditions, {
      type: "DisruptionAllowed",
      ...said,
      observedGeneration,
      lastTransitionTime: formatTime(clock.nowMs()),
    });
    const status = { ...counted, observedGeneration, conditions };
    if (jsonEqual(status, budget.status)) return;
    const next: PodDisruptionBudget = { ...budget, status };
    const namespace = budget.metadata?.namespace ?? "";
    const options = { subresource: "status" };
    await client.update(refs.poddisruptionbudgets, namespace, next, options).catch(ignoreMissing);
  }

  async function clearStale(key: string): Promise<ReconcileResult> {
    const pod = pods.getByKey(key);
    if (pod === undefined || !isStale(pod)) return undefined;
    const since = Date.parse(podCondition(pod, "DisruptionTarget")?.lastTransitionTime ?? "");
    const waitMs = (Number.isNaN(since) ? 0 : since) + disruptionTimeoutMs - clock.nowMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const lastTransitionTime = formatTime(clock.nowMs());
    const conditions = [{ type: "DisruptionTarget", status: "False", lastTransitionTime }];
    const patch = { metadata: { uid }, status: { conditions } };
    const options = { subresource: "status" };
    await client
      .patch(refs.pods, namespace, name, "strategic", patch, options)
      .catch(ignoreMissing);
    return undefined;
  }
}

const nothing: PodDisruptionBudgetStatus = {
  currentHealthy: 0,
  desiredHealthy: 0,
  disruptionsAllowed: 0,
  expectedPods: 0,
};

const unmanagedText =
  'Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.';

function covers(budget: PodDisruptionBudget, pod: Pod): boolean {
  return labelsMatch(selectorOf(budget), pod.metadata?.labels ?? {});
}

/** Says that it is to go, and does not; the kubelet's own word is never stale. */
function isStale(pod: Pod): boolean {
  const target = pod.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  const open = target?.status === "True" && target.reason !== "TerminationByKubelet";
  return open && !isGoing(pod) && !isFinished(pod);
}

function ignoreMissing(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}
