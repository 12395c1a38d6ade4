/**
 * Evaluates one metric of an autoscaler, pure: the replicas that it requires, and its entry in the status. Texts are
 * upstream's.
 *
 * Holds  a metric that cannot be used gives an outcome with a reason; no exception leaves this file.
 */
import type { MetricSpec, MetricStatus, MetricTarget, MetricValueStatus } from "#api/gen/types.ts";
import { milliOf, quantityText } from "./amounts.ts";
import { externalMetricText } from "./metric-text.ts";
import { MetricError, type PodMetrics, type Reading } from "./readings.ts";
import {
  averageReplicas,
  type Proposal,
  type Scaled,
  sharedReplicas,
  utilizationReplicas,
  valueReplicas,
} from "./replicas.ts";

type MetricOutcome =
  | {
      readonly kind: "proposed";
      readonly replicas: number;
      /** The metric's name in events: `cpu resource utilization (percentage of request)`. */
      readonly name: string;
      readonly status: MetricStatus;
    }
  | {
      readonly kind: "failed";
      /** Reason of the event and the condition. */
      readonly reason: string;
      /** The error for a single metric, and with the metric's name as prefix. */
      readonly error: string;
      readonly fullError: string;
    };

type Proposed = Omit<Extract<MetricOutcome, { kind: "proposed" }>, "kind">;

interface Source {
  readonly reason: string;
  /** Prefix of the error where the errors of several metrics are listed. */
  readonly prefix: string;
  plan(scaled: Scaled, reading: Reading): Proposed;
}

export function planMetric(spec: MetricSpec, scaled: Scaled, reading: Reading): MetricOutcome {
  const source = sourceOf(spec);
  if (source === undefined) {
    const error = `unknown metric source type ${JSON.stringify(spec.type)}`;
    return { kind: "failed", reason: "InvalidMetricSourceType", error, fullError: error };
  }
  try {
    return { kind: "proposed", ...source.plan(scaled, reading) };
  } catch (error) {
    if (!(error instanceof MetricError)) throw error;
    const { reason, prefix } = source;
    const { message } = error;
    return { kind: "failed", reason, error: message, fullError: `${prefix}: ${message}` };
  }
}

function sourceOf({ type, ...spec }: MetricSpec): Source | undefined {
  switch (type) {
    case "Resource":
      return spec.resource && resourceSource({ ...spec.resource, type });
    case "ContainerResource":
      return spec.containerResource && resourceSource({ ...spec.containerResource, type });
    case "Pods":
      return spec.pods && podsSource(spec.pods);
    case "Object":
      return spec.object && objectSource(spec.object);
    case "External":
      return spec.external && externalSource(spec.external);
    default:
      return undefined;
  }
}

type ResourceType = "Resource" | "ContainerResource";

interface ResourceSpec {
  readonly type: ResourceType;
  readonly name: string;
  readonly container?: string;
  readonly target: MetricTarget;
}

function resourceSource(spec: ResourceSpec): Source {
  const { type, name, container, target } = spec;
  const isOfContainer = type === "ContainerResource";
  const what = isOfContainer ? `${container} container` : `${name} resource`;
  return {
    reason: isOfContainer ? "FailedGetContainerResourceMetric" : "FailedGetResourceMetric",
    prefix: `failed to get ${what} metric value`,
    plan(scaled, reading) {
      const { proposal, text } =
        target.averageValue === undefined
          ? planUtilization(spec, scaled, reading)
          : planUsage(spec, scaled, reading);
      const current = {
        ...(proposal.percent === undefined ? {} : { averageUtilization: proposal.percent }),
        averageValue: quantityText(proposal.milli, name),
      };
      const status: MetricStatus = isOfContainer
        ? { type, containerResource: { name, container: container ?? "", current } }
        : { type, resource: { name, current } };
      return { replicas: proposal.replicas, name: text, status };
    },
  };
}

interface Planned {
  readonly proposal: Proposal;
  readonly text: string;
}

function planUsage({ name, target }: ResourceSpec, scaled: Scaled, reading: Reading): Planned {
  const wanted = milliOf(target.averageValue) ?? 0n;
  const proposal = named(`failed to get ${name} usage`, () =>
    averageReplicas(scaled, podMetrics(reading, `unable to get metrics for resource ${name}`), {
      resource: name,
      target: wanted,
    }),
  );
  return { proposal, text: `${name} resource` };
}

