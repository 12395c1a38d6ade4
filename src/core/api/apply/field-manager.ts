/**
 * Managed fields, as the API server's handlers use them. Two functions, both pure:
 *
 * trackUpdate   for POST, PUT and the other PATCHes: call it on the decoded, defaulted object
 *               before admission; it returns the object with updated managedFields.
 * applyPatch    for apply-patch+yaml: merges the applied configuration into the live object. Default
 *               the result afterwards (defaulted fields have no owner), then admit and validate.
 *               A result equal to `live` need not be written; `changed` says so.
 *
 * Both also exist in steps (trackingUpdate, applyingPatch), because objects with many managers take long.
 *
 * In both, `live` is the stored object in the request's version, undefined when there is none. For a
 * subresource, `resetFields` are the fields that its strategy copies from the old object, as for the main
 * resource (`status`, for example): writing them there gives no ownership.
 * After  apimachinery pkg/util/managedfields; limits and texts are its own.
 */
import { jsonEqual } from "../json/json-value.ts";
import type { MutableObject } from "../json/json-value.ts";
import type { AnyObject, ManagedFieldsEntry } from "../object.ts";
import { parseApiVersion } from "../object.ts";
import { badRequest, failure } from "../status.ts";
import { checkValue } from "./check.ts";
import { conflictError } from "./conflicts.ts";
import { difference, isEmpty, setOfPath, union, unionAll } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { fieldElement } from "./fields-v1.ts";
import { clientSideManager, lastAppliedFields, withLastApplied } from "./last-applied.ts";
import {
  capManagers,
  decodingManagers,
  encodingManagers,
  isReset,
  managerId,
  noManagers,
} from "./managers.ts";
import type { ManagerSet, Managers } from "./managers.ts";
import { finished } from "./steps.ts";
import type { Steps } from "./steps.ts";
import { applyObject, changeOwners, reconcileManagers } from "./updater.ts";
import type { Application, Applied, ApplyTypes, Typed } from "./updater.ts";

/** The endpoint for which an update or apply is tracked. */
export interface FieldManagement {
  readonly types: ApplyTypes;
  /** Version of the request, in which `live`, `next` and `applied` are given. Must be served. */
  readonly apiVersion: string;
  /** "" for the object itself, otherwise `status`, `scale` ... */
  readonly subresource: string;
  /** Paths by field names: `["status"]`, `["spec"]`, `["metadata", "labels"]`. */
  readonly resetFields: readonly (readonly string[])[];
  /** Adds fields that the server sets, before objects are compared. Absent: none. */
  readonly complete?: (object: AnyObject) => AnyObject;
}

interface UpdateRequest {
  readonly live: AnyObject | undefined;
  /** The object as the client wants it. Its managedFields are used; `[{}]` resets them. */
  readonly next: AnyObject;
  /** `managerName(fieldManager, userAgent)`. */
  readonly manager: string;
  readonly nowMs: number;
}

interface ApplyRequest {
  readonly live: AnyObject | undefined;
  /** The decoded body with name and namespace filled in. */
  readonly applied: AnyObject;
  readonly manager: string;
  readonly force: boolean;
  readonly nowMs: number;
}

interface ApplyResult {
  readonly object: AnyObject;
  /** False: equal to `live` in every field, including managedFields and their times. */
  readonly changed: boolean;
}

/** Paths without owner: system metadata, and the fields that name the object. */
const unowned: FieldSet = unionAll(
  [
    ["apiVersion"],
    ["kind"],
    ["metadata"],
    ...[
      "name",
      "namespace",
      "creationTimestamp",
      "selfLink",
      "uid",
      "clusterName",
      "generation",
      "managedFields",
      "resourceVersion",
    ].map((field) => ["metadata", field]),
  ].map((path) => setOfPath(path.map(fieldElement))),
);
/** Manager of fields that were set before the first apply. */
const beforeFirstApply = "before-first-apply";

export function trackUpdate(management: FieldManagement, request: UpdateRequest): AnyObject {
  return finished(trackingUpdate(management, request));
}

