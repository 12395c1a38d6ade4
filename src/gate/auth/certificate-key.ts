/**
 * Checks the public key of a certificate request, with upstream's texts (Go's crypto/x509 and crypto/rsa). Allowed: RSA
 * of 1024 bits or more, EC of NIST's four curves as a named curve, Ed25519.
 *
 * A key of another algorithm is not an error here: its request fails at the signature check.
 */
import type { KeyObject } from "node:crypto";
import { type DerValue, derChildren, Tag } from "./der.ts";

/** Content octets of the OIDs, in hex. */
const keyOids = { rsa: "2a864886f70d010101", ec: "2a8648ce3d0201", ed25519: "2b6570" } as const;

/** OIDs of P-224, P-256, P-384 and P-521. */
const curveOids = new Set(["2b81040021", "2a8648ce3d030107", "2b81040022", "2b81040023"]);
const uncompressedPoint = 4;
const rsaBitsMin = 1024;

/** Returns why a SubjectPublicKeyInfo cannot be read. Undefined: it can be read, or its algorithm is not known. */
export function publicKeyFault(info: DerValue): string | undefined {
  const [algorithm, bits] = derChildren(info.content) ?? [];
  const [oid, parameters] = (algorithm && derChildren(algorithm.content)) ?? [];
  if (oid?.tag !== Tag.oid || bits?.tag !== Tag.bitString) {
    return "asn1: structure error: malformed public key";
  }
  switch (hex(oid.content)) {
    case keyOids.rsa:
      return isNull(parameters) ? undefined : "x509: RSA key missing NULL parameters";
    case keyOids.ec:
      return curveFault(parameters, bits);
    case keyOids.ed25519:
      return parameters === undefined
        ? undefined
        : "x509: Ed25519 key encoded with illegal parameters";
    default:
      return undefined;
  }
}

function curveFault(parameters: DerValue | undefined, bits: DerValue): string | undefined {
  if (parameters?.tag !== Tag.oid) return "x509: invalid ECDSA parameters";
  if (!curveOids.has(hex(parameters.content))) return "x509: unsupported elliptic curve";
  return bits.content[1] === uncompressedPoint
    ? undefined
    : "ecdsa: invalid uncompressed public key";
}

/** Returns why a key is too weak, so that no signature by it is accepted. */
export function weakKeyFault(key: KeyObject): string | undefined {
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits === undefined || bits >= rsaBitsMin) return undefined;
  return `crypto/rsa: ${bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)`;
}

function isNull(value: DerValue | undefined): boolean {
  return value?.tag === Tag.null && value.content.length === 0;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
