/**
 * Limits of the parts of one object. Bytes alone do not bound the work: 3 MiB of `[],` are a million values, and
 * each costs time in every step of a write: checks, managed fields, validation, encodings.
 *
 * The largest known definitions of custom resources (1 MB of schema) have about 30,000 values and
 * 3,000 different keys; a Service, a pod or a node has no keyed list of a thousand elements. `docs/contract.md`
 * says where upstream accepts more. Measured with `npm run attacks -- loop/kinds`.
 */
import { isJsonObject } from "./json-value.ts";
import { badRequest, tooLarge } from "../status.ts";

export const objectLimits = {
  /** Nesting, because patches and comparisons are recursive. Go's decoder stops at 10,000. */
  depthMax: 500,
  /** Commas and opening brackets. */
  partsMax: 65_536,
  /** Distinct keys, each of which takes about as long as ten values. */
  keysMax: 8_192,
  /** Total elements of keyed lists and sets (containers, ports, finalizers). */
  keyedItemsMax: 4_096,
  /** Total objects in other lists (addresses, rules, paths). */
  listedObjectsMax: 16_384,
} as const;

/**
 * Refuses values beyond the limits. Managed fields repeat the object's keys, so they have limits of their own: an
 * object that could be created can be patched.
 * @throws ApiError 400 for a value that nests too deep, 413 for one of too many parts.
 */
export function refuseBeyondLimits(value: unknown): void {
  const { own, managedFields } = splitManagedFields(value);
  const beyond = beyondLimits(own) ?? beyondLimits(managedFields);
  if (beyond === undefined) return;
  throw beyond === tooDeep ? badRequest(beyond) : tooLarge(beyond);
}

function splitManagedFields(value: unknown): {
  readonly own: unknown;
  readonly managedFields: unknown;
} {
  if (!isJsonObject(value) || !isJsonObject(value["metadata"])) {
    return { own: value, managedFields: undefined };
  }
  const { managedFields, ...metadata } = value["metadata"];
  return { own: { ...value, metadata }, managedFields };
}

const tooDeep = "exceeded max depth";

/** The limit that `value` exceeds, in words; undefined: none. Not recursive, and linear up to the limits. */
function beyondLimits(value: unknown): string | undefined {
  const { depthMax, partsMax, keysMax } = objectLimits;
  let level: unknown[] = [value];
  let parts = 0;
  let keys = 0;
  const different = new Set<string>();
  for (let depth = 0; level.length > 0; depth++) {
    const below: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      if (depth >= depthMax) return tooDeep;
      const members: readonly unknown[] = Array.isArray(item) ? item : Object.values(item);
      parts += members.length + 1;
      if (parts > partsMax) return `the object has more than ${partsMax} values`;
      for (const member of members) below.push(member);
      if (Array.isArray(item)) continue;
      keys += members.length;
      // Small objects need no set.
      if (keys > keysMax) noteKeys(different, value);
      if (different.size > keysMax) return `the object has more than ${keysMax} different keys`;
      if (keys > keysMax) keys = Number.NEGATIVE_INFINITY;
    }
    level = below;
  }
  return undefined;
}

/** Adds the keys of `value`, at most one more than the limit. */
function noteKeys(different: Set<string>, value: unknown): void {
  const rest: unknown[] = [value];
  for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
    if (typeof item !== "object" || item === null) continue;
    if (!Array.isArray(item)) for (const key of Object.keys(item)) different.add(key);
    if (different.size > objectLimits.keysMax) return;
    for (const member of Object.values(item)) if (member !== undefined) rest.push(member);
  }
}
