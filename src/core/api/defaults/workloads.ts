/** Defaults of apps/v1, batch/v1, autoscaling and the core kinds with pod templates. */
import type { Fields } from "../validation/fields.ts";
import { has, hasEntries, isFields, part, text } from "../validation/fields.ts";
import { quantities } from "./quantities.ts";
import { claimSpec, podTemplate } from "./pod-spec.ts";
import type { Rule } from "./rules.ts";
import { always, chain, each, fill, fillZero, set, when, within } from "./rules.ts";

const revisionHistoryLimit = 10;
const progressDeadlineSeconds = 600;
/** 2^31 - 1: a job with a limit per index has no total limit. */
const backoffLimitMax = 2_147_483_647;

const isRolling = (strategy: Fields): boolean => text(strategy, "type") === "RollingUpdate";
const template: Rule = always("template", podTemplate);

const deploymentStrategy: Rule = chain(
  fillZero({ type: "RollingUpdate" }),
  when(isRolling, always("rollingUpdate", fill({ maxUnavailable: "25%", maxSurge: "25%" }))),
);

export const deployment: Rule = chain(
  always(
    "spec",
    template,
    fill({ replicas: 1 }),
    always("strategy", deploymentStrategy),
    fill({ revisionHistoryLimit, progressDeadlineSeconds }),
  ),
  always("status"),
);

export const replicaSet: Rule = chain(
  always("spec", template, fill({ replicas: 1 })),
  always("status", fill({ replicas: 0 })),
);

const daemonStrategy: Rule = chain(
  fillZero({ type: "RollingUpdate" }),
  when(isRolling, always("rollingUpdate", fill({ maxUnavailable: 1, maxSurge: 0 }))),
);

export const daemonSet: Rule = chain(
  always(
    "spec",
    template,
    always("updateStrategy", daemonStrategy),
    fill({ revisionHistoryLimit }),
  ),
  always(
    "status",
    fill({
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    }),
  ),
);

/** Only a strategy without a type gets `rollingUpdate`; an existing one gets its partition. */
function statefulStrategy(strategy: Fields): Fields {
  let next = strategy;
  if (text(next, "type") === "") {
    next = set(next, "type", "RollingUpdate");
    if (!has(next, "rollingUpdate")) next = set(next, "rollingUpdate", {});
  }
  return isRolling(next) ? within("rollingUpdate", fill({ partition: 0 }))(next) : next;
}

const claimTemplate: Rule = chain(
  fill({ apiVersion: "v1", kind: "PersistentVolumeClaim" }),
  always("metadata"),
  always("spec", claimSpec),
  always("status", fillZero({ phase: "Pending" })),
);

export const statefulSet: Rule = chain(
  always(
    "spec",
    template,
    each("volumeClaimTemplates", claimTemplate),
    fillZero({ podManagementPolicy: "OrderedReady" }),
    always("updateStrategy", statefulStrategy),
    always(
      "persistentVolumeClaimRetentionPolicy",
      fillZero({ whenDeleted: "Retain", whenScaled: "Retain" }),
    ),
    fill({ replicas: 1, revisionHistoryLimit }),
  ),
  always("status", fill({ replicas: 0, availableReplicas: 0 })),
);

/** Missing labels and selector default to the template's labels. */
function controllerLabels(controller: Fields): Fields {
  const spec = part(controller, "spec");
  const labels = part(part(spec, "template"), "metadata")["labels"];
  if (!isFields(labels)) return controller;
  const next = hasEntries(spec, "selector")
    ? controller
    : set(controller, "spec", set(spec, "selector", labels));
  return labelsFrom(next, labels);
}

function labelsFrom(object: Fields, labels: Fields): Fields {
  const metadata = part(object, "metadata");
  if (hasEntries(metadata, "labels")) return object;
  return set(object, "metadata", set(metadata, "labels", labels));
}

export const replicationController: Rule = chain(
  always("spec", within("template", podTemplate), fill({ replicas: 1 })),
  controllerLabels,
  always("status", fill({ replicas: 0 })),
);

export const podTemplateKind: Rule = template;

const failurePolicy: Rule = each("rules", each("onPodConditions", fillZero({ status: "True" })));

function jobCounts(spec: Fields): Fields {
  const both = !has(spec, "completions") && !has(spec, "parallelism");
  const counted = both ? fill({ completions: 1, parallelism: 1 })(spec) : spec;
  const backoffLimit = has(counted, "backoffLimitPerIndex") ? backoffLimitMax : 6;
  const podReplacementPolicy = has(counted, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed";
  return fill({ parallelism: 1, backoffLimit, podReplacementPolicy })(counted);
}

const jobSpec: Rule = chain(
  template,
  jobCounts,
  fill({ completionMode: "NonIndexed", suspend: false, manualSelector: false }),
  within("podFailurePolicy", failurePolicy),
);

function jobLabels(job: Fields): Fields {
  const labels = part(part(part(job, "spec"), "template"), "metadata")["labels"];
  return isFields(labels) ? labelsFrom(job, labels) : job;
}

export const job: Rule = chain(always("spec", jobSpec), jobLabels, always("status"));

/** The job template is defaulted when a job is created from it. */
export const cronJob: Rule = chain(
  always(
    "spec",
    always(
      "jobTemplate",
      always("metadata"),
      always("spec", template, within("podFailurePolicy", failurePolicy)),
    ),
    fillZero({ concurrencyPolicy: "Allow" }),
    fill({ suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 }),
  ),
  always("status"),
);

/** Upstream's defaults for the metrics of autoscaling/v2. */
const cpuUtilization = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
};
const scaleUp = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
};
const scaleDown = {
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

function metrics(spec: Fields): Fields {
  const given = spec["metrics"];
  if (Array.isArray(given) && given.length > 0) return spec;
  return set(spec, "metrics", [cpuUtilization]);
}

const target: Rule = within("target", quantities("value", "averageValue"));
const metric: Rule = chain(
  within("object", target),
  within("pods", target),
  within("resource", target),
  within("containerResource", target),
  within("external", target),
);

export const autoscalerV2: Rule = chain(
  always(
    "spec",
    fill({ minReplicas: 1 }),
    metrics,
    each("metrics", metric),
    within("behavior", always("scaleUp", fill(scaleUp)), always("scaleDown", fill(scaleDown))),
  ),
  always("status", fill({ desiredReplicas: 0 })),
);

/** v1 stores other metrics in an annotation; without any, the metric is CPU. */
function targetCpu(object: Fields): Fields {
  const metadata = object["metadata"] as { readonly annotations?: Fields } | undefined;
  const others = metadata?.annotations?.["autoscaling.alpha.kubernetes.io/metrics"];
  return others === undefined ? addCpu(object) : object;
}

const addCpu: Rule = always("spec", fill({ targetCPUUtilizationPercentage: 80 }));

export const autoscalerV1: Rule = chain(
  always("spec", fill({ minReplicas: 1 })),
  targetCpu,
  always("status", fill({ currentReplicas: 0, desiredReplicas: 0 })),
);
