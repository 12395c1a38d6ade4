/**
 * Signs tokens (JWS compact form) with ES256 or RS256 over node:crypto, and checks their signatures.
 *
 * Holds  the algorithm follows from the key, never from the token's header; `none` is impossible.
 * Bounds a token longer than 16 KiB is rejected unread.
 * Why own code: it is two dozen synchronous lines over the host's crypto. A library needs tens of milliseconds to load
 * and returns promises.
 */
import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { isRecord } from "#base/is-record.ts";

export interface VerifyKey {
  readonly keyId: string;
  readonly algorithm: "ES256" | "RS256";
  readonly publicKey: KeyObject;
}

export interface SigningKey extends VerifyKey {
  readonly privateKey: KeyObject;
}

/** Claims as the token contains them: any claim may be missing or of another type. */
export type RawClaims = Readonly<Record<string, unknown>>;

const tokenLengthMax = 16_384;
/** Decoder that throws if the bytes are no UTF-8. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function verifyKey(publicKeyPem: string): VerifyKey {
  const publicKey = createPublicKey(publicKeyPem);
  const spki = publicKey.export({ type: "spki", format: "der" });
  const keyId = createHash("sha256").update(spki).digest("base64url");
  return { keyId, algorithm: algorithmOf(publicKey), publicKey };
}

export function signingKey(privateKeyPem: string): SigningKey {
  const privateKey = createPrivateKey(privateKeyPem);
  const publicPem = createPublicKey(privateKeyPem).export({ type: "spki", format: "pem" });
  return { ...verifyKey(publicPem.toString()), privateKey };
}

function algorithmOf(key: KeyObject): VerifyKey["algorithm"] {
  if (key.asymmetricKeyType === "rsa") return "RS256";
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (key.asymmetricKeyType === "ec" && curve === "prime256v1") return "ES256";
  throw new Error(`a token key must be EC P-256 or RSA, not ${key.asymmetricKeyType} ${curve}`);
}

export function signToken(key: SigningKey, claims: object): string {
  const encode = (value: object): string =>
    Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${encode({ alg: key.algorithm, kid: key.keyId })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), signatureKey(key.privateKey));
  return `${signed}.${signature.toString("base64url")}`;
}

/** JOSE needs r and s concatenated, while crypto's default is DER. RSA keys ignore the option. */
function signatureKey(key: KeyObject): { key: KeyObject; dsaEncoding: "ieee-p1363" } {
  return { key, dsaEncoding: "ieee-p1363" };
}

/** Returns the unverified claims of a token, to see whether this server may have issued it. */
export function peekClaims(token: string): RawClaims | undefined {
  if (token.length > tokenLengthMax) return undefined;
  const parts = token.split(".");
  return parts.length === 3 ? parseObject(parts[1] ?? "") : undefined;
}

/** Returns whether one of `keys` signed `token`. A key id in the header restricts the keys, as upstream. */
export function hasValidSignature(token: string, keys: readonly VerifyKey[]): boolean {
  const [header = "", claims = "", signature = ""] = token.split(".");
  const keyId = parseObject(header)?.["kid"];
  const named = keys.filter((key) => key.keyId === keyId);
  const bytes = strictBase64url(signature);
  if (bytes === undefined) return false;
  const signed = Buffer.from(`${header}.${claims}`);
  return (named.length > 0 ? named : keys).some(
    (key) =>
      parseObject(header)?.["alg"] === key.algorithm &&
      verify("sha256", signed, signatureKey(key.publicKey), bytes),
  );
}

/**
 * Undefined unless `text` is the canonical encoding of its bytes (RFC 7515 2, RFC 4648 3.5). Otherwise a token would
 * have several valid spellings, and one that a cache or a list of revoked tokens does not recognise could be used
 * again.
 */
function strictBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

function parseObject(base64url: string): RawClaims | undefined {
  try {
    const bytes = strictBase64url(base64url);
    if (bytes === undefined) return undefined;
    const value: unknown = JSON.parse(utf8.decode(bytes));
    const isObject = isRecord(value);
    return isObject ? (value as RawClaims) : undefined;
  } catch {
    return undefined;
  }
}
