/**
 * The encodings around a message: the envelope of every object on the wire, list bodies and watch frames.
 *
 *   object   "k8s\0" Unknown{1: TypeMeta{1: apiVersion, 2: kind}, 2: message, 3: "", 4: ""}
 *   list     the same, with {metadata, items...} as its message: items are entries, made once each
 *   entry    one item as encoded in a list: tag, length, message
 *   frame    length in 4 bytes, big-endian, then WatchEvent{1: type, 2: RawExtension{1: object}}
 */
import { listMetaDefinition, objectMetaDefinition } from "#api/schema/schema.ts";
import { type AnyObject, parseApiVersion } from "#api/object.ts";
import { concatBytes } from "#base/bytes.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import { encodeDefinition, encodeProtobuf, travelsInProtobuf } from "./encode.ts";

/** An object's own apiVersion and kind. */
export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Consecutive chunks, joined once at the end. */
type Parts = readonly Uint8Array[];

const encoder = new TextEncoder();
const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);
/** contentEncoding and contentType, both written although empty. */
const unknownTail = Uint8Array.of(0x1a, 0x00, 0x22, 0x00);
const firstField = 0x0a;
const secondField = 0x12;
const metaGroup = "meta.k8s.io/";

/** An object with its own apiVersion and kind, in an envelope. @throws ProtobufError when its kind has no message. */
export function objectBytes(object: AnyObject): Uint8Array {
  const { apiVersion = "", kind = "" } = object;
  return concatBytes(enveloped({ apiVersion, kind }, [message({ apiVersion, kind }, object)]));
}

/** Wraps a message in an envelope. */
export function envelope({ apiVersion, kind }: TypeMeta, message: Uint8Array): Uint8Array {
  return concatBytes(enveloped({ apiVersion, kind }, [message]));
}

/** `object` as an item of a list of `type`. */
export function entryBytes(type: TypeMeta, object: AnyObject): Uint8Array {
  return concatBytes(delimited(itemsField(type), [message(type, object)]));
}

/** The object of a list entry, in an envelope. */
export function objectOfEntry(type: TypeMeta, entry: Uint8Array): Uint8Array {
  return concatBytes(enveloped(type, [messageOf(entry)]));
}

/** `type` is that of the list, such as `PodList`. The entries were made for this kind. */
export function listParts(type: TypeMeta, metadata: object, entries: Parts): Parts {
  const meta = encodeDefinition(listMetaDefinition, metadata);
  const itemsFirst = itemsField(type) === firstField;
  const head = delimited(itemsFirst ? secondField : firstField, [meta]);
  return enveloped(type, itemsFirst ? [...entries, ...head] : [...head, ...entries]);
}

export function watchFrame(eventType: string, type: TypeMeta, object: AnyObject): Uint8Array {
  const whole = enveloped(type, [message(type, object)]);
  const event = [
    ...delimited(firstField, [encoder.encode(eventType)]),
    ...delimited(secondField, delimited(firstField, whole)),
  ];
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, sizeOf(event));
  return concatBytes([length, ...event]);
}

/** Whether a kind has a message; the metadata of every kind has one. */
export function hasProtobufForm({ apiVersion, kind }: TypeMeta): boolean {
  if (apiVersion.startsWith(metaGroup)) return kind.startsWith("PartialObjectMetadata");
  const gv = parseApiVersion(apiVersion);
  return gv !== undefined && travelsInProtobuf({ ...gv, kind });
}

function message(type: TypeMeta, object: AnyObject): Uint8Array {
  const { apiVersion, kind } = type;
  if (apiVersion.startsWith(metaGroup) && kind === "PartialObjectMetadata") {
    const metadata = encodeDefinition(objectMetaDefinition, object.metadata ?? {});
    return concatBytes(delimited(firstField, [metadata]));
  }
  // Documents of the core group's legacy path have no version.
  const gv = parseApiVersion(apiVersion === "" ? "v1" : apiVersion);
  if (gv === undefined) throw new ProtobufError(`${apiVersion} is no API version`);
  return encodeProtobuf({ ...gv, kind }, object);
}

/** The field number of items: metadata is 1 and items 2 in every list but one. */
function itemsField({ apiVersion, kind }: TypeMeta): number {
  const isOdd = apiVersion === "meta.k8s.io/v1beta1" && kind.startsWith("PartialObjectMetadata");
  return isOdd ? firstField : secondField;
}

function enveloped({ apiVersion, kind }: TypeMeta, parts: Parts): Parts {
  const typeMeta = [
    ...delimited(firstField, [encoder.encode(apiVersion)]),
    ...delimited(secondField, [encoder.encode(kind)]),
  ];
  return [magic, ...delimited(firstField, typeMeta), ...delimited(secondField, parts), unknownTail];
}

/** A field of bytes or a message. `tag`: its number and wire type, below 128. */
export function delimited(tag: number, parts: Parts): Parts {
  const head = [tag];
  let left = sizeOf(parts);
  for (; left > 0x7f; left = Math.floor(left / 128)) head.push((left & 0x7f) | 0x80);
  head.push(left);
  return [Uint8Array.from(head), ...parts];
}

function messageOf(entry: Uint8Array): Uint8Array {
  let at = 1;
  while ((entry[at] ?? 0) > 0x7f) at++;
  return entry.subarray(at + 1);
}

function sizeOf(parts: Parts): number {
  let size = 0;
  for (const part of parts) size += part.length;
  return size;
}
