/**
 * Compares certificates with those of stock kube-controller-manager 1.36.3. For the same authority, request, serial
 * number and time, the signed part has the same bytes. The record has no private key, so the signature differs.
 * test/attacks/record-signatures.ts made the record.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, test } from "node:test";
import { type CertificateRequest, readCertificateRequest } from "./certificate-request.ts";
import { signRequest, SigningError } from "./certificate-signing.ts";
import { der, derChildren, derRead, derTimeMs, type DerValue } from "./der.ts";
import { makeAuthority, pemBlock } from "./pki.ts";
import recorded from "./testdata/stock-signatures.json" with { type: "json" };

interface RecordedRequest {
  readonly name: string;
  readonly usages: readonly string[];
  readonly expirationSeconds?: number;
  readonly request: string;
  readonly certificate?: string;
  readonly refused?: string;
}

const yearMs = 365 * 24 * 3_600_000;
const backdateMs = 300_000;

function read(request: string) {
  return readCertificateRequest(Buffer.from(request).toString("base64"));
}

function factsOf(request: string): CertificateRequest {
  const result = read(request);
  assert.ok(result.kind === "read", JSON.stringify(result));
  assert.equal(result.facts.signatureFault(), undefined);
  return result.facts;
}

function children(value: DerValue | undefined): readonly DerValue[] {
  return (value && derChildren(value.content)) ?? [];
}

/** What was signed, without the serial number's and the times' own bytes being known before. */
function signedPart(certificate: string) {
  const [body] = children(derRead(new X509Certificate(certificate).raw, 0));
  const [, serial, , , times] = children(body);
  const start = children(times)[0];
  assert.ok(body !== undefined && serial !== undefined && start !== undefined);
  return {
    hex: Buffer.from(der(body.tag, body.content)).toString("hex"),
    serial: serial.content,
    nowMs: (derTimeMs(start) ?? 0) + backdateMs,
  };
}

/** A key of the type that the authority's is of: the type decides what is signed, and how. */
function keyLike(certificate: string): string {
  const { asymmetricKeyType, asymmetricKeyDetails } = new X509Certificate(certificate).publicKey;
  const namedCurve = asymmetricKeyDetails?.namedCurve ?? "P-256";
  const pem = { type: "pkcs8", format: "pem" } as const;
  if (asymmetricKeyType === "rsa") {
    const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
    return pair.privateKey.export(pem).toString();
  }
  if (asymmetricKeyType === "ed25519") {
    return generateKeyPairSync("ed25519").privateKey.export(pem).toString();
  }
  return generateKeyPairSync("ec", { namedCurve }).privateKey.export(pem).toString();
}

for (const { authority, requests } of recorded as readonly {
  readonly authority: string;
  readonly requests: readonly RecordedRequest[];
}[]) {
  const privateKey = keyLike(authority);
  describe(`signed by ${new X509Certificate(authority).subject.replaceAll("\n", ", ")}`, () => {
    for (const one of requests) {
      const { certificate, refused } = one;
      if (certificate !== undefined) {
        test(`${one.name} is the same bytes as upstream's`, () => {
          const upstream = signedPart(certificate);
          const { expirationSeconds, usages } = one;
          const ttlMs = Math.min((expirationSeconds ?? Infinity) * 1000, yearMs);
          const order = { usages, ttlMs, nowMs: upstream.nowMs, serial: upstream.serial };
          const ours = signRequest(
            { certificate: authority, privateKey },
            factsOf(one.request),
            order,
          );
          assert.equal(signedPart(ours).hex, upstream.hex);
        });
      }
      if (refused !== undefined) {
        test(`${one.name} is refused in upstream's words`, () => {
          const result = read(one.request);
          const fault = result.kind === "read" ? result.facts.signatureFault() : result.fault;
          assert.ok(fault !== undefined);
          assert.equal(refused.slice(refused.lastIndexOf("…: ") + 3), fault);
        });
      }
    }
  });
}

const hourMs = 3_600_000;

function ownAuthority(notAfterMs: number) {
  const validity = { notBeforeMs: 0, notAfterMs };
  return makeAuthority("kubernetes", { validity, serial: new Uint8Array(16).fill(1) });
}

function someRequest(): CertificateRequest {
  const [first] = recorded[0]?.requests ?? [];
  return factsOf(first?.request ?? "");
}

