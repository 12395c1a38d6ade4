/**
 * Makes the certificate of a request, as upstream's signing controllers do: byte for byte the encoding of Go's
 * x509.CreateCertificate for upstream's PermissiveSigningPolicy.
 *
 * In     an authority, a request, usages by their names in the API, a lifetime, 16 random serial bytes.
 * Out    PEM. Subject: upstream's nine attributes, one set per type, in upstream's order; others are dropped.
 *        Extensions: key usage, extended key usage, no authority, the authority's key, alternative names.
 * Holds  only alternative names are copied from the request's extensions; notAfter <= the authority's.
 * After  pkg/controller/certificates/authority.
 */
import {
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  X509Certificate,
} from "node:crypto";
import { authorityFacts } from "./certificate-authority.ts";
import type { AlternativeNames } from "./certificate-alternatives.ts";
import type { CertificateRequest } from "./certificate-request.ts";
import { extendedUsageOids, usageBits } from "./certificate-usages.ts";
import {
  der,
  derBitString,
  derInteger,
  derNamedBits,
  derOid,
  derText,
  derTime,
  Tag,
} from "./der.ts";
import { type IssuedCertificate, pemBlock } from "./pki.ts";

interface SigningOrder {
  /** Usages of the certificate, such as `digital signature` and `client auth`. */
  readonly usages: readonly string[];
  readonly ttlMs: number;
  readonly nowMs: number;
  /** Serial number: positive, big-endian. */
  readonly serial: Uint8Array;
}

/** The authority cannot sign at present. The message is upstream's. */
export class SigningError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SigningError";
  }
}

const backdateMs = 5 * 60_000;
/**
 * A certificate with a shorter lifetime has its full lifetime from now on. A longer lifetime also counts the time by
 * which the start was moved back.
 */
const shortMs = 8 * 3_600_000;

export function signRequest(
  authority: IssuedCertificate,
  request: CertificateRequest,
  order: SigningOrder,
): string {
  const key = createPrivateKey(authority.privateKey);
  const algorithm = algorithmOf(key);
  const signed = certificateBody(authority, request, order, algorithm.identifier);
  const signature = sign(algorithm.hash, signed, key);
  return pemBlock(
    "CERTIFICATE",
    der(Tag.sequence, signed, algorithm.identifier, derBitString(signature)),
  );
}

function certificateBody(
  authority: IssuedCertificate,
  request: CertificateRequest,
  order: SigningOrder,
  algorithm: Uint8Array,
): Uint8Array {
  const { subject: issuer, keyId } = authorityFacts(authority.certificate);
  const { notBeforeMs, notAfterMs } = validity(authority, order);
  const subject = encodeSubject(request.subject);
  const isOwn = Buffer.from(subject).equals(issuer);
  const key = createPublicKey({ key: Buffer.from(request.publicKey), format: "der", type: "spki" });
  return der(
    Tag.sequence,
    der(0xa0, derInteger(Uint8Array.of(2))),
    derInteger(order.serial),
    algorithm,
    issuer,
    der(Tag.sequence, derTime(notBeforeMs), derTime(notAfterMs)),
    subject,
    key.export({ type: "spki", format: "der" }),
    der(
      0xa3,
      der(
        Tag.sequence,
        ...usageExtensions(order.usages),
        extension(oids.basicConstraints, "critical", der(Tag.sequence)),
        ...(keyId === undefined || isOwn ? [] : [authorityKeyExtension(keyId)]),
        ...alternativeExtension(request.alternatives, subject.length === emptyNameBytes),
      ),
    ),
  );
}

/** Number of bytes of an empty name: tag and length. */
const emptyNameBytes = 2;

function validity(
  authority: IssuedCertificate,
  { ttlMs, nowMs }: SigningOrder,
): { readonly notBeforeMs: number; readonly notAfterMs: number } {
  const endMs = new X509Certificate(authority.certificate).validToDate.getTime();
  if (nowMs >= endMs) {
    const end = new Date(endMs).toISOString().replace("T", " ").replace(/\..*/, " +0000 UTC");
    throw new SigningError(
      nowMs - backdateMs >= endMs
        ? `the signer has expired: NotAfter=${end}`
        : `refusing to sign a certificate that expired in the past: NotAfter=${end}`,
    );
  }
  const wantedMs = nowMs + ttlMs - (ttlMs < shortMs ? 0 : backdateMs);
  return { notBeforeMs: nowMs - backdateMs, notAfterMs: Math.min(wantedMs, endMs) };
}

interface SignatureAlgorithm {
  readonly identifier: Uint8Array;
  /** Hash for node:crypto. Null: the algorithm has its own hash. */
  readonly hash: string | null;
}