/** `trackUpdate` as a generator of steps. */
export function* trackingUpdate(
  management: FieldManagement,
  request: UpdateRequest,
): Steps<AnyObject> {
  const { live, next, nowMs } = request;
  const managers = yield* managersOfUpdate(management, request);
  // An object whose managed fields were reset is not tracked until the next apply.
  if (managers.size === 0 && live !== undefined) return withEntries(next, undefined);
  const entry = entryOf(management, "Update", request.manager, nowMs);
  const tracked = yield* updateManagers(management, live, next, managers, entry);
  return yield* withManagers(next, capManagers(tracked));
}

/** The managers in the request if it has any, so that clients can edit them; otherwise those of the live object. */
function* managersOfUpdate(
  { types, subresource }: FieldManagement,
  { live, next }: UpdateRequest,
): Steps<Managers> {
  const liveEntries = live?.metadata?.managedFields;
  const nextEntries = next.metadata?.managedFields;
  if (subresource === "" && isReset(nextEntries)) return noManagers;
  const sent = subresource === "" ? yield* decodingManagers(nextEntries) : undefined;
  const fromNext = sent !== undefined && sent.size > 0 ? sent : undefined;
  const managers = fromNext ?? (yield* decodingManagers(liveEntries)) ?? noManagers;
  return yield* reconcileManagers(types, managers);
}

function entryOf(
  { apiVersion, subresource }: FieldManagement,
  operation: "Apply" | "Update",
  manager: string,
  timeMs: number,
): Omit<ManagerSet, "set"> {
  return { apiVersion, operation, manager: manager || "unknown", subresource, timeMs };
}

/** Gives `entry` the fields that differ between `live` and `next`; its time changes only if there are any. */
function* updateManagers(
  management: FieldManagement,
  live: AnyObject | undefined,
  next: AnyObject,
  managers: Managers,
  entry: Omit<ManagerSet, "set">,
): Steps<Managers> {
  const { types } = management;
  const ignored = listIgnoredPaths(management);
  const { complete = (object) => object } = management;
  const before = toTyped(management, live === undefined ? {} : complete(live));
  const after = toTyped(management, complete(next));
  const changed = yield* changeOwners({ types, before, after, managers, self: "", ignored });
  const { added, modified } = changed.comparison;
  const gained = difference(union(added, modified), unowned);
  if (isEmpty(gained)) return changed.managers;
  const id = managerId(entry);
  const previous = changed.managers.get(id);
  const set = previous === undefined ? gained : union(previous.set, gained);
  return new Map(changed.managers).set(id, { ...entry, set });
}

function listIgnoredPaths({ resetFields }: FieldManagement): FieldSet {
  return unionAll(resetFields.map((path) => setOfPath(path.map(fieldElement))));
}

function toTyped(management: FieldManagement, object: AnyObject): Typed {
  const { types, apiVersion } = management;
  const sameVersion = object.apiVersion === undefined || object.apiVersion === apiVersion;
  const versioned = sameVersion ? object : types.convert(object, apiVersion);
  return toTypedAsSent(management, withEntries(versioned, undefined));
}

/** Types an applied object as sent: its metadata may not even be an object. */
function toTypedAsSent({ types, apiVersion }: FieldManagement, object: AnyObject): Typed {
  const shape = types.shape(apiVersion);
  if (shape === undefined) throw badRequest(`no schema for version ${apiVersion}`);
  return { value: object as unknown as MutableObject, shape, apiVersion }; // plain JSON, not changed here
}

function* withManagers(object: AnyObject, managers: Managers): Steps<AnyObject> {
  return withEntries(object, yield* encodingManagers(managers));
}

function withEntries(
  object: AnyObject,
  managedFields: readonly ManagedFieldsEntry[] | undefined,
): AnyObject {
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  return {
    ...object,
    metadata: managedFields === undefined ? metadata : { ...metadata, managedFields },
  };
}

/** Throws ApiError: 409 with all conflicts, 400 and 500 as upstream for what cannot be applied. */
export function applyPatch(management: FieldManagement, request: ApplyRequest): ApplyResult {
  return finished(applyingPatch(management, request));
}

