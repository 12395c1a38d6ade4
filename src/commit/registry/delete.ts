/**
 * Delete, as in upstream's generic registry. The state of the object decides what happens:
 *
 *   plan     when                                                     effect
 *   wait     deletion has begun, and the request does not speed it up none: answer "pending"
 *   mark     grace or finalizers keep it                              deletionTimestamp, finalizers
 *   finish   its kind has grace, and the grace period is zero         mark, then remove: two revisions
 *   remove   nothing keeps it (any more)                              the key is deleted
 *
 * Holds  a watcher of pods sees a pod marked before it is gone, and its last state says that it was deleted:
 *        controllers tell by deletionTimestamp why a pod went. Between the two steps other writes are possible; the
 *        marked object is removed all the same, and one that another writer removed meanwhile counts as removed.
 */
import { isNamespaceResource, type AnyObject, type ObjectMeta } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import { conflict, conflictModified, invalid, notFound } from "#api/status.ts";
import { formatTime, parseTime } from "#api/values/time.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import type { ResourceStorage } from "./resource-storage.ts";
import {
  deleteKey,
  groupResource,
  putFitting,
  putObject,
  encodeForStorage,
  readStored,
  uncachedObject,
  writeRefused,
} from "./resource-storage.ts";
import { finalizersForDelete, namespaceFinalizers } from "./finalizers.ts";
import { storageKey } from "./keys.ts";
import type { DeleteOptions, DeleteResult, WriteOptions } from "./resource-store.ts";

const attemptsMax = 100;

type Plan =
  | { readonly kind: "wait" }
  | { readonly kind: "mark"; readonly object: AnyObject }
  /** `object`: with deletionTimestamp set. */
  | { readonly kind: "finish"; readonly object: AnyObject }
  | { readonly kind: "remove" };

type Outcome =
  | { readonly kind: "done"; readonly result: DeleteResult }
  /** The object has deletionTimestamp and is to be removed now. */
  | { readonly kind: "marked"; readonly object: SharedObject }
  | { readonly kind: "conflict"; readonly actual: SharedObject | undefined };

export async function storeDelete(
  context: ResourceStorage,
  at: { readonly namespace: string; readonly name: string },
  options: DeleteOptions,
  write: WriteOptions,
): Promise<DeleteResult> {
  checkOptions(options);
  const catchingUp = context.freshness.latest(context.store);
  if (catchingUp !== undefined) await catchingUp;
  let current = context.core.cache.state.get(storageKey(at.namespace, at.name));
  for (let count = 0; count < attemptsMax; count++) {
    if (current === undefined) throw notFound(groupResource(context), at.name);
    const outcome = await deleteOnce(context, current, options, write);
    if (outcome.kind === "done") return outcome.result;
    if (outcome.kind === "marked") return storeFinish(context, outcome.object);
    current = outcome.actual;
  }
  throw conflict(groupResource(context), at.name, conflictModified);
}

/** Removes the object just marked. A concurrent update may have removed it, because nothing keeps a marked object. */
async function storeFinish(context: ResourceStorage, marked: SharedObject): Promise<DeleteResult> {
  let current = marked;
  for (let count = 0; count < attemptsMax; count++) {
    const removed = await deleteKey(context, current.key, current.revision);
    if (removed.kind === "missing") break;
    if (removed.kind !== "conflict") {
      return { kind: "deleted", object: current.at(removed.revision) };
    }
    const { actual } = removed;
    if (actual === undefined || uidOf(actual) !== uidOf(marked)) break;
    current = actual;
  }
  return { kind: "deleted", object: current };
}

function uidOf({ object }: SharedObject): string {
  return object.metadata?.uid ?? "";
}

async function deleteOnce(
  context: ResourceStorage,
  current: SharedObject,
  options: DeleteOptions,
  write: WriteOptions,
): Promise<Outcome> {
  checkPreconditions(context, current, options);
  const plan = planDelete(context, current.object, options);
  if (plan.kind === "wait") return pending(current);
  if (write.admit !== undefined) await write.admit(undefined, await readStored(context, current));
  if (plan.kind === "remove") return removeNow(context, current, write);
  if (plan.kind === "finish") return markFirst(context, current, plan.object, write);
  return mark(context, current, plan.object, write);
}

