/**
 * Horizontal pod autoscaling: every `syncMs` computes from an autoscaler's metrics how many replicas its target needs.
 *
 *   scale of the target ─► bounds, or metrics (metrics-reader.ts) ─► plan.ts ─► scale ─► status
 *
 * Holds  a target with unknown metrics is not written; the read state is never older than one round.
 */
import type { HorizontalPodAutoscaler, Pod } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { KubeObject } from "#api/object.ts";
import { formatTime } from "#api/values/time.ts";
import { ApiError } from "#api/status.ts";
import type { ResourceRef } from "#client/client.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { Informer } from "#client/informer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { ScaleHistory } from "./history.ts";
import { KindResources } from "./kind-resources.ts";
import { metricSpecs } from "./metric-specs.ts";
import { planMetrics, type MetricsPlan } from "./metrics-plan.ts";
import { MetricsReader } from "./metrics-reader.ts";
import { autoscalingDefaults, type AutoscalingOptions } from "./options.ts";
import { planScale, planStart, type Rescale, scaledToZero } from "./plan.ts";
import { ScalerSelectors } from "./scaler-selectors.ts";
import {
  type Conditions,
  failedScale,
  failedUpdate,
  gotScale,
  type Outcome,
  statusAfter,
  updatedScale,
} from "./status.ts";
import { selectPods, type Selected } from "./target-pods.ts";
import { tolerancesOf } from "./tolerance.ts";

export const horizontalPodAutoscalerRole: ControllerRole = {
  account: "horizontal-pod-autoscaler",
  rules: [
    "read | autoscaling | horizontalpodautoscalers",
    "update | autoscaling | horizontalpodautoscalers/status",
    "get,update | * | */scale",
    "list,watch | core | pods",
    "list,watch | metrics.k8s.io | pods",
    "read | custom.metrics.k8s.io | *",
    "read | external.metrics.k8s.io | *",
    "events",
  ],
};

const noTarget = { apiVersion: "", kind: "", name: "" };

/** Attempts to write the scale after conflicts, as upstream's retry.DefaultRetry. */
const writesMax = 5;

interface Scale extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number; readonly selector?: string };
}

/** The object to be scaled, with its scale as read from the server. */
interface Target {
  readonly ref: ResourceRef;
  readonly scale: Scale;
}

interface Look {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly key: string;
  readonly namespace: string;
  readonly target: Target;
  readonly current: number;
  readonly history: ScaleHistory;
  readonly signal: AbortSignal;
}

export class HorizontalPodAutoscalerController implements ControllerOptions<HorizontalPodAutoscaler> {
  readonly name = "horizontal-pod-autoscaler-controller";
  readonly workers = 5;
  readonly ref = refs.horizontalpodautoscalers;
  readonly when = { changed: hasOtherSpec } as const;
  readonly #deps: ControllerDeps;
  readonly #options: AutoscalingOptions;
  readonly #pods: Informer<Pod>;
  readonly #kinds: KindResources;
  readonly #reader: MetricsReader;
  readonly #selectors = new ScalerSelectors();
  /** By key of the autoscaler; removed with it. */
  readonly #histories = new Map<string, ScaleHistory>();

  constructor(deps: ControllerDeps, options: AutoscalingOptions = autoscalingDefaults) {
    this.#deps = deps;
    this.#options = options;
    this.#pods = deps.informers.informer<Pod>(refs.pods);
    this.#kinds = new KindResources(deps);
    this.#reader = new MetricsReader({ ...deps, kinds: this.#kinds }, options);
  }

  async reconcile({
    key,
    object: autoscaler,
    signal,
  }: ReconcileRequest<HorizontalPodAutoscaler>): Promise<ReconcileResult> {
    if (autoscaler === undefined) return this.#forget(key);
    if (autoscaler.metadata?.deletionTimestamp !== undefined) return undefined;
    await this.#writeStatus(autoscaler, await this.#look(key, autoscaler, signal));
    return { requeueAfterMs: this.#options.syncMs };
  }

  #forget(key: string): undefined {
    this.#histories.delete(key);
    this.#selectors.delete(key);
  }

