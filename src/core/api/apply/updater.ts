/**
 * The rules of ownership, on sets and objects, independent of requests.
 *
 * update   a manager that changes a field becomes its only owner; removed fields lose their owners.
 * apply    the applier owns the applied fields, shared with managers that own them at the same value. A
 *          field owned by another manager at another value is a conflict, unless forced. A field that this applier
 *          owned before and does not apply now is removed, unless another manager owns it too.
 *
 * Owners are compared in the version they wrote in; `types` converts. An owner whose version is no
 * longer served owns nothing. After  structured-merge-diff merge/update.go.
 */
import { getField, isJsonObject, jsonEqual } from "../json/json-value.ts";
import type { MutableObject } from "../json/json-value.ts";
import type { AnyObject } from "../object.ts";
import type { ObjectSchema } from "../schema/schema-types.ts";
import { compareValues } from "./compare.ts";
import type { Comparison } from "./compare.ts";
import type { Conflict } from "./conflicts.ts";
import {
  difference,
  emptySet,
  intersection,
  isEmpty,
  recursiveDifference,
  setsEqual,
  union,
  unionAll,
} from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { withSet, withoutEmpty } from "./managers.ts";
import type { ManagerSet, Managers } from "./managers.ts";
import { mergeValues, removePaths } from "./merge.ts";
import { ShapeSource } from "./shape.ts";
import type { StructShape } from "./shape.ts";
import { StepMeter } from "./steps.ts";
import type { Steps } from "./steps.ts";
import { reconcileSet, setOfContent, setOfValue, withNamedFields } from "./value-set.ts";

/** The versions of one kind. Create once per resource, because it caches what it computes from schemas. */
export interface ApplyTypes {
  /** Undefined: the version is not served. */
  shape(apiVersion: string): StructShape | undefined;
  convert(object: AnyObject, apiVersion: string): AnyObject;
}

interface TypeSource {
  /** Null: the version is served without a schema. Undefined: it is not served. */
  readonly schema: (apiVersion: string) => ObjectSchema | null | undefined;
  /** Finds the definitions that a schema refers to, and ObjectMeta for objects without a schema. */
  readonly lookup: (name: string) => ObjectSchema | undefined;
  readonly convert: (object: AnyObject, apiVersion: string) => AnyObject;
}

export function applyTypes(source: TypeSource): ApplyTypes {
  const shapes = new ShapeSource(source.lookup);
  const byVersion = new Map<string, StructShape | undefined>();
  return {
    shape: (apiVersion) => {
      if (byVersion.has(apiVersion)) return byVersion.get(apiVersion);
      const schema = source.schema(apiVersion);
      const shape = schema === undefined ? undefined : shapes.root(schema ?? undefined);
      if (shape !== undefined) byVersion.set(apiVersion, shape); // unserved ones are the client's to name
      return shape;
    },
    convert: source.convert,
  };
}

/** An object in one version, without managedFields. */
export interface Typed {
  readonly value: MutableObject;
  readonly shape: StructShape;
  readonly apiVersion: string;
}

function convertTyped(types: ApplyTypes, typed: Typed, apiVersion: string): Typed | undefined {
  if (apiVersion === typed.apiVersion) return typed;
  const shape = types.shape(apiVersion);
  if (shape === undefined) return undefined;
  const converted = types.convert(typed.value as unknown as AnyObject, apiVersion); // a whole object
  return { value: converted as unknown as MutableObject, shape, apiVersion }; // plain JSON
}

interface Change {
  readonly types: ApplyTypes;
  readonly before: Typed;
  readonly after: Typed;
  readonly managers: Managers;
  /** Id of the manager that makes the change; "" when it has no entry yet. */
  readonly self: string;
  /** Paths that this endpoint does not write and therefore gives no ownership of. */
  readonly ignored: FieldSet;
}

interface Changed {
  /** The other managers, without the fields that the change took from them. */
  readonly managers: Managers;
  readonly comparison: Comparison;
  readonly conflicts: readonly Conflict[];
}

/** Removes the changed fields from all managers except `self`. */
export function* changeOwners(change: Change): Steps<Changed> {
  const comparisons = new Map<string, VersionComparison | undefined>();
  const compareAt = (apiVersion: string): VersionComparison | undefined => {
    if (!comparisons.has(apiVersion))
      comparisons.set(apiVersion, compareVersions(change, apiVersion));
    return comparisons.get(apiVersion);
  };
  const managers = new Map<string, ManagerSet>();
  const conflicts: Conflict[] = [];
  const meter = new StepMeter();
  for (const [id, owner] of change.managers) {
    if (meter.isFull(owner.set)) yield;
    const comparison = id === change.self ? undefined : compareAt(owner.apiVersion);
    if (id === change.self) managers.set(id, owner);
    if (comparison === undefined) continue; // itself, or of a version that is not served
    const { changed, removed } = comparison;
    const fields = intersection(owner.set, changed);
    if (!isEmpty(fields)) conflicts.push({ owner, fields });
    managers.set(id, withSet(owner, difference(difference(owner.set, fields), removed)));
  }
  const comparison = compareAt(change.after.apiVersion);
  return {
    managers: withoutEmpty(managers),
    comparison: comparison ?? { added: emptySet, modified: emptySet, removed: emptySet },
    conflicts,
  };
}

interface VersionComparison extends Comparison {
  /** Modified or added fields, computed once for all managers with fields in this version. */
  readonly changed: FieldSet;
}