async function markFirst(
  context: ResourceStorage,
  current: SharedObject,
  marked: AnyObject,
  write: WriteOptions,
): Promise<Outcome> {
  if (write.dryRun) {
    const bytes = encodeForStorage(context, marked);
    const object = uncachedObject(context, current.key, bytes, current.revision);
    return { kind: "done", result: { kind: "deleted", object } };
  }
  const written = await putFitting(context, current.key, marked, current.revision);
  switch (written.kind) {
    case "committed":
      return { kind: "marked", object: written.object };
    case "conflict":
      return written;
    case "no-space":
    case "too-large":
      // When the store is full, the object is removed without being marked, so that space can be freed.
      return removeNow(context, current, write);
    case "lease-not-found":
    case "stopped":
      throw writeRefused(written);
  }
}

async function removeNow(
  context: ResourceStorage,
  current: SharedObject,
  write: WriteOptions,
): Promise<Outcome> {
  if (write.dryRun) return { kind: "done", result: { kind: "deleted", object: current } };
  const removed = await deleteKey(context, current.key, current.revision);
  if (removed.kind === "conflict") return removed;
  if (removed.kind === "missing") return { kind: "conflict", actual: undefined };
  return { kind: "done", result: { kind: "deleted", object: current.at(removed.revision) } };
}

async function mark(
  context: ResourceStorage,
  current: SharedObject,
  marked: AnyObject,
  write: WriteOptions,
): Promise<Outcome> {
  if (marked === current.object) return pending(current);
  if (write.dryRun) {
    const bytes = encodeForStorage(context, marked);
    return pending(uncachedObject(context, current.key, bytes, current.revision));
  }
  const written = await putObject(context, current.key, marked, current.revision);
  return written.kind === "conflict" ? written : pending(written.object);
}

function pending(object: SharedObject): Outcome {
  return { kind: "done", result: { kind: "pending", object } };
}

function checkOptions(options: DeleteOptions): void {
  const { propagationPolicy, orphanDependents } = options;
  if (propagationPolicy === undefined || orphanDependents === undefined) return;
  const error: FieldError = {
    reason: "FieldValueInvalid",
    field: "propagationPolicy",
    message: `Invalid value: "${propagationPolicy}": orphanDependents and deletionPropagation cannot be both set`,
  };
  throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [error]);
}

function checkPreconditions(
  context: ResourceStorage,
  current: SharedObject,
  options: DeleteOptions,
): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const record = current.object.metadata?.uid ?? "";
  // Upstream puts the kind where the resource belongs.
  const { group, kind: resource } = context.info;
  if (uid !== undefined && uid !== record) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${record}). The object might have been deleted and then recreated`;
    throw conflict({ group, resource }, current.name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== current.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${current.resourceVersion}). The object might have been modified`;
    throw conflict({ group, resource }, current.name, why);
  }
}

function planDelete(context: ResourceStorage, object: AnyObject, options: DeleteOptions): Plan {
  const meta = object.metadata ?? {};
  if (isNamespaceResource(context.info)) {
    if (meta.deletionTimestamp === undefined) return planNamespace(context, object, options);
    if (namespaceFinalizers(object).length > 0) return { kind: "wait" };
  }
  const { markForDeletion } = context.strategy;
  if (markForDeletion !== undefined && meta.deletionTimestamp === undefined) {
    return { kind: "mark", object: markForDeletion(object, context.clock.nowMs()) };
  }
  const seconds = gracePeriodSeconds(options);
  return meta.deletionTimestamp === undefined
    ? planFirst(context, object, options, seconds)
    : planAgain(context, object, options, seconds);
}

/** A negative grace period means one second. */
function gracePeriodSeconds(options: DeleteOptions): number | bigint | undefined {
  const { gracePeriodSeconds: seconds } = options;
  return seconds === undefined || seconds >= 0 ? seconds : 1;
}

function planFirst(
  context: ResourceStorage,
  object: AnyObject,
  options: DeleteOptions,
  seconds: number | bigint | undefined,
): Plan {
  const grace = context.strategy.gracePeriodSeconds(object, seconds);
  if (grace === undefined) return planUngraceful(context, object, options);
  const due = formatTime(context.clock.nowMs() + durationMs(grace));
  return planGraceful(context, object, options, {
    deletionTimestamp: due,
    deletionGracePeriodSeconds: grace,
    ...bumpGeneration(object.metadata ?? {}),
  });
}

