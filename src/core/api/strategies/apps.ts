/** Table rows of apps, batch and autoscaling. */
import type { AnyObject } from "../object.ts";
import { part } from "../validation/fields.ts";
import { semanticEqual } from "../validation/equal.ts";
import { templateGenerationOf, withTemplateGeneration } from "../pods/template-generation.ts";
import type { StrategyRow } from "./build.ts";
import { jobs } from "./job.ts";

function countTemplate(next: AnyObject, old: AnyObject): AnyObject {
  const before = templateGenerationOf(old);
  const same = semanticEqual(part(next, "spec")["template"], part(old, "spec")["template"]);
  return withTemplateGeneration(next, same ? before : BigInt.asIntN(64, before + 1n));
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
    prepareForCreate: (daemonSet) =>
      templateGenerationOf(daemonSet) < 1n ? withTemplateGeneration(daemonSet, 1n) : daemonSet,
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
