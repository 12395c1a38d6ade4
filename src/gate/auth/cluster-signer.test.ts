/** The signer over files that an operator renews, breaks and mixes up. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { SigningError } from "./certificate-signing.ts";
import { ClusterSigner, readSigningFiles } from "./cluster-signer.ts";
import { makeAuthority, makeServerCertificate } from "./pki.ts";
import recorded from "./testdata/stock-signatures.json" with { type: "json" };

let directory: string;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), "pilothouse-signer-"));
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

const clock = new FakeClock();
const order = {
  validity: { notBeforeMs: clock.nowMs() - 1, notAfterMs: clock.nowMs() + 1e12 },
  serial: new Uint8Array(16).fill(7),
};
const request = btoa(recorded[0]?.requests[0]?.request ?? "");

function files() {
  const certificateFile = path.join(directory, "ca.crt");
  return { certificateFile, keyFile: path.join(directory, "ca.key") };
}

function write(pair: { readonly certificate?: string; readonly privateKey?: string }): void {
  const { certificateFile, keyFile } = files();
  if (pair.certificate !== undefined) fs.writeFileSync(certificateFile, pair.certificate);
  if (pair.privateKey !== undefined) fs.writeFileSync(keyFile, pair.privateKey, { mode: 0o600 });
}

function signer(): ClusterSigner {
  const authority = () => readSigningFiles(files());
  return new ClusterSigner({ clock, random: new FakeRandom(1), authority });
}

function issuerOf(pem: string): string {
  return new X509Certificate(pem).issuer;
}

test("a renewed pair signs from the next request on; a half-written one signs nothing", () => {
  const one = makeAuthority("one", order);
  const two = makeAuthority("two", order);
  write(one);
  const signing = signer();
  assert.equal(
    issuerOf(signing.sign(request, { signer: "s", usages: ["client auth"], ttlMs: 1000 })),
    "CN=one",
  );
  write({ certificate: two.certificate });
  assert.throws(
    () => signing.sign(request, { signer: "s", usages: [], ttlMs: 1000 }),
    /ca\.key": it does not belong to/,
  );
  write(two);
  assert.equal(
    issuerOf(signing.sign(request, { signer: "s", usages: ["client auth"], ttlMs: 1000 })),
    "CN=two",
  );
});

test("serial numbers differ", () => {
  write(makeAuthority("one", order));
  const signing = signer();
  const serial = (): string =>
    new X509Certificate(signing.sign(request, { signer: "s", usages: [], ttlMs: 1000 }))
      .serialNumber;
  assert.notEqual(serial(), serial());
});

test("files that hold no authority are refused by name, and what is in a key file is not shown", () => {
  const authority = makeAuthority("one", order);
  const leaf = makeServerCertificate(authority, "leaf", ["a"], order);
  const secret = "AAAAsecretAAAA";
  const key = authority.privateKey;
  const brokenKey = `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`;
  const cases = [
    [{ certificate: authority.certificate }, /error reading CA key file .*ca\.key": ENOENT/],
    [{ privateKey: key, certificate: "" }, /ca\.crt": expected 1 certificate, found 0/],
    [
      { certificate: authority.certificate + authority.certificate },
      /ca\.crt": expected 1 certificate, found 2/,
    ],
    [leaf, /ca\.crt": not an authority/],
    [{ certificate: authority.certificate, privateKey: brokenKey }, /ca\.key": no private key/],
    [{ privateKey: "" }, /ca\.key": no private key in PEM/],
  ] as const;
  for (const [pair, fault] of cases) {
    write(pair);
    assert.throws(
      () => readSigningFiles(files()),
      (error) => {
        assert.ok(error instanceof SigningError);
        assert.match(error.message, fault);
        assert.ok(!JSON.stringify(error, Object.getOwnPropertyNames(error)).includes(secret));
        return true;
      },
    );
  }
});

test("a request that proves nothing is not signed, whoever stored it", () => {
  write(makeAuthority("one", order));
  const pem = atob(request);
  const bytes = Buffer.from(pem.replace(/-----[^-]+-----/g, ""), "base64");
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  const forged = pem.replace(/(?<=-----\n)[^-]+/, `${bytes.toString("base64")}\n`);
  assert.throws(
    () => signer().sign(btoa(forged), { signer: "s", usages: [], ttlMs: 1000 }),
    /ECDSA verification failure/,
  );
  assert.throws(
    () => signer().sign(btoa("x"), { signer: "s", usages: [], ttlMs: 1000 }),
    /PEM block type must be/,
  );
});

test("when a certificate ends is read of a certificate, and of nothing else", () => {
  const { certificate } = makeAuthority("one", order);
  assert.equal(signer().endMs(certificate), Math.floor(order.validity.notAfterMs / 1000) * 1000);
  assert.equal(signer().endMs("x"), undefined);
});