function compareVersions(change: Change, apiVersion: string): VersionComparison | undefined {
  const before = convertTyped(change.types, change.before, apiVersion);
  const after = convertTyped(change.types, change.after, apiVersion);
  if (before === undefined || after === undefined) return undefined;
  const all = compareValues(before.value, after.value, after.shape);
  const { ignored } = change;
  const added = recursiveDifference(all.added, ignored);
  const modified = recursiveDifference(all.modified, ignored);
  const removed = recursiveDifference(all.removed, ignored);
  return { added, modified, removed, changed: union(modified, added) };
}

/** Adapts the managers' sets to the current schemas. */
export function* reconcileManagers(types: ApplyTypes, managers: Managers): Steps<Managers> {
  const next = new Map<string, ManagerSet>();
  const meter = new StepMeter();
  for (const [id, owner] of managers) {
    const shape = types.shape(owner.apiVersion);
    const set = shape === undefined ? owner.set : reconcileSet(owner.set, shape);
    next.set(id, withSet(owner, set));
    if (meter.isFull(set)) yield;
  }
  return next;
}

export interface Application {
  readonly types: ApplyTypes;
  readonly live: Typed;
  readonly applied: Typed;
  readonly managers: Managers;
  readonly self: string;
  /** The applier's entry if it has none yet, without its set. */
  readonly entry: Omit<ManagerSet, "set">;
  readonly ignored: FieldSet;
  /** Paths without owner; paths below them may have owners. */
  readonly unowned: FieldSet;
}

export interface Applied {
  readonly object: MutableObject;
  readonly managers: Managers;
  readonly conflicts: readonly Conflict[];
  /** The object does not change, only ownership may. The applier's entry then keeps its time, if it has one. */
  readonly isNoOp: boolean;
}

/** Merges, prunes and finds conflicts; the caller decides about conflicts. */
export function* applyObject(application: Application): Steps<Applied> {
  const { types, live, applied, self, entry, ignored } = application;
  const last = application.managers.get(self);
  const all = recursiveDifference(setOfValue(applied.value, applied.shape), ignored);
  const set = difference(all, application.unowned);
  const same =
    last !== undefined && last.apiVersion === entry.apiVersion && setsEqual(last.set, set);
  const own: ManagerSet = same ? last : { ...entry, set, timeMs: last?.timeMs };
  const managers = new Map(application.managers).set(self, own);
  const merged = mergeValues(live.value, applied.value, live.shape);
  const whole: Typed = { ...live, value: isJsonObject(merged) ? merged : {} };
  // While pruning, the applier also owns the unowned fields, so that the object's metadata stays.
  const holders = new Map(managers).set(self, { ...entry, set: all });
  const isDropping = last !== undefined && !isEmpty(difference(last.set, all));
  const after = isDropping ? prune({ types, managers: holders, last }, whole) : whole;
  const changed = yield* changeOwners({ types, before: live, after, managers, self, ignored });
  return {
    object: after.value,
    managers: changed.managers,
    conflicts: changed.conflicts,
    isNoOp: jsonEqual(after.value, live.value) && !hasNewNull(applied.value, live.value),
  };
}

/** Upstream treats a null for an absent field as a change, although nothing is stored. */
function hasNewNull(applied: MutableObject, live: MutableObject): boolean {
  return Object.entries(applied).some(([name, value]) => {
    const before = getField(live, name);
    if (value === null) return before === undefined;
    return isJsonObject(value) && isJsonObject(before) && hasNewNull(value, before);
  });
}

interface Pruning {
  readonly types: ApplyTypes;
  /** The managers, with the applier's new set. */
  readonly managers: Managers;
  /** What the applier owned before. */
  readonly last: ManagerSet;
}

/** Removes the fields the applier owned, then restores those that any manager owns now. */
function prune(pruning: Pruning, merged: Typed): Typed {
  const { types, last } = pruning;
  const whole = convertTyped(types, merged, last.apiVersion);
  if (whole === undefined || isEmpty(last.set)) return merged;
  const lastNamed = withNamedFields(last.set, whole.shape);
  const bare = without(whole, lastNamed);
  const owned = addBackOwned(pruning, whole, bare);
  const pruned = addBackDangling(whole, owned, lastNamed);
  return convertTyped(types, pruned, merged.apiVersion) ?? merged;
}

function without(typed: Typed, paths: FieldSet): Typed {
  const value = removePaths(typed.value, paths, typed.shape);
  return { ...typed, value: isJsonObject(value) ? value : {} };
}

/** The set of all fields in the object, including struct fields on the way to them. */
function setOfFields(typed: Typed): FieldSet {
  return withNamedFields(setOfContent(typed.value, typed.shape), typed.shape);
}

/** Restores owned fields version by version, beginning with the version that was pruned first. */
function addBackOwned(pruning: Pruning, whole: Typed, bare: Typed): Typed {
  const owners = [...pruning.managers.values()];
  const versions = new Set([whole.apiVersion, ...owners.map((owner) => owner.apiVersion)]);
  let result = bare;
  for (const version of versions) {
    const full = convertTyped(pruning.types, whole, version);
    const rest = convertTyped(pruning.types, result, version);
    if (full === undefined || rest === undefined) continue;
    const held = unionAll(owners.filter((o) => o.apiVersion === version).map((o) => o.set));
    const keep = union(setOfFields(rest), withNamedFields(held, full.shape));
    const added = without(full, difference(setOfFields(full), keep));
    result = convertTyped(pruning.types, added, whole.apiVersion) ?? result;
  }
  return result;
}

/** Restores removed fields without owner, because only fields that the applier owned may be removed. */
function addBackDangling(whole: Typed, pruned: Typed, last: FieldSet): Typed {
  const gone = difference(setOfFields(whole), setOfFields(pruned));
  return without(whole, intersection(gone, last));
}
