/**
 * Horizontal pod autoscaling without metrics: every 15 s the target is scaled into [minReplicas,
 * maxReplicas], and the status reports the replicas and why nothing else is done.
 *
 * Absent on purpose: the metrics APIs. ScalingActive is False and says so; nothing is guessed.
 */
import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus } from "#api/gen/types.ts";
import type { KubeObject } from "#api/object.ts";
import { formatTime } from "#api/time.ts";
import type { ResourceRef } from "#client/client.ts";
import { keyOf } from "#client/indexer.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { jsonEqual } from "../framework/equal.ts";
import { textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
import { findScaledResource } from "../scaling/scale.ts";
import { planScale, withSaid, type Said } from "./plan.ts";

const workers = 5;
/** Upstream's --horizontal-pod-autoscaler-sync-period. */
const everyMs = 15_000;

interface Scale extends KubeObject {
  readonly spec?: { readonly replicas?: number };
}

/** The observed scale and the result of acting on it. */
interface Outcome {
  readonly current: number | undefined;
  readonly desired: number | undefined;
  readonly rescaled: boolean;
  readonly ableToScale: Said;
  readonly scalingActive: Said | undefined;
}

// long: one closure holds the informer and the client that the small functions below share
export function horizontalPodAutoscalerController(deps: ControllerDeps): Controller {
  const { client, clock, informers, recorder } = deps;
  const autoscalers = informers.informer<HorizontalPodAutoscaler>(refs.horizontalpodautoscalers);
  const options = { name: "horizontal-pod-autoscaler-controller", workers };
  const controller = queueController(deps, options, reconcile);
  autoscalers.addHandler({
    add: (autoscaler) => controller.queue.add(keyOf(autoscaler)),
    update(old, autoscaler) {
      if (!jsonEqual(old.spec, autoscaler.spec)) controller.queue.add(keyOf(autoscaler));
    },
  });
  return controller;

  async function reconcile(key: string): Promise<ReconcileResult> {
    const autoscaler = autoscalers.getByKey(key);
    if (autoscaler === undefined || autoscaler.metadata?.deletionTimestamp !== undefined)
      return undefined;
    await writeStatus(autoscaler, await scaleTarget(autoscaler));
    return { requeueAfterMs: everyMs };
  }

  async function scaleTarget(autoscaler: HorizontalPodAutoscaler): Promise<Outcome> {
    const found = await targetOf(autoscaler).catch((error: unknown) => textOf(error));
    if (typeof found === "string") return unreachable(autoscaler, found);
    const current = found.scale.spec?.replicas ?? 0;
    const { rescale, scalingActive } = planScale(autoscaler, current);
    const seen = { current, desired: current, rescaled: false, scalingActive };
    if (rescale === undefined) return { ...seen, ableToScale: gotScale };
    const { replicas, reason } = rescale;
    try {
      const spec = { ...found.scale.spec, replicas };
      const namespace = autoscaler.metadata?.namespace ?? "";
      await client.update(found.ref, namespace, { ...found.scale, spec }, { subresource: "scale" });
    } catch (error) {
      const text = `New size: ${replicas}; reason: ${reason}; error: ${textOf(error)}`;
      recorder.event(autoscaler, "Warning", "FailedRescale", text);
      const message = `the HPA controller was unable to update the target scale: ${textOf(error)}`;
      return { ...seen, ableToScale: { status: "False", reason: "FailedUpdateScale", message } };
    }
    const text = `New size: ${replicas}; reason: ${reason}`;
    recorder.event(autoscaler, "Normal", "SuccessfulRescale", text);
    const message = `the HPA controller was able to update the target scale to ${replicas}`;
    const ableToScale: Said = { status: "True", reason: "SucceededRescale", message };
    return { ...seen, desired: replicas, rescaled: true, ableToScale };
  }

  function unreachable(autoscaler: HorizontalPodAutoscaler, why: string): Outcome {
    recorder.event(autoscaler, "Warning", "FailedGetScale", why);
    const message = `the HPA controller was unable to get the target's current scale: ${why}`;
    const ableToScale: Said = { status: "False", reason: "FailedGetScale", message };
    const { currentReplicas: current, desiredReplicas: desired } = autoscaler.status ?? {};
    return { current, desired, rescaled: false, ableToScale, scalingActive: undefined };
  }

  async function targetOf(
    autoscaler: HorizontalPodAutoscaler,
  ): Promise<{ readonly ref: ResourceRef; readonly scale: Scale }> {
    const target = autoscaler.spec?.scaleTargetRef;
    const apiVersion = target?.apiVersion ?? "";
    const kind = target?.kind ?? "";
    const ref = await findScaledResource(client, apiVersion, kind);
    if (ref === undefined) throw new Error(`no matches for kind "${kind}" in "${apiVersion}"`);
    const namespace = autoscaler.metadata?.namespace ?? "";
    return {
      ref,
      scale: await client.get<Scale>(ref, namespace, target?.name ?? "", { subresource: "scale" }),
    };
  }

  async function writeStatus(autoscaler: HorizontalPodAutoscaler, got: Outcome): Promise<void> {
    const now = formatTime(clock.nowMs());
    const old = autoscaler.status;
    const able = withSaid(old?.conditions, "AbleToScale", got.ableToScale, now);
    const conditions =
      got.scalingActive === undefined
        ? able
        : withSaid(able, "ScalingActive", got.scalingActive, now);
    const { generation } = autoscaler.metadata ?? {};
    const status: HorizontalPodAutoscalerStatus = {
      ...old,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...(got.current === undefined ? {} : { currentReplicas: got.current }),
      desiredReplicas: got.desired ?? 0,
      ...(got.rescaled ? { lastScaleTime: now } : {}),
      conditions,
    };
    if (jsonEqual(status, old)) return;
    const namespace = autoscaler.metadata?.namespace ?? "";
    const next: HorizontalPodAutoscaler = { ...autoscaler, status };
    const options = { subresource: "status" };
    await client.update(refs.horizontalpodautoscalers, namespace, next, options);
  }
}

const gotScale: Said = {
  status: "True",
  reason: "SucceededGetScale",
  message: "the HPA controller was able to get the target's current scale",
};
