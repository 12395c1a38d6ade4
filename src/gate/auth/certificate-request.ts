/**
 * Reads PKCS#10 certificate requests (RFC 2986): the requested names, the key, and whether the signature proves
 * possession of the key. Admission and the signer use the result of this one parser.
 *
 *   CertificationRequest     = SEQUENCE { info, algorithm AlgorithmIdentifier, signature BIT STRING }
 *   info                     = SEQUENCE { version, subject Name, subjectPublicKeyInfo, attributes [0] }
 *
 * In     spec.request of a CertificateSigningRequest: base64 of one PEM block.
 * Out    errors with upstream's texts, where upstream has its own; Go's ASN.1 texts are not copied.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { createPublicKey, verify } from "node:crypto";
import { type AlternativeNames, requestedNames } from "./certificate-alternatives.ts";
import { publicKeyFault, weakKeyFault } from "./certificate-key.ts";
import { derChildren, derRead, Tag } from "./der.ts";
import type { DerValue } from "./der.ts";

export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** By hex of the attribute type's OID: values in the subject, in their order. */
  readonly subject: ReadonlyMap<string, readonly string[]>;
  readonly alternatives: AlternativeNames;
  /** SubjectPublicKeyInfo as DER. */
  readonly publicKey: Uint8Array;
  /** Returns why the signature does not match the key. Undefined: it matches. Only computed when called: large keys cost milliseconds. */
  signatureFault(): string | undefined;
}

type CertificateRequestReading =
  | { readonly kind: "read"; readonly facts: CertificateRequest }
  | { readonly kind: "unreadable"; readonly fault: string };

interface Algorithm {
  /** Key type as node:crypto names it. It is compared because node:crypto verifies some keys under another algorithm's name. */
  readonly key: string;
  /** Hash for node:crypto. Null: the algorithm has its own hash. */
  readonly hash: string | null;
  readonly fault: string;
  /** Go's name of an insecure algorithm, whose signatures prove nothing. */
  readonly insecure?: string;
}

const rsa = { key: "rsa", fault: "crypto/rsa: verification error" };
const ecdsa = { key: "ec", fault: "x509: ECDSA verification failure" };
const ed25519 = { key: "ed25519", fault: "x509: Ed25519 verification failure" };

/** By content octets of the OID in hex. RSA-PSS is absent: no client of Kubernetes signs requests with it. */
const algorithms: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ["2a864886f70d010104", { ...rsa, hash: "md5", insecure: "MD5-RSA" }],
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
  return (whole && readWhole(whole)) ?? malformed;
}

const malformed = {
  kind: "unreadable",
  fault: "asn1: structure error: malformed certificate request",
} as const;

/** Maximum size. 32 KiB hold some 2,500 names, read in 2 to 10 ms on two busy cores; real requests take about 1 KiB. */
const bytesMax = 32_768;

const begin = "-----BEGIN CERTIFICATE REQUEST-----";
const end = "-----END CERTIFICATE REQUEST-----";
const markers = /^-----.*$|-----/gm;

/**
 * Returns the one PEM block of a text in which both markers occur once, each on a line of its own. PEM parsers differ
 * in what they accept as a block, but all read such a text in the same way: a signer sees the block that was checked
 * here.
 */
function pemBlock(text: string): Uint8Array | undefined {
  const found: RegExpExecArray[] = [];
  for (const marker of text.matchAll(markers)) {
    if (found.push(marker) > 2) return undefined;
  }
  const [first, second] = found;
  if (first === undefined || second === undefined) return undefined;
  if (first[0].trimEnd() !== begin || second[0].trimEnd() !== end) return undefined;
  const body = text.slice(first.index + first[0].length, second.index).replace(/\s+/g, "");
  const isBase64 = body.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(body);
  return isBase64 ? Buffer.from(body, "base64") : undefined;
}

function readWhole(whole: DerValue): CertificateRequestReading | undefined {
  const [info, algorithm, signature] = sequence(whole) ?? [];
  const [, name, key, attributes] = (info && sequence(info)) ?? [];
  const subject = name && subjectValues(name);
  if (info === undefined || subject === undefined || key === undefined) return undefined;
  if (algorithm === undefined || signature?.tag !== Tag.bitString) return undefined;
  const fault = publicKeyFault(key);
  if (fault !== undefined) return { kind: "unreadable", fault };
  const alternatives = requestedNames(attributes);
  if (alternatives.kind === "unreadable") return alternatives;
  const facts = {
    // The last common name is used, as upstream.
    commonName: subject.get(subjectOids.commonName)?.at(-1) ?? "",
    organizations: subject.get(subjectOids.organization) ?? [],
    subject,
    alternatives: alternatives.names,
    publicKey: rawBytes(info, key),
    signatureFault: () => signatureFault(whole, info, key, algorithm, signature),
  };
  return { kind: "read", facts };
}

/** Content octets of the OIDs 2.5.4.3 and 2.5.4.10. */
const subjectOids = { commonName: "550403", organization: "55040a" } as const;

/** Reads an RDNSequence: a sequence of sets of (type, value). */
function subjectValues(subject: DerValue): ReadonlyMap<string, readonly string[]> | undefined {
  const values = new Map<string, string[]>();
  for (const set of sequence(subject) ?? []) {
    for (const pair of derChildren(set.content) ?? []) {
      const [type, value] = derChildren(pair.content) ?? [];
      if (type?.tag !== Tag.oid || value === undefined || !isPlainName(value)) return undefined;
      const oid = Buffer.from(type.content).toString("hex");
      const before = values.get(oid);
      if (before === undefined) values.set(oid, [textOf(value)]);
      else before.push(textOf(value));
    }
  }
  return values;
}

/**
 * Whether the value is UTF-8 or an ASCII type. Go ignores names that are not text and has special rules for the
 * obsolete types, so a signer could see another subject. Clients do not use these in practice.
 */
function isPlainName(value: DerValue): boolean {
  if (value.tag === Tag.utf8) return isUtf8(value.content);
  return asciiTags.has(value.tag) && isAscii(value.content);
}

/** Tags of NumericString, PrintableString and IA5String. */
const asciiTags = new Set([0x12, 0x13, 0x16]);

function textOf({ content }: DerValue): string {
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString();
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
  if (known.insecure !== undefined) {
    return `x509: cannot verify signature: insecure algorithm ${known.insecure}`;
  }
  try {
    // `info` is the first value of the outer sequence, so its bytes start where the sequence's content starts.
    const signed = whole.content.subarray(0, info.end);
    const spki = rawBytes(info, key);
    const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" });
    if (publicKey.asymmetricKeyType !== known.key) return otherKey;
    const weak = weakKeyFault(publicKey);
    if (weak !== undefined) return weak;
    const bits = signature.content.subarray(1);
    return verify(known.hash, signed, publicKey, bits) ? undefined : known.fault;
  } catch {
    // The key cannot be read.
    return otherKey;
  }
}

/** Returns the bytes of `value`, with tag and length, where `value` is a child of `parent`. */
function rawBytes(parent: DerValue, value: DerValue): Buffer {
  const siblings = derChildren(parent.content) ?? [];
  const at = siblings.findIndex((each) => each.end === value.end);
  const start = siblings[at - 1]?.end ?? 0;
  return Buffer.from(parent.content.subarray(start, value.end));
}
