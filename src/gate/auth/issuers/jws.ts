/**
 * Verifies the signatures of tokens from external issuers (RFC 7515, compact form), over node:crypto.
 *
 * Holds  the algorithm must be allowed, and must fit the key's type and curve: `none`, HMAC and an algorithm of another
 *        key type never verify. A key that names an algorithm verifies only this algorithm. A key with a use other than
 *        signatures verifies nothing.
 * Bounds `tokenLengthMax` characters of a token; of a key set see key-set.ts.
 */
import { constants, type KeyObject, verify } from "node:crypto";
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import type { RawClaims } from "../jwt.ts";

export const signingAlgorithms = [
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
] as const;

type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** One key of a key set. */
export interface IssuerKey {
  readonly keyId: string;
  /** Algorithm of the key. "": any algorithm that fits the key type. */
  readonly algorithm: string;
  readonly key: KeyObject;
}

export interface SignedToken {
  readonly algorithm: string;
  readonly keyId: string;
  readonly claims: RawClaims;
  readonly signed: Uint8Array;
  readonly signature: Uint8Array;
}

const tokenLengthMax = 16_384;
/** Decoder that throws if the bytes are no UTF-8. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Parses a token without verifying any part of it. Undefined: it is no token in compact form. */
export function parseToken(token: string): SignedToken | undefined {
  if (token.length > tokenLengthMax) return undefined;
  const [header, payload, end, more] = token.split(".", 4);
  if (header === undefined || payload === undefined || end === undefined || more !== undefined) {
    return undefined;
  }
  const fields = parsePart(header);
  const claims = parsePart(payload);
  const signature = bytesOf(end);
  // `crit` names extensions that a reader must understand, such as `b64`. None of them is supported.
  if (fields === undefined || claims === undefined || signature === undefined || "crit" in fields) {
    return undefined;
  }
  const { alg, kid } = fields;
  return {
    algorithm: typeof alg === "string" ? alg : "",
    keyId: typeof kid === "string" ? kid : "",
    claims,
    signed: Buffer.from(`${header}.${payload}`),
    signature,
  };
}

function parsePart(text: string): RawClaims | undefined {
  const bytes = bytesOf(text);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    const isObject = isRecord(value);
    return isObject ? (value as RawClaims) : undefined; // JSON objects have text keys
  } catch {
    return undefined;
  }
}

/** Decodes base64url. Undefined: the text is not the canonical encoding of its bytes, so that a token has only one valid text. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

export function isSigningAlgorithm(text: string): text is SigningAlgorithm {
  return signingAlgorithms.some((known) => known === text);
}

/** Returns whether one of `keys` signed the token. A key id in the token selects keys; without it all keys are tried. */
export function isSignedBy(token: SignedToken, keys: readonly IssuerKey[]): boolean {
  const { algorithm, keyId } = token;
  if (!isSigningAlgorithm(algorithm)) return false;
  return keys.some(
    (key) =>
      (keyId === "" || key.keyId === keyId) &&
      (key.algorithm === "" || key.algorithm === algorithm) &&
      fits(algorithm, key.key) &&
      verifies(token, algorithm, key.key),
  );
}

const curves: Readonly<Record<string, string>> = {
  ES256: "prime256v1",
  ES384: "secp384r1",
  ES512: "secp521r1",
};

function fits(algorithm: SigningAlgorithm, key: KeyObject): boolean {
  if (!algorithm.startsWith("ES")) return key.asymmetricKeyType === "rsa";
  const curve = key.asymmetricKeyDetails?.namedCurve;
  return key.asymmetricKeyType === "ec" && curve === ownEntry(curves, algorithm);
}

function verifies(
  { signed, signature }: SignedToken,
  algorithm: SigningAlgorithm,
  key: KeyObject,
): boolean {
  const hash = `sha${algorithm.slice(2)}`;
  switch (algorithm.slice(0, 2)) {
    case "ES":
      return verify(hash, signed, { key, dsaEncoding: "ieee-p1363" }, signature);
    case "PS": {
      // RFC 7518 3.5: the salt has the length of the digest.
      const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = constants;
      return verify(hash, signed, { key, padding, saltLength }, signature);
    }
    default:
      return verify(hash, signed, { key, padding: constants.RSA_PKCS1_PADDING }, signature);
  }
}
