/**
 * The stored form of an object: its JSON in the storage version, without resourceVersion, beginning
 *
 *   {"apiVersion":"...","kind":"...","metadata":{   <- the splice point is right here
 *
 * The first byte is the format: 0x7b `{` is this one, the only one today. A new form takes another
 * first byte (0x6b `k` stays free: it is upstream's protobuf envelope); readers refuse formats they do
 * not know. There is no further header, so a value reads as plain JSON in any etcd tool, and
 * the splice point is within the first hundred bytes because encodeObject puts metadata third.
 *
 * Wire JSON is the stored bytes with `"resourceVersion":"N",` spliced in: one copy, no parsing.
 * JSON from other writers, with metadata elsewhere, is accepted at the price of re-encoding. Stored
 * bytes never carry resourceVersion: upstream, too, clears it before it writes.
 */
import { keepSpelling, objectText } from "#api/json/kept-json.ts";
import type { AnyObject, ObjectMeta } from "#api/object.ts";
import { parseExactJson } from "#base/exact-json.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

const metadataOpen = encoder.encode('"metadata":{');
const resourceVersionKey = encoder.encode('"resourceVersion":"');
const resourceVersionEnd = encoder.encode('",');

/** Maximum position of the splice point: apiVersion and kind have at most 253 + 63 + 63 characters. */
const spliceSearchBytesMax = 512;
const formatJson = 0x7b;
const closingBrace = 0x7d;

/** The value is not an object in a known form. The message names the revision, not the content. */
class UnreadableValueError extends Error {
  constructor(revision: number, options?: { cause: unknown }) {
    super(`stored value at revision ${revision} is not readable`, options);
    this.name = "UnreadableValueError";
  }
}

/** The bytes to store. `object` must have apiVersion and kind; its resourceVersion is omitted. */
export function encodeObject(object: AnyObject): Uint8Array {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { resourceVersion: _, ...stored } = metadata ?? {};
  const ordered = { apiVersion, kind, metadata: stored, ...rest };
  return encoder.encode(objectText(ordered));
}

/**
 * Returns complete JSON with `revision` as resourceVersion, in an array of its own or in a part of a buffer
 * shared with others of its kind. Revision 0 means "never stored": the value is returned unchanged.
 */
export function wireJson(value: Uint8Array, revision: number): Uint8Array {
  if (revision === 0) return value;
  const splice = splicePoint(value);
  if (splice < 0 || value[splice] === closingBrace) return wireJsonForeign(value, revision);
  const digits = String(revision);
  const inserted = resourceVersionKey.length + digits.length + resourceVersionEnd.length;
  const out = carve(value.length + inserted);
  // Copies the whole value shifted, then its head to its place, which is faster than two views.
  out.set(value, inserted);
  for (let i = 0; i < splice; i++) out[i] = value[i] ?? 0;
  out.set(resourceVersionKey, splice);
  let at = splice + resourceVersionKey.length;
  for (let i = 0; i < digits.length; i++) out[at++] = digits.charCodeAt(i);
  out.set(resourceVersionEnd, at);
  return out;
}

/** A newly parsed object that the caller owns, with `revision` as resourceVersion unless 0. */
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
    const text = decoder.decode(value);
    // A value that begins with "{" either parses to an object or fails.
    const object = parseExactJson(text) as AnyObject;
    keepSpelling(object, object.kind, text);
    return object;
  } catch (cause) {
    throw new UnreadableValueError(revision, { cause });
  }
}

/** Creating an off-heap array takes about 1 µs, a part of a slab a fifth of that. */
const slabBytes = 64 * 1024;
const carvedBytesMax = slabBytes / 8;
let slab = new Uint8Array(0);
let slabUsed = 0;

function carve(bytes: number): Uint8Array {
  if (bytes > carvedBytesMax) return new Uint8Array(bytes);
  if (slabUsed + bytes > slab.length) {
    slab = new Uint8Array(slabBytes);
    slabUsed = 0;
  }
  const start = slabUsed;
  slabUsed += bytes;
  return slab.subarray(start, slabUsed);
}

function wireJsonForeign(value: Uint8Array, revision: number): Uint8Array {
  return encoder.encode(JSON.stringify(decodeObject(value, revision)));
}

/**
 * Returns the index after `"metadata":{`, or -1 when the value was not made by encodeObject. The second brace of the
 * value is metadata's, because neither apiVersion nor kind contains one.
 */
function splicePoint(value: Uint8Array): number {
  if (value[0] !== formatJson) return -1;
  const splice = value.indexOf(formatJson, 1) + 1;
  if (splice < metadataOpen.length || splice > spliceSearchBytesMax) return -1;
  const start = splice - metadataOpen.length;
  for (let i = 0; i < metadataOpen.length; i++) {
    if (value[start + i] !== metadataOpen[i]) return -1;
  }
  return splice;
}
