/** Certificate requests: ours and openssl's kinds of keys, forged signatures, and bytes that are none. */
import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import { readCertificateRequest } from "./certificate-request.ts";
import { der, derBitString, derInteger, derOid, derText, Tag } from "./der.ts";

interface Made {
  readonly algorithm: string;
  readonly hash: string | null;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
}

function attribute(oid: string, value: string): Uint8Array {
  return der(Tag.set, der(Tag.sequence, derOid(oid), derText(value)));
}

function made({ algorithm, hash, publicKey, signer }: Made): Uint8Array {
  const names = [
    attribute("2.5.4.10", "a, b"),
    attribute("2.5.4.10", "c"),
    attribute("2.5.4.3", "n"),
  ];
  const info = der(
    Tag.sequence,
    derInteger(Uint8Array.of(0)),
    der(Tag.sequence, ...names),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa0),
  );
  const bits = sign(hash, info, signer);
  return der(Tag.sequence, info, der(Tag.sequence, derOid(algorithm)), derBitString(bits));
}

function encoded(bytes: Uint8Array, label = "CERTIFICATE REQUEST"): string {
  const body = Buffer.from(bytes).toString("base64");
  const text = `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
  return Buffer.from(text).toString("base64");
}

function read(request: Uint8Array) {
  const result = readCertificateRequest(encoded(request));
  assert.ok(result.kind === "read");
  return result.facts;
}

function facts(request: Uint8Array): object {
  const { commonName, organizations } = read(request);
  return { commonName, organizations };
}

function signatureFault(request: Uint8Array): string | undefined {
  return read(request).signatureFault();
}

const kinds: readonly (readonly [string, string, string | null, string])[] = [
  ["ec", "1.2.840.10045.4.3.2", "sha256", "x509: ECDSA verification failure"],
  ["rsa", "1.2.840.113549.1.1.11", "sha256", "crypto/rsa: verification error"],
  ["ed25519", "1.3.101.112", null, "x509: Ed25519 verification failure"],
];

function pair(kind: string) {
  if (kind === "rsa") return generateKeyPairSync("rsa", { modulusLength: 2048 });
  if (kind === "ec") return generateKeyPairSync("ec", { namedCurve: "P-256" });
  return generateKeyPairSync("ed25519");
}

for (const [kind, algorithm, hash, fault] of kinds) {
  test(`a request of a key of type ${kind} proves possession, or does not`, () => {
    const { publicKey, privateKey } = pair(kind);
    const own = made({ algorithm, hash, publicKey, signer: privateKey });
    assert.deepEqual(facts(own), { commonName: "n", organizations: ["a, b", "c"] });
    assert.equal(signatureFault(own), undefined);
    const forged = made({ algorithm, hash, publicKey, signer: pair(kind).privateKey });
    assert.equal(signatureFault(forged), fault);
  });
}

test("an algorithm of another key type, or one that is not known, proves nothing", () => {
  const { publicKey, privateKey } = pair("ec");
  const of = (algorithm: string) =>
    made({ algorithm, hash: "sha256", publicKey, signer: privateKey });
  for (const algorithm of ["1.3.101.112", "1.2.3.4"]) {
    assert.notEqual(signatureFault(of(algorithm)), undefined, algorithm);
  }
});

test("bytes that are no request are refused, wherever they are cut", () => {
  const { publicKey, privateKey } = pair("ec");
  const algorithm = "1.2.840.10045.4.3.2";
  const whole = made({
    algorithm,
    hash: "sha256",
    publicKey,
    signer: createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" })),
  });
  for (let length = 0; length < whole.length; length++) {
    const result = readCertificateRequest(encoded(whole.subarray(0, length)));
    assert.equal(result.kind, "unreadable", `${length} bytes`);
  }
  const longer = readCertificateRequest(encoded(Buffer.concat([whole, Buffer.from([0])])));
  assert.deepEqual(longer, { kind: "unreadable", fault: "asn1: syntax error: trailing data" });
  assert.equal(readCertificateRequest(encoded(whole, "CERTIFICATE")).kind, "unreadable");
  assert.equal(readCertificateRequest("").kind, "unreadable");
});

test("a request that is too long is refused before it is read", () => {
  const long = readCertificateRequest(encoded(new Uint8Array(32_769).fill(0x30)));
  const fault = "must not be longer than 32768 bytes";
  assert.deepEqual(long, { kind: "unreadable", fault });
});

test("a text with more than one way to read it is refused", () => {
  const { publicKey, privateKey } = pair("ec");
  const algorithm = "1.2.840.10045.4.3.2";
  const request = made({ algorithm, hash: "sha256", publicKey, signer: privateKey });
  const block = Buffer.from(encoded(request), "base64").toString();
  const kindOf = (text: string): string =>
    readCertificateRequest(Buffer.from(text).toString("base64")).kind;
  for (const good of [block, `subject=n\n${block}`, block.replaceAll("\n", "\r\n"), block.trim()]) {
    assert.equal(kindOf(good), "read", good);
  }
  for (const bad of [
    block + block,
    `x${block}`,
    `-----BEGIN X-----\n${block}`,
    block.replace("REQUEST-----\n", "REQUEST-----"),
    block.replace("\n-----END", "-----END"),
    block.replace("-----BEGIN CERTIFICATE REQUEST-----\n", "$&Proc-Type: 4\n\n"),
    block.replace("-----END CERTIFICATE REQUEST-----", "$& -----"),
    block.replace("-----END", "=A\n-----END"),
  ]) {
    assert.equal(kindOf(bad), "unreadable", bad);
  }
});

test("names of types that readers take differently are refused", () => {
  const { publicKey, privateKey } = pair("ec");
  const of = (tag: number, content: Uint8Array) => {
    const name = der(Tag.set, der(Tag.sequence, derOid("2.5.4.3"), der(tag, content)));
    const info = der(
      Tag.sequence,
      derInteger(Uint8Array.of(0)),
      der(Tag.sequence, name),
      publicKey.export({ type: "spki", format: "der" }),
      der(0xa0),
    );
    const bits = derBitString(sign("sha256", info, privateKey));
    const algorithm = der(Tag.sequence, derOid("1.2.840.10045.4.3.2"));
    return readCertificateRequest(encoded(der(Tag.sequence, info, algorithm, bits))).kind;
  };
  const bmpString = 0x1e;
  const printable = 0x13;
  assert.equal(of(printable, Buffer.from("n")), "read");
  assert.equal(of(Tag.utf8, Buffer.from("bøb")), "read");
  assert.equal(of(Tag.utf8, Uint8Array.of(0xff)), "unreadable");
  assert.equal(of(printable, Uint8Array.of(0xe9)), "unreadable");
  assert.equal(of(bmpString, Buffer.from("\0n")), "unreadable");
  assert.equal(of(Tag.integer, Buffer.from("n")), "unreadable");
});
