/** The flags about kubelets: what is read, and what is refused before anything starts. */
import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeAuthority, makeClientCertificate } from "#auth/pki.ts";
import type { Pki } from "#auth/pki-files.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { isMasters, kubeletCredentials } from "./kubelet-credentials.ts";
import { kubeletAccess } from "./kubelets.ts";
import { UsageError } from "../shared/usage-error.ts";

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};

test("kubelet flags are read as kube-apiserver's, and wrong ones refused", (context) => {
  const scratch = mkdtempSync(join(tmpdir(), "pilothouse-kubelets-"));
  context.after(() => rmSync(scratch, { recursive: true }));
  const authority = makeAuthority("ca", issue);
  const subject = { commonName: "me", organizations: [] };
  const client = makeClientCertificate(authority, subject, issue);
  const file = (name: string, text: string): string => {
    writeFileSync(join(scratch, name), text);
    return join(scratch, name);
  };
  const ca = file("ca.crt", authority.certificate);
  const certificate = file("me.crt", client.certificate);
  const key = file("me.key", client.privateKey);
  const bad = file("bad.crt", "no PEM");
  assert.deepEqual(kubeletAccess({}), { timeoutMs: 5_000 });
  const given = {
    kubeletCertificateAuthority: ca,
    kubeletClientCertificate: certificate,
    kubeletClientKey: key,
    kubeletPreferredAddressTypes: "Hostname,InternalIP",
    kubeletTimeout: "1m30s",
  };
  assert.deepEqual(kubeletAccess(given), {
    authority: authority.certificate,
    client,
    files: { authority: ca, certificate, key },
    addressTypes: ["Hostname", "InternalIP"],
    timeoutMs: 90_000,
  });
  const wrong = [
    { kubeletClientKey: key },
    { kubeletClientCertificate: certificate },
    { ...given, kubeletClientCertificate: bad },
    { ...given, kubeletClientKey: bad },
    { kubeletCertificateAuthority: join(scratch, "none") },
    { kubeletPreferredAddressTypes: "InternalIp" },
    { kubeletTimeout: "soon" },
    { kubeletTimeout: "0s" },
  ];
  for (const flags of wrong) assert.throws(() => kubeletAccess(flags), UsageError);
});

test("renewed certificates are shown to the next connection; half a pair is not", async (context) => {
  const scratch = mkdtempSync(join(tmpdir(), "pilothouse-kubelets-"));
  context.after(() => rmSync(scratch, { recursive: true }));
  const clock = new FakeClock();
  const authority = makeAuthority("ca", issue);
  const made = ["one", "two"].map((commonName) =>
    makeClientCertificate(authority, { commonName, organizations: [] }, issue),
  );
  const [ca, certificate, key] = ["ca.crt", "me.crt", "me.key"].map((name) => join(scratch, name));
  const write = (path: string | undefined, text = ""): void => writeFileSync(path ?? "", text);
  write(ca, authority.certificate);
  write(certificate, made[0]?.certificate);
  write(key, made[0]?.privateKey);
  const access = kubeletAccess({
    kubeletCertificateAuthority: ca ?? "",
    kubeletClientCertificate: certificate ?? "",
    kubeletClientKey: key ?? "",
  });
  // Nothing of it is used: the files have all.
  const shown = kubeletCredentials({ clock, random: new FakeRandom(1) }, {} as Pki, access);
  assert.equal(shown.current().certificate, made[0]?.certificate);
  write(certificate, made[1]?.certificate);
  await clock.advance(10_000);
  assert.equal(shown.current().certificate, made[0]?.certificate);
  write(key, made[1]?.privateKey);
  await clock.advance(10_000);
  assert.deepEqual(shown.current(), {
    ca: authority.certificate,
    certificate: made[1]?.certificate,
    key: made[1]?.privateKey,
  });
  rmSync(key ?? "");
  await clock.advance(10_000);
  assert.equal(shown.current().key, made[1]?.privateKey);
  const fingerprints = made.map((pair) => fingerprintOf(pair.certificate));
  assert.deepEqual(
    fingerprints.map((one) => shown.isShown(one)),
    [true, true],
  );
  assert.equal(shown.isShown(fingerprintOf(authority.certificate)), false);
});

function fingerprintOf(pem: string): string {
  return createHash("sha256").update(new X509Certificate(pem).raw).digest("hex");
}

test("the certificate made for kubelets is in no group, and is known before it is shown", () => {
  const authority = makeAuthority("ca", issue);
  const pki = { authority } as Pki;
  const clock = new FakeClock({ startMs: Date.UTC(2026, 0) });
  const shown = kubeletCredentials({ clock, random: new FakeRandom(1) }, pki, {});
  const pem = shown.current().certificate ?? "";
  assert.equal(new X509Certificate(pem).subject, "CN=kube-apiserver-kubelet-client");
  const again = kubeletCredentials({ clock, random: new FakeRandom(2) }, pki, {});
  const other = again.current().certificate ?? "";
  assert.equal(shown.isShown(fingerprintOf(pem)), true);
  assert.equal(shown.isShown(fingerprintOf(other)), false);
});

test("a certificate that makes its bearer an administrator is found", () => {
  const authority = makeAuthority("ca", issue);
  const of = (...organizations: string[]) =>
    isMasters({
      client: makeClientCertificate(authority, { commonName: "me", organizations }, issue),
    });
  assert.equal(of("system:masters"), true);
  assert.equal(of("a", "system:masters"), true);
  assert.equal(of("x system:masters"), false);
  assert.equal(of(), false);
  assert.equal(isMasters({}), false);
});
