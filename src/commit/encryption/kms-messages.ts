/** Messages of a KMS plugin (k8s.io/kms/apis/v2/api.proto), and the stored form of a value that a plugin protects. */
import { bytes, int, many, message, type Message, text } from "#wire/etcd-codec.ts";

export interface Annotation {
  readonly key: string;
  readonly value: Uint8Array;
}

/** An entry of a `map<string, bytes>`. */
const annotation: Message<Annotation> = message({ key: text(1), value: bytes(2) });
const annotationsAt = (number: number) => many(number, () => annotation);

export const statusRequest = message({});
/** `version`: `v2` or `v2beta1`; `healthz`: `ok`, or why the plugin is not healthy. */
export const statusResponse = message({ version: text(1), healthz: text(2), keyId: text(3) });

export const encryptRequest = message({ plaintext: bytes(1), uid: text(2) });
export const encryptResponse = message({
  ciphertext: bytes(1),
  keyId: text(2),
  annotations: annotationsAt(3),
});

export const decryptRequest = message({
  ciphertext: bytes(1),
  uid: text(2),
  keyId: text(3),
  annotations: annotationsAt(4),
});
export const decryptResponse = message({ plaintext: bytes(1) });

/** `EncryptedObject` of k8s.io/apiserver's kmsv2/v2/api.proto: the part of a stored value behind the prefix. */
export const encryptedObject = message({
  encryptedData: bytes(1),
  keyId: text(2),
  encryptedDekSource: bytes(3),
  annotations: annotationsAt(4),
  encryptedDekSourceType: int(5),
});

/** The part of an envelope that identifies the key, without the sealed value itself. */
export interface DekSource {
  readonly keyId: string;
  readonly encryptedDekSource: Uint8Array;
  readonly annotations: readonly Annotation[];
  readonly encryptedDekSourceType: number;
}
