/**
 * kube-apiserver's stored values and ours.
 *
 *   ours      JSON, metadata third (forms/object-bytes.ts)
 *   upstream  "k8s\0" and a protobuf envelope for built-in kinds; JSON for custom resources, their
 *             definitions and APIServices
 *
 * Neither form holds the object's resourceVersion: the key's revision is that.
 */
import { parseApiVersion, type AnyObject } from "#api/object.ts";
import { encodeObject, decodeObject } from "#forms/object-bytes.ts";
import { decodeProtobuf } from "#forms/protobuf/decode.ts";
import { applyDefaults } from "#api/defaults/apply.ts";
import { decodeBase64, encodeBase64 } from "#api/defaults/base64.ts";
import { objectMetaDefinition } from "#api/schema/schema.ts";
import { concatBytes } from "#base/bytes.ts";
import { encodeDefinition } from "#forms/protobuf/encode.ts";
import { delimited, envelope, hasProtobufForm, objectBytes } from "#forms/protobuf/envelope.ts";
import { readEnvelope, readFields, utf8 } from "#wire/protobuf.ts";
import { inStoredVersion } from "./stored-version.ts";

/** Groups whose servers store JSON, although their kinds have a protobuf message. */
const jsonGroups: ReadonlySet<string> = new Set(["apiextensions.k8s.io", "apiregistration.k8s.io"]);

const openingBrace = 0x7b;

/** A value that cannot be read as an object, although its key names a served kind. */
class UnreadableStockValueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnreadableStockValueError";
  }
}

export function toStockValue(value: Uint8Array): Uint8Array {
  const object = decodeObject(value, 0);
  const { apiVersion = "", kind = "" } = object;
  const group = parseApiVersion(apiVersion)?.group ?? "";
  if (kind === rangeKind) return rangeToStock(object as RangeObject);
  if (jsonGroups.has(group) || !hasProtobufForm({ apiVersion, kind })) return value;
  return objectBytes(object);
}

/** Returns the object in the version in which this store keeps it. Throws UnreadableStockValueError, ProtobufError. */
export function fromStockValue(value: Uint8Array): Uint8Array {
  if (value[0] === openingBrace) return encodeObject(inStoredVersion(decodeObject(value, 0)));
  const { apiVersion, kind, raw } = readEnvelope(value);
  if (apiVersion === "v1" && kind === rangeKind) return encodeObject(rangeFromStock(raw));
  const gv = parseApiVersion(apiVersion);
  const fields = gv === undefined ? undefined : decodeProtobuf({ ...gv, kind }, raw);
  if (fields === undefined)
    throw new UnreadableStockValueError(`${apiVersion} ${kind} is not known here`);
  return encodeObject(withDefaults({ ...(fields as AnyObject), apiVersion, kind }));
}

/** Applies defaults as upstream does after reading: protobuf cannot express an Event's unset time, which is null in JSON. */
function withDefaults(object: AnyObject): AnyObject {
  const stored = inStoredVersion(object);
  const { apiVersion = "", kind = "" } = stored;
  const gv = parseApiVersion(apiVersion);
  return gv === undefined ? stored : applyDefaults(gv.group, gv.version, kind, stored);
}

// ---- RangeAllocation {1: ObjectMeta, 2: range, 3: data}, which is no served kind

const rangeKind = "RangeAllocation";

interface RangeObject extends AnyObject {
  readonly range?: string;
  /** Bitmap in base64. */
  readonly data?: string;
}

function rangeToStock({ metadata = {}, range = "", data = "" }: RangeObject): Uint8Array {
  const message = [
    ...delimited(0x0a, [encodeDefinition(objectMetaDefinition, metadata)]),
    ...delimited(0x12, [new TextEncoder().encode(range)]),
    ...delimited(0x1a, [decodeBase64(data) ?? new Uint8Array()]),
  ];
  return envelope({ apiVersion: "v1", kind: rangeKind }, concatBytes(message));
}

/** Ignores the message's metadata: the key alone is the name. */
function rangeFromStock(message: Uint8Array): RangeObject {
  let [range, data] = ["", ""];
  readFields(message, ({ number, bytes }) => {
    if (number === 2) range = utf8(bytes);
    else if (number === 3) data = encodeBase64(bytes);
  });
  return { apiVersion: "v1", kind: rangeKind, metadata: {}, range, data };
}
