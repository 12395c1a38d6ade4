/** The key directory in a temporary place: made, kept, renewed, refused. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { ensurePki, PkiError, renewReplicatedPki } from "./pki-files.ts";
import type { PkiOptions } from "./pki-files.ts";

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);
const random = new FakeRandom(1);

function setup(t: TestContext) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "pki-"));
  t.after(() => fs.rmSync(directory, { recursive: true, force: true }));
  const at = (ms: number, extraHosts: readonly string[] = []): PkiOptions => ({
    clock: new FakeClock({ startMs: ms }),
    random,
    extraHosts,
    serviceAddress: "10.96.0.1",
  });
  return { directory, at, file: (name: string) => path.join(directory, name) };
}

test("an empty directory is filled, and a second start changes nothing", (t) => {
  const { directory, at } = setup(t);
  const first = ensurePki(directory, at(start));
  assert.equal(first.written.length, 16);
  const second = ensurePki(directory, at(start + day));
  assert.deepEqual(second, { ...first, written: [] });
});

test("private keys are readable by their owner only", (t) => {
  const { directory, at } = setup(t);
  ensurePki(directory, at(start));
  const keys = fs.readdirSync(directory).filter((name) => name.endsWith(".key"));
  assert.equal(keys.length, 8);
  for (const key of keys) {
    assert.equal(fs.statSync(path.join(directory, key)).mode & 0o777, 0o600, key);
  }
});

test("leaves with less than 30 days left are renewed; authorities and the token key stay", (t) => {
  const { directory, at } = setup(t);
  const first = ensurePki(directory, at(start));
  const later = ensurePki(directory, at(start + 340 * day));
  assert.equal(later.authority.certificate, first.authority.certificate);
  assert.equal(later.serviceAccount.privateKey, first.serviceAccount.privateKey);
  assert.notEqual(later.server.certificate, first.server.certificate);
  assert.notEqual(later.admin.certificate, first.admin.certificate);
});

test("a new host renews the serving certificate alone", (t) => {
  const { directory, at } = setup(t);
  ensurePki(directory, at(start));
  const next = ensurePki(directory, at(start, ["plane.example", "2001:DB8::7"]));
  assert.deepEqual(next.written, ["apiserver.key", "apiserver.crt"]);
  const certificate = new X509Certificate(next.server.certificate);
  assert.ok(certificate.checkHost("plane.example"));
  assert.ok(certificate.checkIP("2001:db8::7"));
  assert.ok(certificate.checkHost("kubernetes.default.svc.cluster.local"));
});

test("half a pair is refused with the remedy, not replaced", (t) => {
  const { directory, at, file } = setup(t);
  ensurePki(directory, at(start));
  fs.rmSync(file("ca.key"));
  assert.throws(
    () => ensurePki(directory, at(start)),
    (error: Error) =>
      error instanceof PkiError &&
      error.message === `${file("ca.key")} is missing beside ca.crt: put it back, or remove both`,
  );
});

test("a leaf of another authority is refused", (t) => {
  const { directory, at, file } = setup(t);
  const other = setup(t);
  ensurePki(directory, at(start));
  ensurePki(other.directory, at(start));
  for (const name of ["admin.crt", "admin.key"]) fs.copyFileSync(other.file(name), file(name));
  assert.throws(() => ensurePki(directory, at(start)), /admin\.crt was not signed by/);
});

test("a key of another certificate is refused, and so is rubbish", (t) => {
  const { directory, at, file } = setup(t);
  ensurePki(directory, at(start));
  fs.copyFileSync(file("admin.key"), file("scheduler.key"));
  assert.throws(() => ensurePki(directory, at(start)), /scheduler\.key does not belong/);
  fs.writeFileSync(file("scheduler.key"), "rubbish");
  assert.throws(() => ensurePki(directory, at(start)), /does not hold PEM of a pair/);
});

test("a lost public token key is derived again", (t) => {
  const { directory, at, file } = setup(t);
  const first = ensurePki(directory, at(start));
  fs.rmSync(file("sa.pub"));
  assert.deepEqual(ensurePki(directory, at(start)).serviceAccount, first.serviceAccount);
});

test("leaves of replicas are all made anew, with new keys; authorities and the token key stay", (t) => {
  const { directory, at, file } = setup(t);
  const { clock, serviceAddress } = at(start);
  const renew = (...hosts: readonly (readonly string[])[]) =>
    renewReplicatedPki(directory, { clock, random, serviceAddress, hosts });
  const first = renew(["10.0.0.1"], ["10.0.0.2"]);
  const ofSecond = new X509Certificate(first.servers[1]?.certificate ?? "");
  assert.equal(ofSecond.checkIP("10.0.0.2"), "10.0.0.2");
  assert.equal(ofSecond.checkIP("10.0.0.1"), undefined);
  // As a call leaves it that was cut off between the two files of a pair.
  fs.writeFileSync(file("scheduler.key"), first.admin.privateKey);
  const second = renew(["10.0.0.1"], ["10.0.0.2"]);
  assert.deepEqual(second.authority, first.authority);
  assert.deepEqual(second.frontProxyAuthority, first.frontProxyAuthority);
  assert.deepEqual(second.serviceAccount, first.serviceAccount);
  const leaves = ({ servers, kubeletClient, admin, scheduler, ...rest }: typeof first) => [
    ...servers,
    kubeletClient,
    admin,
    scheduler,
    rest.controllerManager,
    rest.frontProxyClient,
  ];
  const before = leaves(first);
  assert.equal(before.length, 7);
  // Where it is shown follows from what nodes say: an administrator it must not be.
  const { subject } = new X509Certificate(first.kubeletClient.certificate);
  assert.equal(subject, "CN=kube-apiserver-kubelet-client");
  for (const [index, leaf] of leaves(second).entries()) {
    assert.notEqual(leaf.certificate, before[index]?.certificate);
    assert.notEqual(leaf.privateKey, before[index]?.privateKey);
  }
});
