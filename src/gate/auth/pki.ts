/**
 * Makes certificates as data: a certificate authority, the certificates that it signs, and key pairs, all as PEM
 * strings.
 *
 * In     names, groups, hosts, a validity and 16 random serial bytes.
 * Out    EC P-256 keys (PKCS#8) and X.509 v3 certificates signed ecdsa-with-SHA256.
 * Cost   under 2 ms each; nothing is written to disk (see pki-files.ts).
 * A leaf's notAfter never exceeds its CA's.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  X509Certificate,
} from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";
import { assert } from "#base/assert.ts";
import { der, derBitString, derInteger, derOid, derText, derTime, Tag } from "./der.ts";

export interface KeyPair {
  /** PKCS#8 PEM. */
  readonly privateKey: string;
  /** SPKI PEM. */
  readonly publicKey: string;
}

export interface IssuedCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export interface SubjectName {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

export interface IssueOptions {
  readonly validity: Validity;
  /** Serial number: 16 random bytes. The top bit is cleared so that the number is positive. */
  readonly serial: Uint8Array;
}

const oids = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  ecPublicKeySha256: "1.2.840.10045.4.3.2",
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
  extendedKeyUsage: "2.5.29.37",
  subjectKeyId: "2.5.29.14",
  authorityKeyId: "2.5.29.35",
  subjectAltName: "2.5.29.17",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

/** KeyUsage bits, most significant first, and number of unused low bits of the octet. */
const keyUsage = {
  digitalSignature: { bits: 0x80, unused: 7 },
  /** keyCertSign and cRLSign. */
  certificateSigning: { bits: 0x06, unused: 1 },
} as const;

export function makeKeyPair(): KeyPair {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    privateKey: pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicKey: pair.publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

export function makeAuthority(commonName: string, options: IssueOptions): IssuedCertificate {
  const keys = makeKeyPair();
  const subject = { commonName, organizations: [] };
  return issue({
    subject,
    issuer: encodeName(subject),
    publicKey: keys.publicKey,
    privateKey: keys.privateKey,
    signerKey: keys.privateKey,
    authorityKeyId: keyId(spkiOf(keys.publicKey)),
    extensions: [
      extension(oids.basicConstraints, der(Tag.sequence, der(Tag.boolean, Uint8Array.of(0xff)))),
      keyUsageExtension(keyUsage.certificateSigning),
    ],
    options,
  });
}

/** Makes a serving certificate for `hosts`, whose names and addresses become subject alternative names. */
export function makeServerCertificate(
  authority: IssuedCertificate,
  commonName: string,
  hosts: readonly string[],
  options: IssueOptions,
): IssuedCertificate {
  return issueLeaf(authority, { commonName, organizations: [] }, options, [
    extension(oids.extendedKeyUsage, der(Tag.sequence, derOid(oids.serverAuth))),
    extension(oids.subjectAltName, der(Tag.sequence, ...hosts.map(encodeHost))),
  ]);
}

/** Makes a client certificate. Kubernetes reads the common name as the user, organizations as groups. */
export function makeClientCertificate(
  authority: IssuedCertificate,
  subject: SubjectName,
  options: IssueOptions,
): IssuedCertificate {
  return issueLeaf(authority, subject, options, [
    extension(oids.extendedKeyUsage, der(Tag.sequence, derOid(oids.clientAuth))),
  ]);
}

/** Returns the names and addresses that a certificate is valid for, in the form that makeServerCertificate takes. */
export function certificateHosts(pem: string): readonly string[] {
  const text = new X509Certificate(pem).subjectAltName ?? "";
  if (text === "") return [];
  return text.split(", ").map((entry) => entry.slice(entry.indexOf(":") + 1));
}

function issueLeaf(
  authority: IssuedCertificate,
  subject: SubjectName,
  options: IssueOptions,
  extensions: readonly Uint8Array[],
): IssuedCertificate {
  const ca = new X509Certificate(authority.certificate);
  const keys = makeKeyPair();
  const notAfterMs = Math.min(options.validity.notAfterMs, ca.validToDate.getTime());
  return issue({
    subject,
    issuer: encodeName({ commonName: commonNameOf(ca), organizations: [] }),
    publicKey: keys.publicKey,
    privateKey: keys.privateKey,
    signerKey: authority.privateKey,
    authorityKeyId: keyId(spkiOf(ca.publicKey.export({ type: "spki", format: "pem" }).toString())),
    extensions: [keyUsageExtension(keyUsage.digitalSignature), ...extensions],
    options: { ...options, validity: { ...options.validity, notAfterMs } },
  });
}

/** This server's authorities have a common name and nothing else. pki-files refuses any other. */
function commonNameOf(certificate: X509Certificate): string {
  const match = /^CN=(.+)$/.exec(certificate.subject);
  assert(match !== null, "the authority's subject is one common name", {
    subject: certificate.subject,
  });
  return match[1] ?? "";
}

interface Issue {
  readonly subject: SubjectName;
  readonly issuer: Uint8Array;
  readonly publicKey: string;
  readonly privateKey: string;
  readonly signerKey: string;
  readonly authorityKeyId: Uint8Array;
  readonly extensions: readonly Uint8Array[];
  readonly options: IssueOptions;
}

function issue(order: Issue): IssuedCertificate {
  const { validity, serial } = order.options;
  assert(serial.length === 16, "a serial is 16 bytes", { length: serial.length });
  const algorithm = der(Tag.sequence, derOid(oids.ecPublicKeySha256));
  const body = der(
    Tag.sequence,
    der(0xa0, derInteger(Uint8Array.of(2))),
    derInteger(serial.with(0, ((serial[0] ?? 0) & 0x7f) | 0x40)),
    algorithm,
    order.issuer,
    der(Tag.sequence, derTime(validity.notBeforeMs), derTime(validity.notAfterMs)),
    encodeName(order.subject),
    spkiOf(order.publicKey),
    der(0xa3, der(Tag.sequence, ...keyIdExtensions(order), ...order.extensions)),
  );
  const signature = sign("sha256", body, createPrivateKey(order.signerKey));
  const whole = der(Tag.sequence, body, algorithm, derBitString(signature));
  return { certificate: pemBlock("CERTIFICATE", whole), privateKey: order.privateKey };
}

function keyIdExtensions(order: Issue): readonly Uint8Array[] {
  const own = der(Tag.octetString, keyId(spkiOf(order.publicKey)));
  const authority = der(Tag.sequence, der(0x80, order.authorityKeyId));
  return [extension(oids.subjectKeyId, own), extension(oids.authorityKeyId, authority)];
}

/** Encodes a critical extension. Verifiers must understand basic constraints and key usage. */
function extension(oid: string, value: Uint8Array): Uint8Array {
  const critical = oid === oids.basicConstraints || oid === oids.keyUsage;
  const flag = critical ? [der(Tag.boolean, Uint8Array.of(0xff))] : [];
  return der(Tag.sequence, derOid(oid), ...flag, der(Tag.octetString, value));
}

function keyUsageExtension(usage: { readonly bits: number; readonly unused: number }): Uint8Array {
  return extension(oids.keyUsage, derBitString(Uint8Array.of(usage.bits), usage.unused));
}

function encodeName(name: SubjectName): Uint8Array {
  const attributes = [
    ...name.organizations.map((text) => ({ oid: oids.organization, text })),
    { oid: oids.commonName, text: name.commonName },
  ];
  const sets = attributes.map(({ oid, text }) =>
    der(Tag.set, der(Tag.sequence, derOid(oid), derText(text))),
  );
  return der(Tag.sequence, ...sets);
}

/** Encodes a GeneralName: [7] for an address, [2] for a DNS name. */
function encodeHost(host: string): Uint8Array {
  if (isIPv4(host)) return der(0x87, Uint8Array.from(host.split(".").map(Number)));
  if (isIPv6(host)) return der(0x87, ipv6Bytes(host));
  return der(0x82, new TextEncoder().encode(host));
}

export function ipv6Bytes(address: string): Uint8Array {
  const [head = "", tail] = address.split("::");
  const words = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((word) => Number.parseInt(word, 16));
  const front = words(head);
  const back = tail === undefined ? [] : words(tail);
  const middle = Array.from({ length: 8 - front.length - back.length }, () => 0);
  return Uint8Array.from([...front, ...middle, ...back].flatMap((word) => [word >> 8, word & 255]));
}

function spkiOf(publicKeyPem: string): Uint8Array {
  return createPublicKey(publicKeyPem).export({ type: "spki", format: "der" });
}

/** Returns the SHA-1 of the key: an identifier that links certificate and issuer (RFC 5280 4.2.1.2), not a secret. */
function keyId(spki: Uint8Array): Uint8Array {
  return createHash("sha1").update(spki).digest();
}

export function pemBlock(label: string, bytes: Uint8Array): string {
  const base64 = Buffer.from(bytes).toString("base64");
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