const order = {
  usages: ["client auth"],
  serial: Uint8Array.of(1),
  ttlMs: 24 * hourMs,
  nowMs: Date.UTC(2026, 0, 1),
};

test("a certificate ends with its authority, and is verified by it", () => {
  const endMs = order.nowMs + hourMs;
  const authority = ownAuthority(endMs);
  const made = new X509Certificate(signRequest(authority, someRequest(), order));
  assert.equal(made.validToDate.getTime(), endMs);
  assert.ok(made.verify(new X509Certificate(authority.certificate).publicKey));
  assert.ok(made.checkIssued(new X509Certificate(authority.certificate)));
});

test("the time by which the start is moved back is taken off a lifetime of eight hours, not off a shorter one", () => {
  const authority = ownAuthority(order.nowMs + 1000 * hourMs);
  const lifetimeMs = (ttlMs: number): number => {
    const pem = signRequest(authority, someRequest(), { ...order, ttlMs });
    return new X509Certificate(pem).validToDate.getTime() - order.nowMs;
  };
  assert.equal(lifetimeMs(8 * hourMs), 8 * hourMs - backdateMs);
  assert.equal(lifetimeMs(8 * hourMs - 1000), 8 * hourMs - 1000);
});

test("an authority that has ended signs nothing", () => {
  const expired = (agoMs: number) => () =>
    signRequest(ownAuthority(order.nowMs - agoMs), someRequest(), order);
  assert.throws(
    expired(0),
    new SigningError(
      "refusing to sign a certificate that expired in the past: NotAfter=2026-01-01 00:00:00 +0000 UTC",
    ),
  );
  assert.throws(
    expired(backdateMs),
    new SigningError("the signer has expired: NotAfter=2025-12-31 23:55:00 +0000 UTC"),
  );
});

test("every usage of the API is one of X.509, in upstream's order", () => {
  const usages = [
    "netscape sgc",
    "s/mime",
    "email protection",
    "any",
    "decipher only",
    "cert sign",
  ];
  const authority = ownAuthority(order.nowMs + 1000 * hourMs);
  const made = new X509Certificate(signRequest(authority, someRequest(), { ...order, usages }));
  assert.deepEqual(made.keyUsage, ["2.5.29.37.0", "1.3.6.1.5.5.7.3.4", "2.16.840.1.113730.4.1"]);
  // keyCertSign and decipherOnly: nine bits, of which the octets have seven to spare.
  assert.ok(made.raw.includes(Buffer.from("0603551d0f0101ff04050303070480", "hex")));
});

test("names that no two readers agree on are refused", () => {
  const withNames = (...names: readonly Uint8Array[]): string => {
    const extension = der(0x30, der(6, Buffer.from("551d11", "hex")), der(4, der(0x30, ...names)));
    return faultOf(der(0x30, extension));
  };
  const uri = (text: string): string => withNames(der(0x86, Buffer.from(text)));
  assert.equal(uri("spiffe://a/b?c=%2F"), "");
  assert.match(uri("a b"), /cannot parse URI "a b"/);
  assert.match(uri("https://a./"), /invalid domain/);
  assert.match(withNames(der(0x82, Buffer.from("a\0b"))), /SAN dNSName is malformed/);
  assert.match(withNames(der(0x81, Uint8Array.of(0xe9))), /SAN rfc822Name is malformed/);
  const twice = der(0x30, der(6, Uint8Array.of(42)), der(4));
  assert.match(faultOf(der(0x30, twice, twice)), /duplicate requested extensions/);
});

/** Of a request with these extensions; "" where there is none. */
function faultOf(extensions: Uint8Array): string {
  const { publicKey } = generateKeyPairSync("ed25519");
  const attribute = der(
    0x30,
    der(6, Buffer.from("2a864886f70d01090e", "hex")),
    der(0x31, extensions),
  );
  const info = der(
    0x30,
    der(2, Uint8Array.of(0)),
    der(0x30),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa0, attribute),
  );
  const whole = der(0x30, info, der(0x30, der(6, Buffer.from("2b6570", "hex"))), der(3));
  const result = read(pemBlock("CERTIFICATE REQUEST", whole));
  return result.kind === "read" ? "" : result.fault;
}
