/**
 * kube-apiserver's stored values and ours.
 *
 *   ours      JSON, metadata third (watch/object-bytes.ts)
 *   upstream  "k8s\0" and a protobuf envelope for built-in kinds; JSON for custom resources, their
 *             definitions and APIServices
 *
 * Neither form holds the object's resourceVersion: the key's revision is that.
 */
import { parseApiVersion, type AnyObject } from "#api/object.ts";
import { encodeObject, decodeObject } from "#watch/object-bytes.ts";
import { decodeProtobuf } from "#server/protobuf/decode.ts";
import { hasProtobufForm, objectBytes } from "#server/protobuf/envelope.ts";
import { readEnvelope } from "#wire/protobuf.ts";
import { inStoredVersion } from "./stored-version.ts";

/** Kinds whose servers store JSON though they have a message. */
const jsonGroups: ReadonlySet<string> = new Set(["apiextensions.k8s.io", "apiregistration.k8s.io"]);

const openingBrace = 0x7b;

/** A value that cannot be an object of ours: the key says which. */
class UnreadableStockValueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UnreadableStockValueError";
  }
}

const encryptedPrefix = new TextEncoder().encode("k8s:enc:");

/** By upstream's encryption at rest. */
export function isEncrypted(value: Uint8Array): boolean {
  return encryptedPrefix.every((byte, at) => value[at] === byte);
}

export function toStockValue(value: Uint8Array): Uint8Array {
  const object = decodeObject(value, 0);
  const { apiVersion = "", kind = "" } = object;
  const group = parseApiVersion(apiVersion)?.group ?? "";
  if (jsonGroups.has(group) || !hasProtobufForm({ apiVersion, kind })) return value;
  return objectBytes(object);
}

/** In the version in which it is stored here. Throws UnreadableStockValueError, ProtobufError. */
export function fromStockValue(value: Uint8Array): Uint8Array {
  if (value[0] === openingBrace) return encodeObject(inStoredVersion(decodeObject(value, 0)));
  const { apiVersion, kind, raw } = readEnvelope(value);
  const gv = parseApiVersion(apiVersion);
  const fields = gv === undefined ? undefined : decodeProtobuf({ ...gv, kind }, raw);
  if (fields === undefined)
    throw new UnreadableStockValueError(`${apiVersion} ${kind} is not known here`);
  return encodeObject(inStoredVersion({ ...(fields as AnyObject), apiVersion, kind }));
}
