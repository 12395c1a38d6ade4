/**
 * The scale subresource: an autoscaling/v1 Scale read from an object, and written back to it.
 * Built-in kinds are found by resource; custom resources use the paths of their CRD.
 */
import type { Scale } from "../gen/types.ts";
import { getField, isJsonObject } from "../json/json-value.ts";
import {
  SelectorError,
  printLabelSelector,
  selectorFromLabelSelector,
  selectorFromMap,
} from "../selectors/label-selector.ts";
import type { LabelSelectorSpec } from "../selectors/label-selector.ts";
import type { AnyObject, ObjectMeta } from "../object.ts";
import { invalid } from "../status.ts";

/** Where a custom resource keeps its scale; dotted paths with a leading dot: `.spec.replicas`. */
interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

const scalable = new Set([
  "deployments.apps",
  "replicasets.apps",
  "statefulsets.apps",
  "replicationcontrollers.",
]);

/** Undefined when the built-in resource has no scale subresource. */
export function scaleFromObject(
  group: string,
  resource: string,
  object: AnyObject,
): Scale | undefined {
  if (!scalable.has(`${resource}.${group}`)) return undefined;
  const spec = object["spec"];
  const selector = isJsonObject(spec) ? spec["selector"] : undefined;
  return scaleOf(object, {
    replicas: numberAt(object, ["spec", "replicas"]) ?? 0,
    current: numberAt(object, ["status", "replicas"]) ?? 0,
    selector: resource === "replicationcontrollers" ? mapText(selector) : selectorText(selector),
  });
}

/** The Scale of a custom resource; absent replicas read as 0. */
export function scaleFromPaths(object: AnyObject, paths: ScalePaths): Scale {
  const { labelSelectorPath } = paths;
  const selector =
    labelSelectorPath === undefined ? undefined : at(object, split(labelSelectorPath));
  return scaleOf(object, {
    replicas: numberAt(object, split(paths.specReplicasPath)) ?? 0,
    current: numberAt(object, split(paths.statusReplicasPath)) ?? 0,
    selector: typeof selector === "string" ? selector : "",
  });
}

function scaleOf(
  object: AnyObject,
  from: { replicas: number; current: number; selector: string },
): Scale {
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: scaleMetadata(object.metadata ?? {}),
    spec: from.replicas === 0 ? {} : { replicas: from.replicas },
    status: {
      replicas: from.current,
      ...(from.selector === "" ? {} : { selector: from.selector }),
    },
  };
}

function scaleMetadata(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const fields = { name, namespace, uid, resourceVersion, creationTimestamp };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Returns `object` with the replicas of `scale`. A resourceVersion in `scale` is copied too, so that the
 * following update checks it. Throws ApiError 422 for a negative number.
 */
export function applyScale(
  group: string,
  resource: string,
  object: AnyObject,
  scale: Scale,
): AnyObject | undefined {
  if (!scalable.has(`${resource}.${group}`)) return undefined;
  return withReplicas(object, ["spec", "replicas"], scale);
}

export function applyScaleToPath(object: AnyObject, paths: ScalePaths, scale: Scale): AnyObject {
  return withReplicas(object, split(paths.specReplicasPath), scale);
}

function withReplicas(object: AnyObject, path: readonly string[], scale: Scale): AnyObject {
  const replicas = scale.spec?.replicas ?? 0;
  checkReplicas(scale, replicas);
  const written = set(object, path, replicas) as AnyObject; // an object with one member replaced
  const resourceVersion = scale.metadata?.resourceVersion ?? "";
  if (resourceVersion === "") return written;
  return { ...written, metadata: { ...written.metadata, resourceVersion } };
}

function checkReplicas(scale: Scale, replicas: number): void {
  if (replicas >= 0) return;
  throw invalid({ group: "autoscaling", kind: "Scale" }, scale.metadata?.name ?? "", [
    {
      reason: "FieldValueInvalid",
      field: "spec.replicas",
      message: `Invalid value: ${replicas}: must be greater than or equal to 0`,
    },
  ]);
}

function set(object: unknown, path: readonly string[], value: unknown): unknown {
  const [field, ...rest] = path;
  if (field === undefined) return value;
  const base = isJsonObject(object) ? object : {};
  return { ...base, [field]: set(getField(base, field), rest, value) };
}

function split(path: string): string[] {
  return path.split(".").filter((field) => field !== "");
}

function at(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, field) => (isJsonObject(value) ? getField(value, field) : undefined),
    object,
  );
}

function numberAt(object: AnyObject, path: readonly string[]): number | undefined {
  const value = at(object, path);
  return typeof value === "number" ? value : undefined;
}

/** A stored selector is valid; an invalid one reads as "". */
function selectorText(selector: unknown): string {
  if (!isJsonObject(selector)) return "";
  try {
    return printLabelSelector(selectorFromLabelSelector(selector as LabelSelectorSpec)); // checked when printed
  } catch (error) {
    if (error instanceof SelectorError) return "";
    throw error;
  }
}

function mapText(selector: unknown): string {
  if (!isJsonObject(selector)) return "";
  return printLabelSelector(selectorFromMap(selector as Record<string, string>)); // a validated map of strings
}
