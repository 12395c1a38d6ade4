/**
 * Disruption controller: keeps the status of PodDisruptionBudgets. The eviction subresource spends the
 * allowed disruptions and enforces the budget; this controller computes them.
 *
 * Safe  if pods cannot be counted, no disruption is allowed, and the condition says why (SyncFailed).
 * Also  clears the DisruptionTarget condition of a pod whose deletion has not begun after two minutes.
 */
import type { Pod, PodDisruptionBudget, PodDisruptionBudgetStatus } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import { formatTime } from "#api/values/time.ts";
import { isConflict, isNotFound } from "#client/api-errors.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import { keyOf } from "#client/indexer.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { watch, type Source } from "#client/sources.ts";
import { textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { selectorOf } from "../ownership/selectors.ts";
import { budgetStatus, needsExpected, recheckInMs, type BudgetStatus } from "./budget.ts";
import { ExpectedPods, type Expected } from "./expected.ts";
import { isDisruptionTarget, StaleDisruptions } from "./stale.ts";
import { countedStatus, failedStatus } from "./status.ts";

export const disruptionRole: ControllerRole = {
  account: "disruption-controller",
  rules: [
    "read | apps,extensions | deployments",
    "read | apps,extensions | replicasets",
    "read | core | replicationcontrollers",
    "read | policy | poddisruptionbudgets",
    "read | apps | statefulsets",
    "update | policy | poddisruptionbudgets/status",
    "patch,update | core | pods/status",
    "get | * | */scale",
    "events",
  ],
};

/** Retry interval, because no watch reports that a custom controller appeared or got a scale. */
const retryMs = 30_000;
/** Prefix of keys of pods with a DisruptionTarget condition; keys of budgets have only one slash. */
const podPrefix = "pods/";

export class DisruptionController implements ControllerOptions<PodDisruptionBudget> {
  readonly name = "disruption-controller";
  readonly workers = 5;
  readonly ref = refs.poddisruptionbudgets;
  readonly when = { on: ["add", "update"] } as const;
  readonly sources: readonly Source[];
  readonly #deps: ControllerDeps;
  readonly #pods: Informer<Pod>;
  readonly #expected: ExpectedPods;
  readonly #stale: StaleDisruptions;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    const budgets = deps.informers.informer<PodDisruptionBudget>(refs.poddisruptionbudgets);
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#expected = new ExpectedPods(deps);
    this.#stale = new StaleDisruptions(deps);
    const budgetsOf = (pod: Pod): readonly string[] =>
      budgets
        .list(pod.metadata?.namespace)
        .filter((budget) => covers(budget, pod))
        .map(keyOf);
    const sizeOf = (key: string): number => budgets.getByKey(key)?.status?.expectedPods ?? 0;
    this.sources = [
      watch(this.#pods, budgetsOf, { sizeOf }),
      watch(this.#pods, (pod) => `${podPrefix}${keyOf(pod)}`, { only: isDisruptionTarget }),
      ...this.#expected.watch((owner) => budgets.list(owner.metadata?.namespace).map(keyOf)),
    ];
  }

  async reconcile({
    key,
    object: budget,
  }: ReconcileRequest<PodDisruptionBudget>): Promise<ReconcileResult> {
    if (key.startsWith(podPrefix)) {
      const pod = this.#pods.getByKey(key.slice(podPrefix.length));
      return pod === undefined ? undefined : this.#stale.reconcile(pod);
    }
    if (budget === undefined) return undefined;
    try {
      return await this.#reconcileBudget(budget);
    } catch (error) {
      if (isConflict(error)) throw error;
      return this.#fail(budget, textOf(error));
    }
  }

  async #reconcileBudget(budget: PodDisruptionBudget): Promise<ReconcileResult> {
    const counts = await this.#count(budget);
    await this.#writeStatus(budget, countedStatus(budget, counts, this.#now()));
    const recheckMs = recheckInMs(counts, this.#deps.clock.nowMs());
    return recheckMs === undefined ? undefined : { requeueAfterMs: recheckMs };
  }

  async #count(budget: PodDisruptionBudget): Promise<BudgetStatus> {
    const pods = this.#pods.list(budget.metadata?.namespace).filter((pod) => covers(budget, pod));
    if (pods.length === 0)
      this.#deps.recorder.event(budget, "Normal", "NoPods", "No matching pods found");
    const expected = needsExpected(budget) ? await this.#expected.of(pods) : nothingExpected;
    if (expected.unmanaged.length > 0)
      this.#deps.recorder.event(budget, "Warning", "UnmanagedPods", unmanagedText);
    return budgetStatus(budget, pods, expected.count, this.#deps.clock.nowMs());
  }

  /** Retried after the next change of a pod or its controller. */
  async #fail(budget: PodDisruptionBudget, why: string): Promise<ReconcileResult> {
    const text = `Failed to calculate the number of expected pods: ${why}`;
    this.#deps.recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", text);
    await this.#writeStatus(budget, failedStatus(budget, why, this.#now()));
    return { requeueAfterMs: retryMs };
  }

  async #writeStatus(
    budget: PodDisruptionBudget,
    status: PodDisruptionBudgetStatus,
  ): Promise<void> {
    if (jsonEqual(status, budget.status)) return;
    const namespace = budget.metadata?.namespace ?? "";
    const next: PodDisruptionBudget = { ...budget, status };
    const options = { subresource: "status" };
    try {
      await this.#deps.client.update(refs.poddisruptionbudgets, namespace, next, options);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #now(): string {
    return formatTime(this.#deps.clock.nowMs());
  }
}

const nothingExpected: Expected = { count: 0, unmanaged: [] };

const unmanagedText =
  'Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.';

function covers(budget: PodDisruptionBudget, pod: Pod): boolean {
  return labelsMatch(selectorOf(budget), pod.metadata?.labels ?? {});
}
