/**
 * PKCS#10 certificate requests (RFC 2986): the subject, and whether the signature proves possession of
 * the key.
 *
 *   CertificationRequest     = SEQUENCE { info, algorithm AlgorithmIdentifier, signature BIT STRING }
 *   info                     = SEQUENCE { version, subject Name, subjectPublicKeyInfo, attributes [0] }
 *
 * In     spec.request of a CertificateSigningRequest: base64 of PEM. The first PEM block counts.
 * Out    faults in upstream's words where it has words of its own; Go's ASN.1 texts are not copied.
 */
import { createPublicKey, verify } from "node:crypto";
import { subjectNames } from "./certificate.ts";
import { derChildren, derRead, Tag } from "./der.ts";
import type { DerValue } from "./der.ts";

export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Why the signature is not the key's; undefined when it is. Checked when asked: large keys cost milliseconds. */
  signatureFault(): string | undefined;
}

export type CertificateRequestReading =
  | { readonly kind: "read"; readonly facts: CertificateRequest }
  | { readonly kind: "unreadable"; readonly fault: string };

interface Algorithm {
  /** node:crypto's name of the key's type: it would verify some keys with another algorithm's name. */
  readonly key: string;
  /** For node:crypto; null where the algorithm has its own hash. */
  readonly hash: string | null;
  readonly fault: string;
}

const rsa = { key: "rsa", fault: "crypto/rsa: verification error" };
const ecdsa = { key: "ec", fault: "x509: ECDSA verification failure" };
const ed25519 = { key: "ed25519", fault: "x509: Ed25519 verification failure" };

/** By OID contents in hex. RSA-PSS is absent: no client of Kubernetes signs requests with it. */
const algorithms: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ["2a864886f70d010105", { ...rsa, hash: "sha1" }],
  ["2a864886f70d01010b", { ...rsa, hash: "sha256" }],
  ["2a864886f70d01010c", { ...rsa, hash: "sha384" }],
  ["2a864886f70d01010d", { ...rsa, hash: "sha512" }],
  ["2a8648ce3d0401", { ...ecdsa, hash: "sha1" }],
  ["2a8648ce3d040302", { ...ecdsa, hash: "sha256" }],
  ["2a8648ce3d040303", { ...ecdsa, hash: "sha384" }],
  ["2a8648ce3d040304", { ...ecdsa, hash: "sha512" }],
  ["2b6570", { ...ed25519, hash: null }],
]);

const otherKey = "x509: signature algorithm specifies a different public key type";

export function readCertificateRequest(request: string): CertificateRequestReading {
  const bytes = pemBlock(Buffer.from(request, "base64").toString("latin1"));
  if (bytes === undefined) {
    return { kind: "unreadable", fault: "PEM block type must be CERTIFICATE REQUEST" };
  }
  if (bytes.length > bytesMax) {
    return { kind: "unreadable", fault: `must not be longer than ${bytesMax} bytes` };
  }
  const whole = derRead(bytes, 0);
  if (whole !== undefined && whole.end !== bytes.length) {
    return { kind: "unreadable", fault: "asn1: syntax error: trailing data" };
  }
  const facts = whole && factsOf(whole);
  if (facts === undefined) {
    return { kind: "unreadable", fault: "asn1: structure error: malformed certificate request" };
  }
  return { kind: "read", facts };
}

/** A name of 64 KiB has some 6,000 attributes, read in 5 ms; real requests take about 1 KiB. */
const bytesMax = 65_536;

const begin = "-----BEGIN CERTIFICATE REQUEST-----";
const end = "-----END CERTIFICATE REQUEST-----";

/** Looks at the first block only, so the cost stays linear whatever is sent. */
function pemBlock(text: string): Uint8Array | undefined {
  const start = text.indexOf("-----BEGIN ");
  if (start < 0 || !text.startsWith(begin, start)) return undefined;
  const from = start + begin.length;
  const to = text.indexOf("-----", from);
  if (to < 0 || !text.startsWith(end, to)) return undefined;
  const body = text.slice(from, to);
  return /^[A-Za-z0-9+/=\s]*$/.test(body) ? Buffer.from(body, "base64") : undefined;
}

function factsOf(whole: DerValue): CertificateRequest | undefined {
  const [info, algorithm, signature] = sequence(whole) ?? [];
  const subject = info && sequence(info)?.[1];
  const key = info && sequence(info)?.[2];
  const names = subject && subjectNames(subject);
  if (info === undefined || names === undefined || key === undefined) return undefined;
  if (algorithm === undefined || signature?.tag !== Tag.bitString) return undefined;
  return {
    ...names,
    signatureFault: () => signatureFault(whole, info, key, algorithm, signature),
  };
}

function sequence(value: DerValue): readonly DerValue[] | undefined {
  return value.tag === Tag.sequence ? derChildren(value.content) : undefined;
}

function signatureFault(
  whole: DerValue,
  info: DerValue,
  key: DerValue,
  algorithm: DerValue,
  signature: DerValue,
): string | undefined {
  const oid = sequence(algorithm)?.[0]?.content ?? new Uint8Array();
  const known = algorithms.get(Buffer.from(oid).toString("hex"));
  if (known === undefined) return "x509: cannot verify signature: algorithm unimplemented";
  try {
    // info is the first value of the outer sequence, so its bytes start there.
    const signed = whole.content.subarray(0, info.end);
    const spki = rawBytes(info, key);
    const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
    if (publicKey.asymmetricKeyType !== known.key) return otherKey;
    const bits = signature.content.subarray(1);
    return verify(known.hash, signed, publicKey, bits) ? undefined : known.fault;
  } catch {
    // A key that cannot be read.
    return otherKey;
  }
}

/** `value` with its tag and length, of the children of `parent`. */
function rawBytes(parent: DerValue, value: DerValue): Buffer {
  const siblings = derChildren(parent.content) ?? [];
  const at = siblings.findIndex((each) => each.end === value.end);
  const start = siblings[at - 1]?.end ?? 0;
  return Buffer.from(parent.content.subarray(start, value.end));
}
