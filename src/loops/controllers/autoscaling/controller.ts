/**
 * Horizontal pod autoscaling without metrics: every 15 s the target is scaled into [minReplicas,
 * maxReplicas], and the status reports the replicas and why nothing else is done.
 *
 * Absent on purpose: the metrics APIs. ScalingActive is False and says so; nothing is guessed.
 */
import type { HorizontalPodAutoscaler } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { KubeObject } from "#api/object.ts";
import { formatTime } from "#api/values/time.ts";
import type { ResourceRef } from "#client/client.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { textOf } from "../framework/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import { findScaledResource } from "../scaling/scale.ts";
import { planScale, type Rescale } from "./plan.ts";
import {
  failedUpdate,
  gotScale,
  outcomeWithoutScale,
  statusAfter,
  updatedScale,
  type Outcome,
} from "./status.ts";

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

/** Upstream's --horizontal-pod-autoscaler-sync-period. */
const everyMs = 15_000;

const noTarget = { apiVersion: "", kind: "", name: "" };

interface Scale extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}

/** The object to scale, with its scale as the server has it. */
interface Target {
  readonly ref: ResourceRef;
  readonly scale: Scale;
}

export class HorizontalPodAutoscalerController implements ControllerOptions<HorizontalPodAutoscaler> {
  readonly name = "horizontal-pod-autoscaler-controller";
  readonly workers = 5;
  readonly ref = refs.horizontalpodautoscalers;
  readonly when = { on: ["add", "update"], changed: hasOtherSpec } as const;
  readonly #deps: ControllerDeps;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
  }

  async reconcile({
    object: autoscaler,
  }: ReconcileRequest<HorizontalPodAutoscaler>): Promise<ReconcileResult> {
    if (autoscaler === undefined || autoscaler.metadata?.deletionTimestamp !== undefined)
      return undefined;
    await this.#writeStatus(autoscaler, await this.#scaleTarget(autoscaler));
    return { requeueAfterMs: everyMs };
  }

  async #scaleTarget(autoscaler: HorizontalPodAutoscaler): Promise<Outcome> {
    const target = await this.#findTarget(autoscaler).catch((error: unknown) => textOf(error));
    if (typeof target === "string") return this.#reportUnreachable(autoscaler, target);
    const current = target.scale.spec?.replicas ?? 0;
    const { rescale, scalingActive } = planScale(autoscaler, current);
    const seen = { current, desired: current, rescaled: false, scalingActive };
    if (rescale === undefined) return { ...seen, ableToScale: gotScale };
    const failure = await this.#rescale(autoscaler, target, rescale);
    if (failure !== undefined) return { ...seen, ableToScale: failedUpdate(failure) };
    const { replicas: desired } = rescale;
    return { ...seen, desired, rescaled: true, ableToScale: updatedScale(desired) };
  }

  #reportUnreachable(autoscaler: HorizontalPodAutoscaler, why: string): Outcome {
    this.#deps.recorder.event(autoscaler, "Warning", "FailedGetScale", why);
    return outcomeWithoutScale(autoscaler, why);
  }

  /** Throws when the kind is not served, or the object has no scale. */
  async #findTarget({ spec, metadata }: HorizontalPodAutoscaler): Promise<Target> {
    const { apiVersion = "", kind, name } = spec?.scaleTargetRef ?? noTarget;
    const ref = await findScaledResource(this.#deps.client, apiVersion, kind);
    if (ref === undefined) throw new Error(`no matches for kind "${kind}" in "${apiVersion}"`);
    const options = { subresource: "scale" };
    const scale = await this.#deps.client.get<Scale>(ref, metadata?.namespace ?? "", name, options);
    return { ref, scale };
  }

  /** @returns why the scale could not be written; undefined: it was. */
  async #rescale(
    autoscaler: HorizontalPodAutoscaler,
    { ref, scale }: Target,
    { replicas, reason }: Rescale,
  ): Promise<string | undefined> {
    const text = `New size: ${replicas}; reason: ${reason}`;
    const next = { ...scale, spec: { ...scale.spec, replicas } };
    const namespace = autoscaler.metadata?.namespace ?? "";
    try {
      await this.#deps.client.update(ref, namespace, next, { subresource: "scale" });
    } catch (error) {
      const why = textOf(error);
      this.#deps.recorder.event(autoscaler, "Warning", "FailedRescale", `${text}; error: ${why}`);
      return why;
    }
    this.#deps.recorder.event(autoscaler, "Normal", "SuccessfulRescale", text);
    return undefined;
  }

  async #writeStatus(autoscaler: HorizontalPodAutoscaler, outcome: Outcome): Promise<void> {
    const status = statusAfter(autoscaler, outcome, formatTime(this.#deps.clock.nowMs()));
    if (jsonEqual(status, autoscaler.status)) return;
    const namespace = autoscaler.metadata?.namespace ?? "";
    const next: HorizontalPodAutoscaler = { ...autoscaler, status };
    const options = { subresource: "status" };
    await this.#deps.client.update(refs.horizontalpodautoscalers, namespace, next, options);
  }
}

function hasOtherSpec(old: HorizontalPodAutoscaler, autoscaler: HorizontalPodAutoscaler): boolean {
  return !jsonEqual(old.spec, autoscaler.spec);
}
