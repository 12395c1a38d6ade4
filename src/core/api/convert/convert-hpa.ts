/**
 * Converts HorizontalPodAutoscaler between autoscaling/v1 and v2. Values without a field in v1 (metrics other
 * than CPU utilisation, current metrics, conditions, behavior) are carried in annotations, so that
 * reading either version and writing it back loses nothing. The annotations' JSON is upstream's.
 */
import { given } from "#base/given.ts";
import { getField, isJsonObject } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import type { AnyObject } from "../object.ts";

const metricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics";
const currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics";
const conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions";
const behaviorAnnotation = "autoscaling.alpha.kubernetes.io/behavior";
const annotationNames = [
  metricsAnnotation,
  currentMetricsAnnotation,
  conditionsAnnotation,
  behaviorAnnotation,
];

/** autoscaling/v1 -> autoscaling/v2. An annotation that is not JSON is ignored, as upstream does. */
export function hpaToV2(object: AnyObject): AnyObject {
  const { targetCPUUtilizationPercentage: target, ...spec } = section(object, "spec");
  const { currentCPUUtilizationPercentage: current, ...status } = section(object, "status");
  const annotations = object.metadata?.annotations ?? {};
  const metrics = listAnnotation(annotations, metricsAnnotation).map(metricFromV1);
  if (typeof target === "number") metrics.push(cpuMetric("target", target));
  const statuses = listAnnotation(annotations, currentMetricsAnnotation).map(statusFromV1);
  if (typeof current === "number" && !statuses.some(isCpuUtilization)) {
    statuses.push(cpuMetric("current", current));
  }
  const conditions = listAnnotation(annotations, conditionsAnnotation);
  const behavior = parseAnnotation(annotations, behaviorAnnotation);
  return {
    ...withAnnotations(object, {}),
    apiVersion: "autoscaling/v2",
    spec: {
      ...spec,
      ...(metrics.length > 0 ? { metrics } : {}),
      ...(isJsonObject(behavior) ? { behavior: renameKeysDeep(behavior, lowerFirst) } : {}),
    },
    status: {
      ...status,
      ...(statuses.length > 0 ? { currentMetrics: statuses } : {}),
      ...(conditions.length > 0 ? { conditions } : {}),
    },
  };
}

/** autoscaling/v2 -> autoscaling/v1. */
export function hpaToV1(object: AnyObject): AnyObject {
  const { metrics, behavior, ...spec } = section(object, "spec");
  const { currentMetrics, conditions, ...status } = section(object, "status");
  const metricList = objects(metrics);
  const statusList = objects(currentMetrics);
  const cpu = utilization(metricList.find(isCpuUtilization), "target");
  const current = utilization(statusList.find(isCpuUtilization), "current");
  const others = metricList.filter((metric) => !isCpuUtilization(metric)).map(metricToV1);
  const annotations: Record<string, string> = {};
  // own keys: constants.
  if (others.length > 0) annotations[metricsAnnotation] = JSON.stringify(others);
  if (statusList.length > 0) {
    // own keys: constants.
    annotations[currentMetricsAnnotation] = JSON.stringify(statusList.map(statusToV1));
  }
  if (objects(conditions).length > 0)
    // own keys: constants.
    annotations[conditionsAnnotation] = JSON.stringify(conditions);
  if (isJsonObject(behavior)) {
    // own keys: constants.
    annotations[behaviorAnnotation] = JSON.stringify(renameKeysDeep(behavior, upperFirst));
  }
  return {
    ...withAnnotations(object, annotations),
    apiVersion: "autoscaling/v1",
    spec: { ...spec, ...given({ targetCPUUtilizationPercentage: cpu }) },
    status: {
      currentReplicas: 0, // always written in v1
      desiredReplicas: 0,
      ...status,
      ...given({ currentCPUUtilizationPercentage: current }),
    },
  };
}

function section(object: AnyObject, field: string): MutableObject {
  const value = object[field];
  return isJsonObject(value) ? value : {};
}

function objects(value: unknown): MutableObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The object with its round-trip annotations replaced by `added`. */
function withAnnotations(object: AnyObject, added: Readonly<Record<string, string>>): AnyObject {
  const { annotations: old, ...metadata } = object.metadata ?? {};
  const kept = Object.entries(old ?? {}).filter(([name]) => !annotationNames.includes(name));
  const annotations = { ...Object.fromEntries(kept), ...added };
  const empty = Object.keys(annotations).length === 0;
  return { ...object, metadata: empty ? metadata : { ...metadata, annotations } };
}

function parseAnnotation(annotations: Readonly<Record<string, string>>, name: string): unknown {
  // own keys: constants.
  const text = annotations[name];
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // as upstream: what cannot be read is dropped
  }
}

function listAnnotation(
  annotations: Readonly<Record<string, string>>,
  name: string,
): MutableObject[] {
  return objects(parseAnnotation(annotations, name));
}

function cpuMetric(field: "target" | "current", percent: number): MutableObject {
  const value: MutableObject =
    field === "target"
      ? { type: "Utilization", averageUtilization: percent }
      : { averageUtilization: percent };
  return { type: "Resource", resource: { name: "cpu", [field]: value } };
}

