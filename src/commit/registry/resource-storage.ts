/** The context of the verbs of one served resource. */
import type { GroupResource } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import type { FieldError } from "#api/status.ts";
import { failure, internalError, invalid } from "#api/status.ts";
import type { ApiError } from "#api/status.ts";
import type { AnyObject } from "#api/object.ts";
import { apiVersionOf } from "#api/object.ts";
import type { Strategy, UpdateStrategy } from "#api/strategies/strategy-types.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import type { KeyValue, LeaseId, Revision, Store, WriteRefused } from "#store/store.ts";
import { encodeObject } from "#forms/object-bytes.ts";
import { SharedObject } from "#forms/shared-object.ts";
import type { Freshness } from "./freshness.ts";
import type { ResourceCore } from "./cacher.ts";
import { sharedObject } from "./cacher.ts";
import { storeKey } from "./keys.ts";
import type { EventLeases } from "./event-leases.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { ResourceRules, WriteOptions } from "./resource-store.ts";

/** `kept`: the new state of the object; undefined: it was removed. Never rejects. */
export type ReleaseListener = (old: AnyObject, kept: AnyObject | undefined) => Promise<void>;

export interface ResourceStorage {
  readonly info: ResourceInfo;
  readonly strategy: Strategy;
  readonly core: ResourceCore;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly freshness: Freshness;
  /** Leases that limit the lifetime of events; undefined for other resources. */
  readonly leases: EventLeases | undefined;
  /** Rules of a custom resource; undefined for built-in resources. */
  readonly rules: ResourceRules | undefined;
  /** Called after an object was changed or removed; undefined: no action follows. */
  readonly released: () => ReleaseListener | undefined;
}

/** Converts a stored object to the version that the callers of this store use. */
export function readStored(
  { rules }: ResourceStorage,
  cached: CachedObject,
): AnyObject | Promise<AnyObject> {
  return rules === undefined ? cached.object : rules.codec.read(cached);
}

/** Converts an object to its storage version. */
export function storedForm(
  { rules }: ResourceStorage,
  object: AnyObject,
): AnyObject | Promise<AnyObject> {
  return rules === undefined ? object : rules.codec.write(object);
}

/** The resource's group and name for messages. */
export function groupResource(context: ResourceStorage): GroupResource {
  return { group: context.info.group, resource: context.info.resource };
}

/** Throws the 422 for `errors`, if there are any. A custom object is named by its own group and kind. */
export function refuseInvalid(
  { info, rules, strategy }: ResourceStorage,
  object: AnyObject,
  errors: readonly FieldError[],
  { warn }: Pick<WriteOptions, "warn">,
): void {
  if (errors.length === 0) return;
  for (const text of strategy.warningsOfRefused?.(object) ?? []) warn?.(text);
  const { name = "" } = object.metadata ?? {};
  const kind = rules === undefined ? info.kind : (object.kind ?? info.kind);
  // Errors name the stored form: an Event of events.k8s.io is reported as one of the core group.
  throw invalid({ group: (info.storage ?? info).group, kind }, name, errors);
}

/** `rules`: those of the object, or of the subresource that is written. */
export function passWarnings(
  rules: UpdateStrategy,
  next: AnyObject,
  old: AnyObject | undefined,
  options: WriteOptions,
): void {
  if (options.warn === undefined) return;
  for (const text of rules.warnings?.(next, old) ?? []) options.warn(text);
}

/** The bytes of an object, in the storage version unless the object says otherwise. */
export function encodeForStorage(context: ResourceStorage, object: AnyObject): Uint8Array {
  const { info } = context;
  const { group, version } = info.storage ?? info;
  const apiVersion = object.apiVersion ?? apiVersionOf({ group, version });
  return encodeObject({ ...object, apiVersion, kind: object.kind ?? info.kind });
}

export type Written =
  | { readonly kind: "committed"; readonly object: SharedObject }
  /** Another writer was first; `actual` is the current object. */
  | { readonly kind: "conflict"; readonly actual: SharedObject | undefined };

/**
 * Stores `object` at `key` if the key is still at revision `expected` (0: absent), and resolves
 * when the cache holds it. An object too large for the store gets a second try without its
 * managedFields, as upstream. `bytes`: the object's encoding, if the caller has it.
 */
export async function putObject(
  context: ResourceStorage,
  key: string,
  object: AnyObject,
  expected: number,
  bytes = encodeForStorage(context, object),
): Promise<Written> {
  const result = await putFitting(context, key, object, expected, bytes);
  if (result.kind === "committed" || result.kind === "conflict") return result;
  throw writeRefused(result);
}

