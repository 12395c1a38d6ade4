/**
 * The stored form of an object: its JSON in the storage version, without resourceVersion, beginning
 *
 *   {"apiVersion":"...","kind":"...","metadata":{   <- the splice point is right here
 *
 * The first byte is the format: 0x7b `{` is this one, the only one today. A new form takes another
 * first byte (0x6b `k` stays free: it is upstream's protobuf envelope); readers refuse what they do
 * not know. There is no header beyond that, so a value reads as plain JSON in any etcd tool, and
 * the splice point is found in the first hundred bytes because encodeObject puts metadata third.
 *
 * Wire JSON is the stored bytes with `"resourceVersion":"N",` spliced in: one copy, no parsing.
 * JSON written by others with metadata elsewhere is accepted, at the price of re-encoding. Nobody
 * stores resourceVersion: upstream clears it before it writes, too.
 */
import type { AnyObject, ObjectMeta } from "#api/object.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

const metadataOpen = encoder.encode('"metadata":{');
const resourceVersionKey = encoder.encode('"resourceVersion":"');
const resourceVersionEnd = encoder.encode('",');

/** How far the splice point may lie: apiVersion and kind are at most 253 + 63 + 63 characters. */
const spliceSearchBytesMax = 512;
const formatJson = 0x7b;
const closingBrace = 0x7d;

/** A value that is no object in a form we know. The message names the revision, not the content. */
export class UnreadableValueError extends Error {
  constructor(revision: number, options?: { cause: unknown }) {
    super(`stored value at revision ${revision} is not readable`, options);
    this.name = "UnreadableValueError";
  }
}

/** The bytes to store. `object` needs apiVersion and kind; its resourceVersion is left out. */
export function encodeObject(object: AnyObject): Uint8Array {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { resourceVersion: _, ...stored } = metadata ?? {};
  return encoder.encode(JSON.stringify({ apiVersion, kind, metadata: stored, ...rest }));
}

/** Complete JSON with `revision` as resourceVersion, in a new array; 0 is "never stored": none. */
export function wireJson(value: Uint8Array, revision: number): Uint8Array {
  if (revision === 0) return value;
  const splice = splicePoint(value);
  if (splice < 0 || value[splice] === closingBrace) return wireJsonForeign(value, revision);
  const digits = String(revision);
  const inserted = resourceVersionKey.length + digits.length + resourceVersionEnd.length;
  const out = new Uint8Array(value.length + inserted);
  out.set(value.subarray(0, splice));
  out.set(resourceVersionKey, splice);
  let at = splice + resourceVersionKey.length;
  for (let i = 0; i < digits.length; i++) out[at++] = digits.charCodeAt(i);
  out.set(resourceVersionEnd, at);
  out.set(value.subarray(splice), splice + inserted);
  return out;
}

/** A freshly parsed object, given to the caller, with `revision` as resourceVersion unless 0. */
export function decodeObject(value: Uint8Array, revision: number): AnyObject {
  if (value[0] !== formatJson) throw new UnreadableValueError(revision);
  const object = decodeObjectJson(value, revision);
  if (revision === 0) return object;
  const metadata: { -readonly [K in keyof ObjectMeta]: ObjectMeta[K] } = object.metadata ?? {};
  metadata.resourceVersion = String(revision);
  return object.metadata === undefined ? { ...object, metadata } : object;
}

function decodeObjectJson(value: Uint8Array, revision: number): AnyObject {
  try {
    // A value that begins with "{" parses to an object or not at all.
    return JSON.parse(decoder.decode(value)) as AnyObject;
  } catch (cause) {
    throw new UnreadableValueError(revision, { cause });
  }
}

function wireJsonForeign(value: Uint8Array, revision: number): Uint8Array {
  return encoder.encode(JSON.stringify(decodeObject(value, revision)));
}

/** Index after `"metadata":{`, or -1 when the value was not made by encodeObject. */
function splicePoint(value: Uint8Array): number {
  const end = Math.min(value.length, spliceSearchBytesMax) - metadataOpen.length;
  if (value[0] !== formatJson) return -1;
  for (let start = 1, braces = 0; start <= end && braces === 0; start++) {
    if (splicePointAt(value, start)) return start + metadataOpen.length;
    if (value[start] === formatJson) braces++;
  }
  return -1;
}

function splicePointAt(value: Uint8Array, start: number): boolean {
  for (let i = 0; i < metadataOpen.length; i++) {
    if (value[start + i] !== metadataOpen[i]) return false;
  }
  return true;
}
