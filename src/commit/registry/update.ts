/**
 * Update, as in upstream's generic registry: read, transform, check, compare and swap. Repeats when
 * another write was faster, unless the caller named the expected version.
 *
 *   current --transform--> next --strategy, validation, admission--> same as current: done, no write
 *                                                                    last finalizer gone: delete
 *                                                                    else: put if still current
 */
import { equalBytes } from "#base/bytes.ts";
import type { AnyObject, ManagedFieldsEntry, ObjectMeta } from "#api/object.ts";
import {
  checkNamespaceOf,
  dedupOwnerReferences,
  finalizerRule,
  prepareMetadataForUpdate,
  validateMetadata,
  validateMetadataUpdate,
} from "#api/meta.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { pathSegmentName } from "#api/names.ts";
import type { FieldError } from "#api/status.ts";
import { conflict, conflictModified, failure, invalid, notFound } from "#api/status.ts";
import type { UpdateStrategy } from "#api/strategies/strategy-types.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import type { ResourceStorage } from "./resource-storage.ts";
import {
  deleteKey,
  groupResource,
  passWarnings,
  putObject,
  refuseInvalid,
  encodeForStorage,
  readStored,
  storedForm,
  uncachedObject,
} from "./resource-storage.ts";
import { existsError, prepareCreate, storeCreated } from "./create.ts";
import { isHeld } from "./finalizers.ts";
import { storageKey, storeKey } from "./keys.ts";
import { versionFault } from "./resource-version.ts";
import type { Transform, UpdateOptions, UpdateResult } from "./resource-store.ts";
import { upstreamKey } from "./upstream-keys.ts";

/** Upstream retries until the request's deadline. Here a hundred conflicts in a row are taken for a bug. */
const attemptsMax = 100;

interface Attempt {
  readonly context: ResourceStorage;
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  readonly transform: Transform;
  readonly options: UpdateOptions;
}

type Outcome =
  | { readonly kind: "done"; readonly result: UpdateResult }
  | { readonly kind: "conflict"; readonly actual: SharedObject | undefined };

export async function storeUpdate(
  context: ResourceStorage,
  at: { readonly namespace: string; readonly name: string },
  transform: Transform,
  options: UpdateOptions,
): Promise<UpdateResult> {
  const { namespace, name } = at;
  const key = storageKey(namespace, name);
  const attempt: Attempt = { context, namespace, name, key, transform, options };
  const catchingUp = context.freshness.latest(context.store);
  if (catchingUp !== undefined) await catchingUp;
  let current = context.core.cache.state.get(key);
  for (let count = 0; count < attemptsMax; count++) {
    const outcome = await updateOnce(attempt, current);
    if (outcome.kind === "done") return outcome.result;
    current = outcome.actual;
  }
  throw conflict(groupResource(context), name, conflictModified);
}

async function updateOnce(attempt: Attempt, current: SharedObject | undefined): Promise<Outcome> {
  const { context, name, options } = attempt;
  if (current !== undefined) return updateExisting(attempt, current);
  const mayCreate = options.subresource === "" && context.strategy.allowCreateOnUpdate;
  if (!mayCreate && options.createIfMissing !== true) throw notFound(groupResource(context), name);
  return updateByCreating(attempt);
}

async function updateByCreating(attempt: Attempt): Promise<Outcome> {
  const { context, namespace, name, options } = attempt;
  const wanted = await attempt.transform(undefined);
  const uid = wanted.metadata?.uid ?? "";
  if (uid !== "") {
    const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
    throw conflict(groupResource(context), name, why);
  }
  const { resourceVersion = "", ...metadata } = wanted.metadata ?? {};
  refuseNoVersion(resourceVersion);
  const next = await prepareCreate(context, namespace, { ...wanted, metadata }, options);
  const written = await storeCreated(context, next, options);
  if (written.kind === "conflict") {
    if (written.actual === undefined) throw existsError(context, next, undefined);
    return written;
  }
  return done({ object: written.object, isCreated: true, isDeleted: false });
}

/** Whether an unchanged object must be written again, because its encryption key was rotated. */
function isStale({ store, core }: ResourceStorage, key: string): boolean {
  return store.isStale?.(storeKey(core.prefix, key)) === true;
}

async function updateExisting(attempt: Attempt, current: SharedObject): Promise<Outcome> {
  const { context, key, options } = attempt;
  const { pace } = options;
  pace?.note(current.value.length);
  options.charge?.(current.value.length);
  const own = context.rules !== undefined;
  const old = own ? await readStored(context, current) : current.object;
  await pace?.step();
  const wanted = await attempt.transform(old);
  checkVersion(attempt, current, wanted);
  const next = prepareUpdate(attempt, wanted, old);
  await pace?.step();
  const errors = await validateUpdate(attempt, next, old);
  await pace?.step();
  refuseInvalid(context, next, errors, options);
  passWarnings(rulesOf(attempt), next, old, options);
  const settled = withOldTimes(next, old);
  await options.admit?.(settled, old);
  await pace?.step();
  const stored = own ? await storedForm(context, settled) : settled;
  if (isReleased(context, settled, old)) return updateByDeleting(attempt, current, stored);
  const bytes = encodeForStorage(context, stored);
  await pace?.step();
  const isSame = equalBytes(bytes, current.value) || sameObject(bytes, current, stored);
  if (isSame && !isStale(context, key)) {
    return done({ object: current, isCreated: false, isDeleted: false });
  }
  if (options.dryRun) {
    const object = uncachedObject(context, key, bytes, current.revision);
    return done({ object, isCreated: false, isDeleted: false });
  }
  const written = await putObject(context, key, stored, current.revision, bytes);
  if (written.kind === "conflict") return written;
  return done({ object: written.object, isCreated: false, isDeleted: false });
}