/** By node:crypto's name of the curve: OID of the signature algorithm, and hash. */
const curveAlgorithms: ReadonlyMap<string, readonly [oid: string, hash: string]> = new Map([
  ["secp224r1", ["1.2.840.10045.4.3.2", "sha256"]],
  ["prime256v1", ["1.2.840.10045.4.3.2", "sha256"]],
  ["secp384r1", ["1.2.840.10045.4.3.3", "sha384"]],
  ["secp521r1", ["1.2.840.10045.4.3.4", "sha512"]],
]);

/** Returns the algorithm that upstream uses for a key of the authority. Throws SigningError. */
function algorithmOf(key: KeyObject): SignatureAlgorithm {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "rsa") {
    const parameters = der(Tag.null);
    const oid = derOid("1.2.840.113549.1.1.11");
    return { identifier: der(Tag.sequence, oid, parameters), hash: "sha256" };
  }
  if (type === "ed25519") {
    return { identifier: der(Tag.sequence, derOid("1.3.101.112")), hash: null };
  }
  const [oid, hash] = curveAlgorithms.get(details?.namedCurve ?? "") ?? [];
  if (type !== "ec" || oid === undefined || hash === undefined) {
    throw new SigningError("x509: only RSA, ECDSA and Ed25519 keys supported");
  }
  return { identifier: der(Tag.sequence, derOid(oid)), hash };
}

/** Country, province, locality, street, postal code, organization, unit, common name, serial number. */
const subjectOrder = ["06", "08", "07", "09", "11", "0a", "0b", "03", "05"].map((last) => ({
  hex: `5504${last}`,
  dotted: `2.5.4.${Number.parseInt(last, 16)}`,
  /** Whether only the last value is used. If it is empty, there is no value. */
  isSingle: last === "03" || last === "05",
}));

function encodeSubject(values: ReadonlyMap<string, readonly string[]>): Uint8Array {
  const sets = subjectOrder.flatMap(({ hex, dotted, isSingle }) => {
    const all = values.get(hex) ?? [];
    const kept = isSingle ? all.slice(-1).filter((text) => text !== "") : all;
    if (kept.length === 0) return [];
    const pairs = kept.map((text) => der(Tag.sequence, derOid(dotted), nameText(text)));
    return [der(Tag.set, ...pairs.toSorted((a, b) => Buffer.compare(a, b)))];
  });
  return der(Tag.sequence, ...sets);
}

/** Encodes a PrintableString if all characters are permitted in it, otherwise a UTF8String. */
function nameText(text: string): Uint8Array {
  const isPrintable = /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);
  return isPrintable ? der(Tag.printable, new TextEncoder().encode(text)) : derText(text);
}

const oids = {
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
} as const;

function extension(oid: string, weight: "critical" | "plain", value: Uint8Array): Uint8Array {
  const flag = weight === "critical" ? [der(Tag.boolean, Uint8Array.of(0xff))] : [];
  return der(Tag.sequence, derOid(oid), ...flag, der(Tag.octetString, value));
}

function usageExtensions(usages: readonly string[]): readonly Uint8Array[] {
  const bits = usageBits(usages);
  const extended = extendedUsageOids(usages).map(derOid);
  return [
    ...(bits.every((octet) => octet === 0)
      ? []
      : [extension(oids.keyUsage, "critical", derNamedBits(bits))]),
    ...(extended.length === 0
      ? []
      : [extension(oids.extendedKeyUsage, "plain", der(Tag.sequence, ...extended))]),
  ];
}

function authorityKeyExtension(keyId: Uint8Array): Uint8Array {
  return extension(oids.authorityKeyId, "plain", der(Tag.sequence, der(0x80, keyId)));
}

/** Encodes the alternative names, as critical when the certificate has no other name (RFC 5280 4.2.1.6). */
function alternativeExtension(names: AlternativeNames, isOnlyName: boolean): readonly Uint8Array[] {
  const text = (tag: number) => (value: string) => der(tag, Buffer.from(value, "latin1"));
  const values = [
    ...names.dns.map(text(0x82)),
    ...names.emails.map(text(0x81)),
    ...names.addresses.map((address) => der(0x87, shortAddress(address))),
    ...names.uris.map(text(0x86)),
  ];
  if (values.length === 0) return [];
  const weight = isOnlyName ? "critical" : "plain";
  return [extension(oids.subjectAltName, weight, der(Tag.sequence, ...values))];
}

const mappedPrefix = Buffer.from("00000000000000000000ffff", "hex");

/** Returns an IPv4 address in IPv6 form as plain IPv4, other addresses unchanged. */
function shortAddress(address: Uint8Array): Uint8Array {
  const isMapped = address.length === 16 && mappedPrefix.equals(address.subarray(0, 12));
  return isMapped ? address.subarray(12) : address;
}