/** Without grace period and finalizers, setting deletionTimestamp is the first of two steps. */
function planGraceful(
  context: ResourceStorage,
  object: AnyObject,
  options: DeleteOptions,
  changes: Partial<ObjectMeta>,
): Plan {
  const plan = planMark(context, object, options, changes);
  const isKept = (plan.object.metadata?.finalizers ?? []).length > 0;
  return isKept || changes.deletionGracePeriodSeconds !== 0 ? plan : { ...plan, kind: "finish" };
}

/** A running grace period can only be shortened. */
function planAgain(
  context: ResourceStorage,
  object: AnyObject,
  options: DeleteOptions,
  seconds: number | bigint | undefined,
): Plan {
  const meta = object.metadata ?? {};
  const running = meta.deletionGracePeriodSeconds ?? 0;
  if (running === 0) return planUngraceful(context, object, options);
  if (seconds === undefined || seconds >= (running > 1 ? running : 1)) return { kind: "wait" };
  const nowMs = context.clock.nowMs();
  const startMs = (parseTime(meta.deletionTimestamp) ?? 0) - durationMs(running);
  const dueMs = startMs + durationMs(seconds);
  // The shorter period has already passed, so the smallest non-zero grace period is used.
  const isOver = dueMs < nowMs;
  return planGraceful(context, object, options, {
    deletionTimestamp: formatTime(isOver ? nowMs : dueMs),
    deletionGracePeriodSeconds: isOver && seconds !== 0 ? 1 : seconds,
  });
}

/** As Go's Duration: int64 nanoseconds that wrap around, so that adding it to a time always gives a time. */
function durationMs(seconds: number | bigint): number {
  const whole = typeof seconds === "bigint" ? seconds : BigInt(Math.trunc(seconds));
  const nanos = BigInt.asIntN(64, whole * 1_000_000_000n);
  return Number(nanos / 1_000_000n);
}

function planUngraceful(context: ResourceStorage, object: AnyObject, options: DeleteOptions): Plan {
  const meta = object.metadata ?? {};
  const finalizers = finalizersForDelete(meta, options, context.strategy.defaultPropagation);
  if (finalizers.length === 0) return { kind: "remove" };
  const nowMs = context.clock.nowMs();
  const dueMs = parseTime(meta.deletionTimestamp);
  const first = meta.deletionTimestamp === undefined;
  return planMark(context, object, options, {
    deletionTimestamp:
      dueMs === undefined || dueMs > nowMs ? formatTime(nowMs) : (meta.deletionTimestamp ?? ""),
    deletionGracePeriodSeconds: 0,
    ...(first ? bumpGeneration(meta) : {}),
  });
}

/** Increments generation at the first mark, so that controllers see the change of the desired state. */
function bumpGeneration(meta: ObjectMeta): { generation?: number } {
  const generation = meta.generation ?? 0;
  return generation > 0 ? { generation: generation + 1 } : {};
}

function planMark(
  context: ResourceStorage,
  object: AnyObject,
  options: DeleteOptions,
  changes: Partial<ObjectMeta>,
): Extract<Plan, { kind: "mark" }> {
  const before = object.metadata ?? {};
  const finalizers = finalizersForDelete(before, options, context.strategy.defaultPropagation);
  const metadata: ObjectMeta = { ...before, ...changes, ...withFinalizers(before, finalizers) };
  const same = (Object.keys(metadata) as (keyof ObjectMeta)[]).every(
    (field) => metadata[field] === before[field],
  );
  return { kind: "mark", object: same ? object : { ...object, metadata } };
}

function withFinalizers(before: ObjectMeta, finalizers: readonly string[]): Partial<ObjectMeta> {
  return before.finalizers === undefined && finalizers.length === 0 ? {} : { finalizers };
}

/** The first delete of a namespace only sets phase Terminating; its controller then empties the namespace. */
function planNamespace(context: ResourceStorage, object: AnyObject, options: DeleteOptions): Plan {
  const status = { ...(object["status"] as object | undefined), phase: "Terminating" };
  const deletionTimestamp = formatTime(context.clock.nowMs());
  return planMark(context, { ...object, status }, options, { deletionTimestamp });
}