/** Checks a spec's `target` or a status's `current`. */
function isCpuUtilization(metric: MutableObject): boolean {
  if (metric["type"] !== "Resource" || member(metric, "resource")["name"] !== "cpu") return false;
  return ["target", "current"].some((field) => utilization(metric, field) !== undefined);
}

function utilization(metric: MutableObject | undefined, field: string): number | undefined {
  const percent = member(member(metric ?? {}, "resource"), field)["averageUtilization"];
  return typeof percent === "number" ? percent : undefined;
}

function member(object: MutableObject, field: string): MutableObject {
  const value = getField(object, field);
  return isJsonObject(value) ? value : {};
}

/** The source object of a metric, under the field its type names: Pods -> `pods`. */
function sourceField(metric: MutableObject): string {
  const type = metric["type"];
  return typeof type === "string" ? lowerFirst(type) : "";
}

function metricFromV1(metric: MutableObject): MutableObject {
  const field = sourceField(metric);
  const source = member(metric, field);
  switch (field) {
    case "object":
      return withSource(metric, field, {
        describedObject: source["target"],
        metric: identifier(source["metricName"], source["selector"]),
        target: target({ value: source["targetValue"], averageValue: source["averageValue"] }),
      });
    case "pods":
      return withSource(metric, field, {
        metric: identifier(source["metricName"], source["selector"]),
        target: target({ averageValue: source["targetAverageValue"] }),
      });
    case "external":
      return withSource(metric, field, {
        metric: identifier(source["metricName"], source["metricSelector"]),
        target: target({
          value: source["targetValue"],
          averageValue: source["targetAverageValue"],
        }),
      });
    default:
      return withSource(metric, field, {
        name: source["name"],
        container: source["container"],
        target: target({
          averageUtilization: source["targetAverageUtilization"],
          averageValue: source["targetAverageValue"],
        }),
      });
  }
}

function metricToV1(metric: MutableObject): MutableObject {
  const field = sourceField(metric);
  const source = member(metric, field);
  const { name, selector } = member(source, "metric");
  const { value, averageValue, averageUtilization } = member(source, "target");
  switch (field) {
    case "object":
      return withSource(metric, field, {
        target: source["describedObject"],
        metricName: name,
        targetValue: value ?? "0",
        selector,
        averageValue,
      });
    case "pods":
      return withSource(metric, field, {
        metricName: name,
        targetAverageValue: averageValue,
        selector,
      });
    case "external":
      return withSource(metric, field, {
        metricName: name,
        metricSelector: selector,
        targetValue: value,
        targetAverageValue: averageValue,
      });
    default:
      return withSource(metric, field, {
        name: source["name"],
        targetAverageUtilization: averageUtilization,
        targetAverageValue: averageValue,
        container: source["container"],
      });
  }
}

function statusFromV1(metric: MutableObject): MutableObject {
  const field = sourceField(metric);
  const source = member(metric, field);
  const selector = source["selector"] ?? source["metricSelector"];
  const values = {
    averageUtilization: source["currentAverageUtilization"],
    averageValue: source["currentAverageValue"] ?? source["averageValue"],
    value: source["currentValue"],
  };
  const named = field === "object" || field === "pods" || field === "external";
  return withSource(metric, field, {
    describedObject: source["target"],
    metric: named ? identifier(source["metricName"], selector) : undefined,
    name: source["name"],
    container: source["container"],
    current: dropUndefined(values),
  });
}

function statusToV1(metric: MutableObject): MutableObject {
  const field = sourceField(metric);
  const source = member(metric, field);
  const { name, selector } = member(source, "metric");
  const { value, averageValue, averageUtilization } = member(source, "current");
  const object = field === "object";
  return withSource(metric, field, {
    target: source["describedObject"],
    metricName: name,
    [field === "external" ? "metricSelector" : "selector"]: selector,
    name: source["name"],
    container: source["container"],
    currentValue: value,
    currentAverageUtilization: averageUtilization,
    [object ? "averageValue" : "currentAverageValue"]: averageValue,
  });
}

type Fields = Readonly<Record<string, MutableJson | undefined>>;

function withSource(metric: MutableObject, field: string, source: Fields): MutableObject {
  return { ...dropUndefined({ type: metric["type"] }), [field]: dropUndefined(source) };
}

function identifier(
  name: MutableJson | undefined,
  selector: MutableJson | undefined,
): MutableObject {
  return dropUndefined({ name, selector });
}

/** The target's type, in upstream's order of precedence, because v1 does not store it. */
function target(values: Fields): MutableObject {
  const { averageUtilization, averageValue } = values;
  const type =
    averageUtilization !== undefined
      ? "Utilization"
      : averageValue !== undefined
        ? "AverageValue"
        : "Value";
  const { value, ...others } = values;
  return dropUndefined({ type, ...others, value: averageValue === undefined ? value : undefined });
}

function dropUndefined(fields: Fields): MutableObject {
  const entries = Object.entries(fields).filter(
    (entry): entry is [string, MutableJson] => entry[1] !== undefined && entry[1] !== null,
  );
  return Object.fromEntries(entries);
}

/** The behavior annotation is written with Go's field names. */
function renameKeysDeep(value: MutableJson, rename: (name: string) => string): MutableJson {
  if (Array.isArray(value)) return value.map((item) => renameKeysDeep(item, rename));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [rename(name), renameKeysDeep(inner, rename)]),
  );
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

function upperFirst(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