/** Stores the object; the outcome says when the store is full. @throws ApiError for everything else. */
export async function putFitting(
  context: ResourceStorage,
  key: string,
  object: AnyObject,
  expected: number,
  bytes = encodeForStorage(context, object),
): Promise<Written | WriteRefused> {
  const result = await putGuarded(context, key, bytes, expected);
  if (result.kind === "committed") {
    await context.freshness.applied(result.revision);
    return { kind: "committed", object: objectAt(context, key, bytes, result.revision) };
  }
  if (result.kind === "conflict") return conflictError(context, result.actual);
  const { managedFields, ...metadata } = object.metadata ?? {};
  if (result.kind === "too-large" && managedFields !== undefined) {
    return putFitting(context, key, { ...object, metadata }, expected);
  }
  return result;
}

/** Writes unless the resource's definition was changed or removed; the check and the write happen without an await between. */
async function putGuarded(
  context: ResourceStorage,
  key: string,
  bytes: Uint8Array,
  expected: number,
): ReturnType<Store["put"]> {
  const { rules } = context;
  if (rules === undefined) return putBytes(context, key, bytes, expected);
  const end = rules.beginWrite(expected === 0);
  let revision = 0;
  try {
    const result = await putBytes(context, key, bytes, expected);
    if (result.kind === "committed") revision = result.revision;
    return result;
  } finally {
    end(revision);
  }
}

async function putBytes(
  context: ResourceStorage,
  key: string,
  bytes: Uint8Array,
  expected: number,
): ReturnType<Store["put"]> {
  const { core, store, leases } = context;
  const at = storeKey(core.prefix, key);
  const guard = { modRevision: expected as Revision | 0 };
  if (leases === undefined) return store.put(at, bytes, { guard });
  const lease: LeaseId = await leases.lease();
  const result = await store.put(at, bytes, { guard, lease });
  if (result.kind !== "lease-not-found") return result;
  leases.forget();
  return store.put(at, bytes, { guard, lease: await leases.lease() });
}

/** Removes `key` if it is still at revision `expected`. */
export async function deleteKey(
  context: ResourceStorage,
  key: string,
  expected: number,
): Promise<
  | { readonly kind: "committed"; readonly revision: number }
  | { readonly kind: "missing" }
  | { readonly kind: "conflict"; readonly actual: SharedObject | undefined }
> {
  const { core, store } = context;
  const guard = { modRevision: expected as Revision };
  const result = await store.delete(storeKey(core.prefix, key), { guard });
  switch (result.kind) {
    case "committed":
      await context.freshness.applied(result.revision);
      return { kind: "committed", revision: result.revision };
    case "missing":
      return { kind: "missing" };
    case "conflict":
      return conflictError(context, result.actual);
    case "no-space":
    case "too-large":
    case "lease-not-found":
    case "stopped":
      throw writeRefused(result);
  }
}

function conflictError(
  context: ResourceStorage,
  actual: KeyValue | undefined,
): { readonly kind: "conflict"; readonly actual: SharedObject | undefined } {
  const { core } = context;
  if (actual === undefined) return { kind: "conflict", actual: undefined };
  const fresh = sharedObject(core.source, core.prefix, actual);
  const cached = core.cache.state.get(fresh.key);
  return { kind: "conflict", actual: cached?.revision === fresh.revision ? cached : fresh };
}

/** The cache's own instance when it is still the newest, so that its encodings are shared. */
function objectAt(
  context: ResourceStorage,
  key: string,
  bytes: Uint8Array,
  revision: number,
): SharedObject {
  const cached = context.core.cache.state.get(key);
  return cached?.revision === revision ? cached : uncachedObject(context, key, bytes, revision);
}

/** An object that is not in the cache: the result of a dry run, or of a write that was overtaken. */
export function uncachedObject(
  context: ResourceStorage,
  key: string,
  bytes: Uint8Array,
  revision: number,
): SharedObject {
  return new SharedObject(context.core.source, key, bytes, revision);
}

/** Maps a store's refusal as upstream does: 500 with the store's text. */
export function writeRefused(refused: WriteRefused): ApiError {
  switch (refused.kind) {
    case "too-large":
      return failure(500, "", refused.message);
    case "no-space":
      return failure(500, "", "etcdserver: mvcc: database space exceeded");
    case "lease-not-found":
      return internalError("the lease of the object is gone");
    case "stopped":
      return internalError(`the outcome of the write is unknown: ${refused.message}`);
  }
}
