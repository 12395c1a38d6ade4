/**
 * Envelope encryption as upstream's kmsv2: values are sealed with a key derived from a seed, and the seed, encrypted by
 * the KMS plugin, is stored beside each of them.
 *
 *   EncryptedObject { encryptedData, keyID, encryptedDEKSource, annotations, encryptedDEKSourceType }
 *   encryptedData, type 1   32 bytes of info ++ AES-256-GCM (nonce, ciphertext, tag) with the key HKDF-Expand(seed, info)
 *   encryptedData, type 0   AES-GCM with the plaintext of the source as key: read, never written
 *
 * After  kmsv2/envelope.go, aes/aes_extended_nonce.go: sizes, order and texts are theirs.
 */
import { createHash, createHmac, type Hash, randomBytes } from "node:crypto";
import { SealedValueError } from "#store/at-rest.ts";
import { ProtobufError } from "#wire/protobuf.ts";
import { type DekSource, encryptedObject } from "./kms-messages.ts";
import { type Cipher, cipherOf } from "./providers.ts";

/** Values of `encryptedDEKSourceType`: the source is the key itself, or the seed of keys. */
export const SourceType = { aesGcmKey: 0, seed: 1 } as const;

export const seedBytes = 32;
const infoBytes = 32;
const annotationsBytesMax = 32 * 1024;
const keyIdBytesMax = 1024;
const sourceBytesMax = 1024;
const keyLengths = [16, 24, 32];

interface Envelope extends DekSource {
  readonly encryptedData: Uint8Array;
}

/** Returns a cipher that seals each value with a new key. @throws Error when the seed is too short. */
export function seedCipher(seed: Uint8Array): Cipher {
  if (seed.length < seedBytes)
    throw new Error(`invalid seed length ${seed.length} used for key generation`);
  const cipher = (info: Uint8Array): Cipher => cipherOf("aesgcm", derivedKey(seed, info));
  return {
    seal(path, value) {
      const info = randomBytes(infoBytes);
      return Buffer.concat([info, cipher(info).seal(path, value)]);
    },
    open(path, sealed) {
      if (sealed.length < infoBytes)
        throw new SealedValueError("the stored data was shorter than the required size");
      return cipher(sealed.subarray(0, infoBytes)).open(path, sealed.subarray(infoBytes));
    },
  };
}

/** Returns the first block of HKDF-Expand with SHA-256 (RFC 5869), which is as long as the key. */
function derivedKey(seed: Uint8Array, info: Uint8Array): Uint8Array {
  return createHmac("sha256", seed).update(info).update(oneByte).digest();
}

const oneByte = Uint8Array.of(1);

/** Returns the cipher of a decrypted source. @throws Error when the plugin's answer is no key. */
export function cipherOfSource(type: number, plaintext: Uint8Array): Cipher {
  // Copied, so that the larger message that contains it can be freed.
  if (type === SourceType.seed) return seedCipher(plaintext.slice());
  if (!keyLengths.includes(plaintext.length))
    throw new Error(`crypto/aes: invalid key size ${plaintext.length}`);
  return cipherOf("aesgcm", plaintext.slice());
}

export function encodeEnvelope(source: DekSource, encryptedData: Uint8Array): Uint8Array {
  const { keyId, encryptedDekSource, annotations, encryptedDekSourceType } = source;
  const fields = { keyId, encryptedDekSource, annotations, encryptedDekSourceType };
  return encryptedObject.encode({ ...fields, encryptedData });
}

/** @throws SealedValueError */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  let envelope: Envelope;
  try {
    envelope = encryptedObject.decode(bytes);
  } catch (error) {
    if (error instanceof ProtobufError) throw new SealedValueError(error.message, { cause: error });
    throw error;
  }
  const fault = envelopeFault(envelope);
  if (fault !== undefined) throw new SealedValueError(fault);
  return envelope;
}

function envelopeFault(envelope: Envelope): string | undefined {
  if (envelope.encryptedDekSourceType > SourceType.seed || envelope.encryptedDekSourceType < 0)
    return `unknown encryptedDEKSourceType: ${envelope.encryptedDekSourceType}`;
  if (envelope.encryptedData.length === 0) return "encrypted data is empty";
  return sourceFault(envelope);
}

/** Checks a plugin's answer, or the envelope of a stored value, against upstream's bounds. */
export function sourceFault({
  encryptedDekSource,
  keyId,
  annotations,
}: DekSource): string | undefined {
  const { length } = encryptedDekSource;
  const source = "failed to validate encrypted DEK source";
  if (length === 0) return `${source}: encrypted DEK source is empty`;
  if (length > sourceBytesMax)
    return `${source}: encrypted DEK source is ${length} bytes, which exceeds the max size of ${sourceBytesMax}`;
  const { fault } = keyIdFault(keyId) ?? {};
  if (fault !== undefined) return `failed to validate key id: ${fault}`;
  const why = annotationsFault(annotations);
  return why === undefined ? undefined : `failed to validate annotations: ${why}`;
}

/** Checks a key id. `code`: the fault's name in metrics. */
export function keyIdFault(
  keyId: string,
): { readonly code: "empty" | "too_long"; readonly fault: string } | undefined {
  const length = Buffer.byteLength(keyId);
  if (length === 0) return { code: "empty", fault: "keyID is empty" };
  if (length <= keyIdBytesMax) return undefined;
  const fault = `keyID is ${length} bytes, which exceeds the max size of ${keyIdBytesMax}`;
  return { code: "too_long", fault };
}

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function annotationsFault(annotations: DekSource["annotations"]): string | undefined {
  let total = 0;
  for (const { key, value } of annotations) {
    total += Buffer.byteLength(key) + value.length;
    const labels = key.replace(/\.$/, "").split(".");
    if (labels.length < 2)
      return `annotations: Invalid value: ${JSON.stringify(key)}: should be a domain with at least two segments separated by dots`;
    if (!labels.every((one) => one.length <= 63 && label.test(one)))
      return `annotations: Invalid value: ${JSON.stringify(key)}: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character`;
  }
  if (total > annotationsBytesMax)
    return `total size of annotations is ${total}, which exceeds the max size of ${annotationsBytesMax}`;
  return undefined;
}

/** Returns a text that identifies a source: sources with equal texts have the same plaintext. */
export function sourceKey(source: DekSource): string {
  const hash = createHash("sha256");
  hash.update(Uint8Array.of(source.encryptedDekSourceType));
  addPart(hash, source.encryptedDekSource);
  addPart(hash, Buffer.from(source.keyId));
  const sorted = source.annotations.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  for (const { key, value } of sorted) {
    addPart(hash, Buffer.from(key));
    addPart(hash, value);
  }
  return hash.digest("base64");
}

function addPart(hash: Hash, bytes: Uint8Array): void {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  hash.update(length).update(bytes);
}

/** Returns the hash of a key id, the only form in which key ids are shown. */
export function hashOfId(id: string): string {
  return id === "" ? "" : `sha256:${createHash("sha256").update(id).digest("hex")}`;
}
