/** Rows of apps, batch and autoscaling. */
import { parseInt64 } from "../go-integer.ts";
import type { AnyObject } from "../object.ts";
import { part } from "../validation/fields.ts";
import { semanticEqual } from "../validation/equal.ts";
import type { StrategyRow } from "./build.ts";
import { jobs } from "./job.ts";

/** Where apps/v1 shows the counter that older versions had as a field. */
const templateGeneration = "deprecated.daemonset.template.generation";

function withTemplateGeneration(daemonSet: AnyObject, value: string): AnyObject {
  const annotations = { ...daemonSet.metadata?.annotations, [templateGeneration]: value };
  return { ...daemonSet, metadata: { ...daemonSet.metadata, annotations } };
}

function countTemplate(next: AnyObject, old: AnyObject): AnyObject {
  const before = parseInt64(old.metadata?.annotations?.[templateGeneration] ?? "0") ?? 0n;
  const same = semanticEqual(part(next, "spec")["template"], part(old, "spec")["template"]);
  return withTemplateGeneration(next, String(same ? before : BigInt.asIntN(64, before + 1n)));
}

const spec = ["spec"] as const;

export const appsRows: Readonly<Record<string, StrategyRow>> = {
  deployments: {
    status: {},
    statusMetadata: "labels",
    generation: ["spec", "annotations"],
    scale: true,
  },
  replicasets: { status: { replicas: 0 }, generation: spec, scale: true },
  statefulsets: {
    status: { replicas: 0, availableReplicas: 0 },
    generation: spec,
    scale: true,
  },
  daemonsets: {
    status: {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    },
    generation: spec,
    prepareForCreate: (daemonSet) => withTemplateGeneration(daemonSet, "1"),
    prepareForUpdate: countTemplate,
  },
  controllerrevisions: {},
};

export const batchRows: Readonly<Record<string, StrategyRow>> = {
  jobs,
  cronjobs: { status: {}, generation: spec },
};

export const autoscalingRows: Readonly<Record<string, StrategyRow>> = {
  horizontalpodautoscalers: { status: { desiredReplicas: 0 } },
};