  async #look(
    key: string,
    autoscaler: HorizontalPodAutoscaler,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const target = await this.#findTarget(autoscaler).catch((error: unknown) => textOf(error));
    if (typeof target === "string") {
      this.#warn(autoscaler, "FailedGetScale", target);
      return { conditions: { AbleToScale: failedScale(target) } };
    }
    const current = target.scale.spec?.replicas ?? 0;
    const history = this.#history(key);
    history.begin(current, this.#deps.clock.nowMs());
    const namespace = autoscaler.metadata?.namespace ?? "";
    return this.#decide({ autoscaler, key, namespace, target, current, history, signal });
  }

  #history(key: string): ScaleHistory {
    const known = this.#histories.get(key);
    if (known !== undefined) return known;
    const history = new ScaleHistory();
    this.#histories.set(key, history);
    return history;
  }

  #decide(look: Look): Promise<Outcome> {
    const start = planStart(look.autoscaler, look.current);
    switch (start.kind) {
      case "disabled": {
        const { scalingActive: ScalingActive } = start;
        return Promise.resolve(unchanged(look, { AbleToScale: gotScale, ScalingActive }));
      }
      case "bounds":
        return this.#rescale(look, start.rescale, {});
      case "metrics":
        return this.#followMetrics(look);
      default:
        return start satisfies never;
    }
  }

  async #followMetrics(look: Look): Promise<Outcome> {
    const { autoscaler, current } = look;
    const plan = await this.#planMetrics(look);
    for (const { reason, message } of plan.warnings) this.#warn(autoscaler, reason, message);
    const { scalingActive: ScalingActive, statuses, replicas } = plan;
    if (replicas === undefined) {
      this.#warn(autoscaler, "FailedComputeMetricsReplicas", plan.error ?? "");
      return unchanged(look, { AbleToScale: gotScale, ScalingActive }, statuses, "keep");
    }
    const nowMs = this.#deps.clock.nowMs();
    const proposed = { name: plan.name, replicas };
    const next = planScale(autoscaler, current, proposed, look.history, this.#options, nowMs);
    const { ableToScale: AbleToScale, scalingLimited: ScalingLimited, rescale } = next;
    const conditions = { AbleToScale, ScalingActive, ScalingLimited };
    if (rescale === undefined) return unchanged(look, conditions, statuses);
    return this.#rescale(look, rescale, conditions, statuses);
  }

  async #planMetrics(look: Look): Promise<MetricsPlan> {
    const { autoscaler, namespace, target, current, signal } = look;
    const selected = this.#select(look);
    if (selected.kind === "refused") {
      const { warning, scalingActive } = selected;
      const statuses = metricSpecs(autoscaler).map(() => ({ type: "" }));
      const error = warning.message;
      return { replicas: undefined, name: "", statuses, warnings: [warning], scalingActive, error };
    }
    const asked = { namespace, selector: selected.text, signal };
    const specs = metricSpecs(autoscaler);
    const readings = await Promise.all(specs.map((spec) => this.#reader.read(spec, asked)));
    const { tolerance, cpuInitializationMs, initialReadinessMs } = this.#options;
    const scaled = {
      replicas: current,
      statusReplicas: target.scale.status?.replicas ?? 0,
      pods: selected.pods,
      tolerances: tolerancesOf(autoscaler, tolerance),
      times: { nowMs: this.#deps.clock.nowMs(), cpuInitializationMs, initialReadinessMs },
    };
    return planMetrics(autoscaler, scaled, readings);
  }

  #select({ key, namespace, target }: Look): Selected {
    const text = target.scale.status?.selector ?? "";
    return selectPods(text, { key, namespace, pods: this.#pods, selectors: this.#selectors });
  }

  #warn(autoscaler: HorizontalPodAutoscaler, reason: string, message: string): void {
    this.#deps.recorder.event(autoscaler, "Warning", reason, message);
  }

  /** Throws when the kind is not served, or the object has no scale. */
  async #findTarget({ spec, metadata }: HorizontalPodAutoscaler): Promise<Target> {
    const { apiVersion = "", kind, name } = spec?.scaleTargetRef ?? noTarget;
    const ref = await this.#kinds.scaled(apiVersion, kind);
    return { ref, scale: await this.#getScale(ref, metadata?.namespace ?? "", name) };
  }

  #getScale(ref: ResourceRef, namespace: string, name: string): Promise<Scale> {
    return this.#deps.client.get<Scale>(ref, namespace, name, { subresource: "scale" });
  }

  async #rescale(
    look: Look,
    { replicas, reason }: Rescale,
    conditions: Conditions,
    metrics: MetricsPlan["statuses"] = [],
  ): Promise<Outcome> {
    const { autoscaler, current, history } = look;
    const text = `New size: ${replicas}; reason: ${reason}`;
    const failure = await this.#writeScale(look, replicas).then(() => undefined, textOf);
    if (failure !== undefined) {
      this.#warn(autoscaler, "FailedRescale", `${text}; error: ${failure}`);
      const said = { ...conditions, AbleToScale: failedUpdate(failure) };
      return unchanged(look, said, metrics, "keep");
    }
    this.#deps.recorder.event(autoscaler, "Normal", "SuccessfulRescale", text);
    if (autoscaler.spec?.behavior !== undefined)
      history.changed(current, replicas, this.#deps.clock.nowMs());
    const zero = scaledToZero(autoscaler, current, replicas);
    const said = {
      ...conditions,
      AbleToScale: updatedScale(replicas),
      ...(zero === undefined ? {} : { ScaledToZero: zero }),
    };
    return {
      conditions: said,
      replicas: { current, desired: replicas, rescaled: true, metrics },
    };
  }

  /** A conflict means another write of the target, which does not affect the number. */
  async #writeScale({ target: { ref, scale }, namespace }: Look, replicas: number): Promise<void> {
    let latest = scale;
    for (let writes = 1; ; writes++) {
      const next = { ...latest, spec: { ...latest.spec, replicas } };
      try {
        await this.#deps.client.update(ref, namespace, next, { subresource: "scale" });
        return;
      } catch (error) {
        const isConflict = error instanceof ApiError && error.code === 409;
        if (!isConflict || writes >= writesMax) throw error;
        latest = await this.#getScale(ref, namespace, scale.metadata?.name ?? "");
      }
    }
  }

  async #writeStatus(autoscaler: HorizontalPodAutoscaler, outcome: Outcome): Promise<void> {
    const status = statusAfter(autoscaler, outcome, formatTime(this.#deps.clock.nowMs()));
    if (jsonEqual(status, autoscaler.status)) return;
    const namespace = autoscaler.metadata?.namespace ?? "";
    const next: HorizontalPodAutoscaler = { ...autoscaler, status };
    const options = { subresource: "status" };
    try {
      await this.#deps.client.update(refs.horizontalpodautoscalers, namespace, next, options);
    } catch (error) {
      this.#warn(autoscaler, "FailedUpdateStatus", textOf(error));
      throw error;
    }
  }
}

/** `keep`: the desired number stays, because none could be computed. */
function unchanged(
  { current }: Look,
  conditions: Conditions,
  metrics: MetricsPlan["statuses"] = [],
  desired?: "keep",
): Outcome {
  const replicas = { current, rescaled: false, metrics };
  return {
    conditions,
    replicas: desired === "keep" ? replicas : { ...replicas, desired: current },
  };
}

function hasOtherSpec(old: HorizontalPodAutoscaler, autoscaler: HorizontalPodAutoscaler): boolean {
  return !jsonEqual(old.spec, autoscaler.spec);
}