/** `applyPatch` as a generator of steps. */
export function* applyingPatch(
  management: FieldManagement,
  request: ApplyRequest,
): Steps<ApplyResult> {
  const { live, applied, manager, force, nowMs } = request;
  const application = yield* applicationOf(management, request);
  const merge = yield* applyObject(application);
  const result = resolveConflicts(application, merge, manager, force);
  const own = result.managers.get(application.self);
  const timed =
    result.isNoOp || own === undefined
      ? result.managers
      : new Map(result.managers).set(application.self, atTime(own, nowMs));
  const merged = yield* withManagers(result.object as unknown as AnyObject, timed); // a merge of objects
  const object = manager === clientSideManager ? withLastApplied(merged, live, applied) : merged;
  return { object, changed: live === undefined || !jsonEqual(object, live) };
}

function atTime(managed: ManagerSet, timeMs: number): ManagerSet {
  const { entry: _, ...own } = managed;
  return { ...own, timeMs };
}

function* applicationOf(management: FieldManagement, request: ApplyRequest): Steps<Application> {
  const { live, applied, manager, nowMs } = request;
  checkApplied(management, applied);
  const entry = entryOf(management, "Apply", manager, nowMs);
  const typed = toTypedAsSent(management, applied);
  const findings = checkValue(typed.value, typed.shape);
  if (findings.length > 0) throw untypable(applied, findings);
  return {
    types: management.types,
    live: toTyped(management, live ?? {}),
    applied: typed,
    managers: yield* managersOfLive(management, live, nowMs),
    self: managerId(entry),
    entry,
    ignored: listIgnoredPaths(management),
    unowned,
  };
}

function checkApplied(management: FieldManagement, applied: AnyObject): void {
  if (applied.apiVersion !== management.apiVersion) {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${applied.apiVersion ?? ""}, expected: ${management.apiVersion}`,
    );
  }
  if (Array.isArray(applied.metadata?.managedFields)) {
    throw badRequest("metadata.managedFields must be nil");
  }
}

/** Upstream reports this as an internal error. */
function untypable(applied: AnyObject, findings: readonly string[]): Error {
  const { name = "", namespace = "" } = applied.metadata ?? {};
  const { group, version } = parseApiVersion(applied.apiVersion ?? "") ?? {
    group: "",
    version: "",
  };
  const kind = `${group}/${version}, Kind=${applied.kind ?? ""}`;
  const text = findings.length === 1 ? (findings[0] ?? "") : `errors:\n  ${findings.join("\n  ")}`;
  return failure(
    500,
    "",
    `failed to create typed patch object (${namespace}/${name}; ${kind}): ${text}`,
  );
}

/** The live object's managers. An object without managers gets one that owns all existing fields. */
function* managersOfLive(
  management: FieldManagement,
  live: AnyObject | undefined,
  nowMs: number,
): Steps<Managers> {
  if (live === undefined) return noManagers;
  const decoded = yield* decodingManagers(live.metadata?.managedFields);
  if (decoded === undefined) {
    throw failure(500, "", "failed to decode managed fields");
  }
  const managers = yield* reconcileManagers(management.types, decoded);
  if (managers.size > 0) return managers;
  const entry = entryOf(management, "Update", beforeFirstApply, nowMs);
  return yield* updateManagers(management, undefined, live, noManagers, entry);
}

/**
 * Ends the apply on conflicts, unless it is forced. kubectl may take fields that it last applied client-side and
 * that were not changed since.
 */
function resolveConflicts(
  application: Application,
  result: Applied,
  manager: string,
  force: boolean,
): Applied {
  if (force || result.conflicts.length === 0) return result;
  const allowed = manager === clientSideManager ? lastAppliedFields(application.live) : undefined;
  const conflicts = result.conflicts
    .map(({ owner, fields }) => ({
      owner,
      fields: allowed === undefined ? fields : difference(fields, allowed),
    }))
    .filter(({ fields }) => !isEmpty(fields));
  if (conflicts.length > 0) throw conflictError(conflicts);
  return result;
}
