/**
 * Horizontal pod autoscaling without metrics: every 15 s the target is scaled into [minReplicas,
 * maxReplicas], and the status reports the replicas and why nothing else is done.
 *
 * Absent on purpose: the metrics APIs. ScalingActive is False and says so; nothing is guessed.
 */
import type { HorizontalPodAutoscaler } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { formatTime } from "#api/time.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { EventRecorder } from "#client/events.ts";
import type { Informer } from "#client/informer.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import type { WorkQueueMetrics } from "#client/workqueue.ts";
import type { Clock } from "#platform/clock.ts";
import { textOf } from "../framework/api-errors.ts";
import {
  queueController,
  type Controller,
  type ControllerDeps,
  type QueueController,
} from "../framework/controller.ts";
import { jsonEqual } from "#api/json-value.ts";
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

const workers = 5;
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

export class HorizontalPodAutoscalerController implements Controller {
  readonly name = "horizontal-pod-autoscaler-controller";
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #recorder: EventRecorder;
  readonly #autoscalers: Informer<HorizontalPodAutoscaler>;
  readonly #loop: QueueController;

  constructor(deps: ControllerDeps) {
    const { name } = this;
    const { informers } = deps;
    this.#client = deps.client;
    this.#clock = deps.clock;
    this.#recorder = deps.recorder;
    this.#autoscalers = informers.informer<HorizontalPodAutoscaler>(refs.horizontalpodautoscalers);
    this.#loop = queueController(deps, { name, workers }, (key) => this.#reconcile(key));
    this.#addHandler();
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  metrics(): WorkQueueMetrics {
    return this.#loop.metrics();
  }

  #addHandler(): void {
    const { queue } = this.#loop;
    this.#autoscalers.addHandler({
      add: (autoscaler) => queue.add(keyOf(autoscaler)),
      update(old, autoscaler) {
        if (!jsonEqual(old.spec, autoscaler.spec)) queue.add(keyOf(autoscaler));
      },
    });
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const autoscaler = this.#autoscalers.getByKey(key);
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
    this.#recorder.event(autoscaler, "Warning", "FailedGetScale", why);
    return outcomeWithoutScale(autoscaler, why);
  }

  /** Throws when the kind is not served, or the object has no scale. */
  async #findTarget({ spec, metadata }: HorizontalPodAutoscaler): Promise<Target> {
    const { apiVersion = "", kind, name } = spec?.scaleTargetRef ?? noTarget;
    const ref = await findScaledResource(this.#client, apiVersion, kind);
    if (ref === undefined) throw new Error(`no matches for kind "${kind}" in "${apiVersion}"`);
    const options = { subresource: "scale" };
    const scale = await this.#client.get<Scale>(ref, metadata?.namespace ?? "", name, options);
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
      await this.#client.update(ref, namespace, next, { subresource: "scale" });
    } catch (error) {
      const why = textOf(error);
      this.#recorder.event(autoscaler, "Warning", "FailedRescale", `${text}; error: ${why}`);
      return why;
    }
    this.#recorder.event(autoscaler, "Normal", "SuccessfulRescale", text);
    return undefined;
  }

  async #writeStatus(autoscaler: HorizontalPodAutoscaler, outcome: Outcome): Promise<void> {
    const status = statusAfter(autoscaler, outcome, formatTime(this.#clock.nowMs()));
    if (jsonEqual(status, autoscaler.status)) return;
    const namespace = autoscaler.metadata?.namespace ?? "";
    const next: HorizontalPodAutoscaler = { ...autoscaler, status };
    const options = { subresource: "status" };
    await this.#client.update(refs.horizontalpodautoscalers, namespace, next, options);
  }
}
