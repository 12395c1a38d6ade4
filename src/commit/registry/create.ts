/**
 * Create, as in upstream's generic registry: metadata, strategy, validation, admission, then a put that
 * succeeds only if the key does not exist.
 */
import type { AnyObject } from "#api/object.ts";
import { qualifiedResource } from "#api/object.ts";
import {
  checkNamespaceOf,
  dedupOwnerReferences,
  finalizerRule,
  prepareMetadataForCreate,
  validateMetadata,
} from "#api/meta.ts";
import { nameValidatorFor } from "#api/names.ts";
import { alreadyExists, ApiError, failure, type FieldError } from "#api/status.ts";
import { formatTime } from "#api/values/time.ts";
import type { Pace } from "#platform/pace.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import type { ResourceStorage, Written } from "./resource-storage.ts";
import {
  groupResource,
  passWarnings,
  putObject,
  refuseInvalid,
  encodeForStorage,
  storedForm,
  uncachedObject,
} from "./resource-storage.ts";
import { storageKey } from "./keys.ts";
import { isVersionError, parseVersion } from "./resource-version.ts";
import type { WriteOptions } from "./resource-store.ts";

/** As upstream: enough for a million names of one base with a 0.1 % risk of failing. */
const generateAttemptsMax = 8;

export async function storeCreate(
  context: ResourceStorage,
  namespace: string,
  object: AnyObject,
  options: WriteOptions,
): Promise<SharedObject> {
  const { name = "", generateName = "" } = object.metadata ?? {};
  const attemptsMax = name === "" && generateName !== "" ? generateAttemptsMax : 1;
  for (let attempt = 1; ; attempt++) {
    const prepared = await prepareCreate(context, namespace, object, options);
    const written = await storeCreated(context, prepared, options);
    if (written.kind === "committed") return written.object;
    if (attempt >= attemptsMax) throw existsError(context, prepared, written.actual);
  }
}

/** Prepares the object to be stored: completed, validated and admitted. */
export async function prepareCreate(
  context: ResourceStorage,
  namespace: string,
  object: AnyObject,
  options: WriteOptions,
): Promise<AnyObject> {
  if (context.info.namespaced) checkNamespaceOf(object, namespace);
  const deduped = dedupOwnerReferences(object, "after admission");
  if (deduped.warning !== undefined) options.warn?.(deduped.warning);
  const filled = prepareMetadataForCreate(deduped.object, {
    namespace: context.info.namespaced ? namespace : "",
    uid: context.random.uuid(),
    creationTimestamp: formatTime(context.clock.nowMs()),
    random: context.random,
  });
  for (const text of context.strategy.sentWarnings?.(filled) ?? []) options.warn?.(text);
  const next = context.strategy.prepareForCreate(filled);
  const { pace } = options;
  await pace?.step();
  const errors = await validateCreate(context, next, pace);
  await pace?.step();
  refuseInvalid(context, next, errors, options);
  passWarnings(context.strategy, next, undefined, options);
  await options.admit?.(next, undefined);
  await pace?.step();
  return next;
}

/** Stores the result of prepareCreate; a dry run only checks that it could be stored. */
export async function storeCreated(
  context: ResourceStorage,
  next: AnyObject,
  options: WriteOptions,
): Promise<Written> {
  const { name = "", namespace = "", resourceVersion = "" } = next.metadata ?? {};
  const key = storageKey(namespace, name);
  const stored = context.rules === undefined ? next : await storedForm(context, next);
  if (options.dryRun) {
    const actual = context.core.cache.state.get(key);
    if (actual !== undefined) return { kind: "conflict", actual };
    return {
      kind: "committed",
      object: uncachedObject(context, key, encodeForStorage(context, stored), 0),
    };
  }
  if (namesVersion(resourceVersion)) {
    throw failure(500, "", "resourceVersion should not be set on objects to be created");
  }
  return putObject(context, key, stored, 0);
}

/** As upstream's store, only a number other than 0 names a version. */
function namesVersion(resourceVersion: string): boolean {
  const asked = parseVersion(resourceVersion);
  return !isVersionError(asked) && asked.kind === "revision";
}

async function validateCreate(
  context: ResourceStorage,
  next: AnyObject,
  pace: Pace | undefined,
): Promise<readonly FieldError[]> {
  const { group, resource, namespaced } = context.info;
  const meta = next.metadata ?? {};
  const nameValidator = nameValidatorFor(group, resource);
  const finalizers = finalizerRule(context.info);
  const found = context.strategy.validate(next);
  if (context.strategy.findFurther !== undefined) await pace?.step();
  const further = context.strategy.findFurther?.(next, undefined, found) ?? [];
  return validateMetadata(meta, { namespaced, nameValidator, finalizers }).concat(
    found,
    further instanceof Promise ? await further : further,
  );
}

/** 409; the text depends on whether the server generated the name and whether the existing object is being deleted. */
export function existsError(
  context: ResourceStorage,
  next: AnyObject,
  actual: SharedObject | undefined,
): ApiError {
  const resource = groupResource(context);
  const { name = "", generateName = "" } = next.metadata ?? {};
  const plain = alreadyExists(resource, name).status;
  const generated = generateName !== "";
  const text = generated
    ? `${qualifiedResource(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`
    : (plain.message ?? "");
  const leaving = actual?.object.metadata?.deletionTimestamp !== undefined;
  return new ApiError({
    ...plain,
    message: leaving ? `object is being deleted: ${text}` : text,
    details: { ...plain.details, ...(generated ? { retryAfterSeconds: 1 } : {}) },
  });
}