function planUtilization(
  { type, name, container = "", target }: ResourceSpec,
  scaled: Scaled,
  reading: Reading,
): Planned {
  const percent = target.averageUtilization;
  if (percent === undefined) {
    throw new MetricError(
      "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set",
    );
  }
  const proposal = named(`failed to get ${name} utilization`, () =>
    utilizationReplicas(scaled, podMetrics(reading, `unable to get metrics for resource ${name}`), {
      resource: name,
      container,
      percent,
    }),
  );
  const what = type === "Resource" ? "resource" : "container resource";
  return { proposal, text: `${name} ${what} utilization (percentage of request)` };
}

/** Adds `prefix` to errors of `f`. */
function named<T>(prefix: string, f: () => T): T {
  try {
    return f();
  } catch (error) {
    if (error instanceof MetricError) throw new MetricError(`${prefix}: ${error.message}`);
    throw error;
  }
}

function podsSource({ metric, target }: NonNullable<MetricSpec["pods"]>): Source {
  return {
    reason: "FailedGetPodsMetric",
    prefix: "failed to get pods metric value",
    plan(scaled, reading) {
      const metrics = podMetrics(reading, `unable to get metric ${metric.name}`);
      const wanted = milliOf(target.averageValue) ?? 0n;
      const { replicas, milli } = averageReplicas(scaled, metrics, {
        resource: "",
        target: wanted,
      });
      const current = { averageValue: quantityText(milli) };
      const status: MetricStatus = { type: "Pods", pods: { metric, current } };
      return { replicas, name: `pods metric ${metric.name}`, status };
    },
  };
}

function objectSource(spec: NonNullable<MetricSpec["object"]>): Source {
  const { metric, target, describedObject } = spec;
  const statusOf = (current: MetricValueStatus): MetricStatus => ({
    type: "Object",
    object: { metric, describedObject, current },
  });
  return {
    reason: "FailedGetObjectMetric",
    prefix: "failed to get object metric value",
    plan(scaled, reading) {
      const failure = `unable to get metric ${metric.name}`;
      const value = milliOf(target.value);
      if (target.type === "Value" && value !== undefined) {
        const proposal = valueReplicas(scaled, values(reading, failure), value);
        const status = statusOf({ value: quantityText(proposal.milli) });
        const name = `${describedObject.kind} metric ${metric.name}`;
        return { replicas: proposal.replicas, name, status };
      }
      const average = milliOf(target.averageValue);
      if (target.type === "AverageValue" && average !== undefined) {
        const proposal = named(`failed to get ${metric.name} object metric`, () =>
          sharedReplicas(scaled, values(reading, failure), average),
        );
        const status = statusOf({ averageValue: quantityText(proposal.milli) });
        return { replicas: proposal.replicas, name: externalMetricText(metric), status };
      }
      throw new MetricError(
        "invalid object metric source: neither a value target nor an average value target was set",
      );
    },
  };
}

function externalSource({ metric, target }: NonNullable<MetricSpec["external"]>): Source {
  const statusOf = (current: MetricValueStatus): MetricStatus => ({
    type: "External",
    external: { metric, current },
  });
  const name = externalMetricText(metric);
  return {
    reason: "FailedGetExternalMetric",
    prefix: `failed to get ${metric.name} external metric value`,
    plan(scaled, reading) {
      const average = milliOf(target.averageValue);
      if (average !== undefined) {
        const { replicas, milli } = named(`failed to get ${metric.name} external metric`, () =>
          sharedReplicas(scaled, values(reading), average),
        );
        return { replicas, name, status: statusOf({ averageValue: quantityText(milli) }) };
      }
      const value = milliOf(target.value);
      if (value !== undefined) {
        const { replicas, milli } = named(`failed to get external metric ${metric.name}`, () =>
          valueReplicas(scaled, values(reading), value),
        );
        return { replicas, name, status: statusOf({ value: quantityText(milli) }) };
      }
      throw new MetricError(
        "invalid external metric source: neither a value target nor an average value target was set",
      );
    },
  };
}

function podMetrics(reading: Reading, failure: string): PodMetrics {
  if (reading.kind === "pods") return reading.metrics;
  throw new MetricError(`${failure}: ${reading.kind === "failed" ? reading.error : "no pods"}`);
}

/** For an external metric the reading's error is complete. */
function values(reading: Reading, failure?: string): readonly bigint[] {
  if (reading.kind === "values") return reading.millis;
  const error = reading.kind === "failed" ? reading.error : "no values";
  throw new MetricError(failure === undefined ? error : `${failure}: ${error}`);
}
