/**
 * Ciphers of encryption at rest, byte for byte as a stock API server's (pkg/storage/value/encrypt).
 *
 *   aesgcm     12 bytes of nonce ++ ciphertext ++ 16 bytes of tag; the path is authenticated
 *   aescbc     16 bytes of IV ++ ciphertext with PKCS#7; nothing is authenticated
 *   secretbox  24 bytes of nonce ++ NaCl's box; the path is not authenticated
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomFillSync } from "node:crypto";
import { SealedValueError } from "#store/at-rest.ts";
import { nonceBytes, openBox, sealBox, tagBytes } from "./secretbox.ts";

export interface Cipher {
  seal(path: string, value: Uint8Array): Uint8Array;
  /** Throws SealedValueError. */
  open(path: string, sealed: Uint8Array): Uint8Array;
}

/** A cipher whose keys change, and come from a KMS plugin. */
export interface KeyedCipher extends Cipher {
  /** As `AtRest.prepare`, for values without their prefix. */
  prepare(sealed: readonly Uint8Array[]): Promise<void> | undefined;
  /** Returns the name of the key that sealed a value, which is given without its prefix. */
  keyOf(sealed: Uint8Array): string;
  /** Returns the name of the key that seals values now. Undefined: no value can be sealed. */
  currentKey(): string | undefined;
}

export type CipherKind = "aesgcm" | "aescbc" | "secretbox";

export function cipherOf(kind: CipherKind, key: Uint8Array): Cipher {
  switch (kind) {
    case "aesgcm":
      return aesGcm(key);
    case "aescbc":
      return aesCbc(key);
    case "secretbox":
      return secretbox(key);
    default:
      return kind satisfies never;
  }
}

const gcmNonceBytes = 12;
const blockBytes = 16;
const tooShort = "the stored data was shorter than the required size";

/** Random bytes in stock. Asking the host for 12 bytes takes as long as asking for 16 KiB, so we ask for 16 KiB. */
const pool = { bytes: new Uint8Array(16 * 1024), at: 16 * 1024 };

/** Returns random bytes; each byte of the pool is used once. */
function randomOf(count: number): Uint8Array {
  if (pool.at + count > pool.bytes.length) {
    pool.bytes = randomFillSync(new Uint8Array(pool.bytes.length));
    pool.at = 0;
  }
  pool.at += count;
  return pool.bytes.subarray(pool.at - count, pool.at);
}

function aesGcm(secret: Uint8Array): Cipher {
  const key = createSecretKey(secret);
  const name = `aes-${8 * secret.length}-gcm` as "aes-256-gcm";
  return {
    seal(path, value) {
      const nonce = randomOf(gcmNonceBytes);
      const cipher = createCipheriv(name, key, nonce).setAAD(Buffer.from(path, "latin1"));
      const body = cipher.update(value);
      // In GCM mode `final` returns no bytes.
      cipher.final();
      return Buffer.concat([nonce, body, cipher.getAuthTag()]);
    },
    open(path, sealed) {
      if (sealed.length < gcmNonceBytes + tagBytes) throw new SealedValueError(tooShort);
      const decipher = createDecipheriv(name, key, sealed.subarray(0, gcmNonceBytes));
      decipher.setAAD(Buffer.from(path, "latin1"));
      decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
      const body = sealed.subarray(gcmNonceBytes, sealed.length - tagBytes);
      return finished("cipher: message authentication failed", () =>
        verified(decipher.update(body), decipher.final()),
      );
    },
  };
}

/** In GCM mode the end has no bytes, but computing it checks the tag. */
function verified(body: Uint8Array, _end: Uint8Array): Uint8Array {
  return body;
}

function aesCbc(secret: Uint8Array): Cipher {
  const key = createSecretKey(secret);
  const name = `aes-${8 * secret.length}-cbc`;
  return {
    seal(_path, value) {
      const iv = randomOf(blockBytes);
      const cipher = createCipheriv(name, key, iv);
      return Buffer.concat([iv, cipher.update(value), cipher.final()]);
    },
    open(_path, sealed) {
      if (sealed.length < 2 * blockBytes) throw new SealedValueError(tooShort);
      const decipher = createDecipheriv(name, key, sealed.subarray(0, blockBytes));
      return finished("invalid padding on input", () =>
        Buffer.concat([decipher.update(sealed.subarray(blockBytes)), decipher.final()]),
      );
    },
  };
}

function secretbox(key: Uint8Array): Cipher {
  return {
    seal(_path, value) {
      const nonce = randomOf(nonceBytes);
      return Buffer.concat([nonce, sealBox(key, nonce, value)]);
    },
    open(_path, sealed) {
      if (sealed.length < nonceBytes + tagBytes) throw new SealedValueError(tooShort);
      const box = sealed.subarray(nonceBytes);
      const value = openBox(key, sealed.subarray(0, nonceBytes), box);
      if (value === undefined) throw new SealedValueError("the box does not open with this key");
      return value;
    },
  };
}

function finished(why: string, open: () => Uint8Array): Uint8Array {
  try {
    return open();
  } catch (error) {
    throw new SealedValueError(why, { cause: error });
  }
}