/** An update that removes the last finalizer of an object being deleted removes the object. */
async function updateByDeleting(
  attempt: Attempt,
  current: SharedObject,
  next: AnyObject,
): Promise<Outcome> {
  const { context, key, options } = attempt;
  const object = uncachedObject(context, key, encodeForStorage(context, next), current.revision);
  if (!options.dryRun) {
    const removed = await deleteKey(context, key, current.revision);
    if (removed.kind === "conflict") return removed;
  }
  return done({ object, isCreated: false, isDeleted: true });
}

function done(result: UpdateResult): Outcome {
  return { kind: "done", result };
}

/** Checks the preconditions in the object itself: its uid and its resourceVersion. */
function checkVersion(attempt: Attempt, current: SharedObject, wanted: AnyObject): void {
  const { context, name } = attempt;
  const { uid = "", resourceVersion = "" } = wanted.metadata ?? {};
  const currentUid = current.object.metadata?.uid ?? "";
  if (uid !== "" && uid !== currentUid) {
    const key = upstreamKey(context.info, attempt.key);
    const why = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${currentUid}`;
    throw conflict(groupResource(context), name, why);
  }
  refuseNoVersion(resourceVersion);
  if (resourceVersion === "" || resourceVersion === "0") {
    if (!context.strategy.allowUnconditionalUpdate) throw versionRequired(context, name);
    return;
  }
  if (resourceVersion !== current.resourceVersion) {
    throw conflict(groupResource(context), name, conflictModified);
  }
}

/** Fails like upstream's store, whatever the object. @throws ApiError 500. */
function refuseNoVersion(resourceVersion: string): void {
  const fault = versionFault(resourceVersion);
  if (fault !== undefined) throw failure(500, "", fault);
}

function versionRequired(context: ResourceStorage, name: string): Error {
  const { group, resource } = context.info;
  const error: FieldError = {
    reason: "FieldValueInvalid",
    field: "metadata.resourceVersion",
    message: "Invalid value: 0: must be specified for an update",
  };
  // Upstream puts the resource where the kind belongs, and clients rely on it.
  return invalid({ group, kind: resource }, name, [error]);
}

function prepareUpdate(attempt: Attempt, wanted: AnyObject, old: AnyObject): AnyObject {
  const { context, namespace, options } = attempt;
  if (context.info.namespaced) checkNamespaceOf(wanted, namespace);
  const deduped = dedupOwnerReferences(wanted, "after admission");
  if (deduped.warning !== undefined) options.warn?.(deduped.warning);
  const { namespace: _, ...given } = deduped.object.metadata ?? {};
  const metadata: ObjectMeta = {
    ...given,
    ...(context.info.namespaced ? { namespace } : {}),
    resourceVersion: old.metadata?.resourceVersion ?? "",
  };
  const filled = prepareMetadataForUpdate({ ...deduped.object, metadata }, old);
  return rulesOf(attempt).prepareForUpdate(filled, old);
}

function rulesOf({ context, options }: Attempt): UpdateStrategy {
  if (options.subresource === "") return context.strategy;
  return context.strategy.subresources[options.subresource] ?? context.strategy;
}

async function validateUpdate(
  attempt: Attempt,
  next: AnyObject,
  old: AnyObject,
): Promise<readonly FieldError[]> {
  const { namespaced } = attempt.context.info;
  const meta = next.metadata ?? {};
  // The name cannot change, and the kind's rule for names may have become stricter since.
  const finalizers = finalizerRule(attempt.context.info);
  const rules = { namespaced, nameValidator: pathSegmentName, finalizers };
  const kind = rulesOf(attempt);
  const found = kind.validateUpdate(next, old);
  if (kind.findFurther !== undefined) await attempt.options.pace?.step();
  const further = kind.findFurther?.(next, old, found) ?? [];
  return validateMetadata(meta, rules).concat(
    validateMetadataUpdate(meta, old.metadata ?? {}, "metadata", finalizers),
    found,
    further instanceof Promise ? await further : further,
  );
}

/** Whether deletion waited only for finalizers that `next` no longer has. */
function isReleased(context: ResourceStorage, next: AnyObject, old: AnyObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds: grace } = old.metadata ?? {};
  if (deletionTimestamp === undefined || (grace ?? 0) !== 0) return false;
  return !isHeld(context.info, next);
}

/**
 * Returns `next` with the old managedFields when only their times differ: field management sets a time
 * on writes that then turn out to change nothing.
 */
function withOldTimes(next: AnyObject, old: AnyObject): AnyObject {
  const before = old.metadata?.managedFields;
  const after = next.metadata?.managedFields;
  if (before === undefined || after === undefined || before === after) return next;
  if (before.length !== after.length) return next;
  if (!after.every((entry, at) => equalButTime(entry, before[at]))) return next;
  const same = { ...next, metadata: { ...next.metadata, managedFields: before } };
  return jsonEqual(same, old) ? same : next;
}

function equalButTime(a: ManagedFieldsEntry, b: ManagedFieldsEntry | undefined): boolean {
  return a === b || jsonEqual({ ...a, time: undefined }, { ...b, time: undefined });
}

/** Compares bytes first; objects that differ only in the order of fields are equal. */
function sameObject(bytes: Uint8Array, current: SharedObject, next: AnyObject): boolean {
  return bytes.length === current.value.length && jsonEqual(next, current.object);
}
