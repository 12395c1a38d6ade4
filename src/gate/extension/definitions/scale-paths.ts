/**
 * The scale of a custom resource: numbers and a selector at the paths its definition names.
 * After  registry/customresource/etcd.go; the rules are those of its validator.go.
 */
import {
  getField,
  isJsonObject,
  type MutableJson,
  type MutableObject,
  setField,
} from "#api/json/json-value.ts";
import { type AnyObject, type ObjectMeta, parseApiVersion } from "#api/object.ts";
import { badRequest, type FieldError, internalError } from "#api/status.ts";
import { invalidValue } from "#api/validation/errors.ts";
import type { ScaleAccess } from "#apiserver/kind.ts";
import type { DefinedVersion } from "./definition.ts";

type ScalePaths = NonNullable<NonNullable<DefinedVersion["subresources"]>["scale"]>;

/** Marks a number of replicas that was not set before: the smallest int32. */
const unsetReplicas = -2_147_483_648;
const replicasMax = 2_147_483_647;

/** `pathsOf`: returns the paths of another version, by its name. */
export function scaleAccess(
  group: string,
  paths: ScalePaths,
  pathsOf: (version: string) => ScalePaths | undefined,
): ScaleAccess {
  const { specReplicasPath: path } = paths;
  return {
    path: split(path),
    pathOf(apiVersion) {
      const gv = parseApiVersion(apiVersion);
      const other = gv?.group === group ? pathsOf(gv.version) : undefined;
      return other === undefined ? undefined : split(other.specReplicasPath);
    },
    read(object) {
      const replicas = numberAt(object, path);
      if (replicas === undefined) {
        throw internalError(`the spec replicas field ${JSON.stringify(path)} does not exist`);
      }
      return scaleOf(object, paths, replicas);
    },
    readForUpdate: (object) => scaleOf(object, paths, numberAt(object, path) ?? unsetReplicas),
    write(object, scale) {
      const { replicas = 0 } = (scale["spec"] ?? {}) as { readonly replicas?: number };
      if (replicas === unsetReplicas) {
        throw badRequest(`the spec replicas field ${JSON.stringify(path)} cannot be empty`);
      }
      return withResourceVersion(withNumber(object, split(path), replicas), scale);
    },
  };
}

function scaleOf(object: AnyObject, paths: ScalePaths, replicas: number): AnyObject {
  const { labelSelectorPath } = paths;
  const selector = labelSelectorPath === undefined ? "" : valueAt(object, labelSelectorPath);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: scaleMetadata(object.metadata ?? {}),
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: numberAt(object, paths.statusReplicasPath) ?? 0,
      ...(typeof selector === "string" && selector !== "" ? { selector } : {}),
    },
  };
}

function scaleMetadata(metadata: ObjectMeta): ObjectMeta {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const fields = { name, namespace, uid, resourceVersion, creationTimestamp };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function split(path: string): readonly string[] {
  return path.replace(/^\./, "").split(".");
}

function valueAt(object: AnyObject, path: string): unknown {
  return split(path).reduce<unknown>(
    (value, field) => (isJsonObject(value) ? getField(value, field) : undefined),
    object,
  );
}

function numberAt(object: AnyObject, path: string): number | undefined {
  const value = valueAt(object, path);
  return typeof value === "number" ? value : undefined;
}

function withNumber(object: AnyObject, path: readonly string[], value: number): AnyObject {
  return withValue(object as unknown as MutableJson, path, value) as unknown as AnyObject; // plain JSON
}

function withValue(
  object: MutableJson | undefined,
  path: readonly string[],
  value: number,
): MutableJson {
  const [field, ...rest] = path;
  if (field === undefined) return value;
  const base: MutableObject = isJsonObject(object) ? { ...object } : {};
  setField(base, field, withValue(getField(base, field), rest, value));
  return base;
}

/** A resourceVersion in the Scale is a precondition of the object's update. */
function withResourceVersion(object: AnyObject, scale: AnyObject): AnyObject {
  const { resourceVersion = "" } = scale.metadata ?? {};
  if (resourceVersion === "") return object;
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

/** Validates the replicas. `part`: a write of the status does not check the replicas of the specification. */
export function validateScale(
  object: AnyObject,
  paths: ScalePaths | undefined,
  part: "object" | "status",
): readonly FieldError[] {
  if (paths === undefined) return [];
  const out: FieldError[] = [];
  if (part === "object") checkReplicas(out, object, paths.specReplicasPath);
  checkReplicas(out, object, paths.statusReplicasPath);
  const { labelSelectorPath } = paths;
  if (labelSelectorPath === undefined) return out;
  const selector = valueAt(object, labelSelectorPath);
  if (selector !== undefined && typeof selector !== "string") {
    out.push(invalidValue(labelSelectorPath, "", wrongType(labelSelectorPath, selector, "string")));
  }
  return out;
}

function checkReplicas(out: FieldError[], object: AnyObject, path: string): void {
  const value = valueAt(object, path);
  if (value === undefined) return;
  if (typeof value !== "number" || !Number.isInteger(value)) {
    out.push(invalidValue(path, 0, wrongType(path, value, "int64")));
  } else if (value < 0) out.push(invalidValue(path, value, "should be a non-negative integer"));
  else if (value > replicasMax) {
    out.push(invalidValue(path, value, `should be less than or equal to ${replicasMax}`));
  }
}

function wrongType(path: string, value: unknown, expected: string): string {
  return `${path} accessor error: ${shown(value)} is of the type ${goType(value)}, expected ${expected}`;
}

function shown(value: unknown): string {
  if (value === null) return "<nil>";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function goType(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "object") return "map[string]interface {}";
  if (typeof value === "boolean") return "bool";
  return typeof value === "number" ? "float64" : "string";
}
