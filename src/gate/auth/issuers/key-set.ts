/**
 * Reads the key set that an issuer publishes (RFC 7517): its public RSA and EC keys.
 *
 * Holds  symmetric keys, keys for encryption and unreadable keys are left out: one bad key does not make the others
 *        unusable.
 * Bounds `keysMax` keys; further ones are ignored.
 */
import { createPublicKey } from "node:crypto";
import { isRecord } from "#base/is-record.ts";
import { type IssuerKey, isSigningAlgorithm } from "./jws.ts";

/** Maximum number of keys. Issuers publish between one and a dozen. */
const keysMax = 256;

/** @throws Error if the document is no key set. */
export function readKeySet(document: unknown): readonly IssuerKey[] {
  const keys = isRecord(document) ? document["keys"] : undefined;
  if (!Array.isArray(keys)) throw new Error("oidc: failed to decode keys: no key set");
  return keys.slice(0, keysMax).flatMap((each: unknown) => readKey(each) ?? []);
}

function readKey(value: unknown): IssuerKey | undefined {
  if (!isRecord(value)) return undefined;
  const { kty, use, alg, kid } = value;
  if (kty !== "RSA" && kty !== "EC") return undefined;
  if (use !== undefined && use !== "sig") return undefined;
  const algorithm = typeof alg === "string" ? alg : "";
  if (algorithm !== "" && !isSigningAlgorithm(algorithm)) return undefined;
  try {
    // Only the public part is read, even if private members are present.
    const { n = "", e = "", crv = "", x = "", y = "" } = value as Readonly<Record<string, string>>; // else it throws
    const key = createPublicKey({
      key: kty === "RSA" ? { kty, n, e } : { kty, crv, x, y },
      format: "jwk",
    });
    return { keyId: typeof kid === "string" ? kid : "", algorithm, key };
  } catch {
    return undefined;
  }
}
