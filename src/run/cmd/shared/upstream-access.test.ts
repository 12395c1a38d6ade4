/** The ways to name an upstream, and the errors of invalid ones. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { accessOf, type UpstreamFlags } from "./upstream-access.ts";
import { UsageError } from "./usage-error.ts";

const directory = mkdtempSync(join(tmpdir(), "relay-access-"));
after(() => rmSync(directory, { recursive: true }));
const file = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};
const kubeconfig = file(
  "config",
  JSON.stringify({
    "current-context": "a",
    clusters: [{ name: "c", cluster: { server: "https://c:1" } }],
    contexts: [{ name: "a", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: { token: "t" } }],
  }),
);

test("a URL brings its authority, its certificate and its token in files", async () => {
  const access = await accessOf(
    {
      upstream: "https://relay-0:6444/clusters/a",
      upstreamCa: file("ca", "CA"),
      upstreamCert: file("cert", "CERT"),
      upstreamKey: file("key", "KEY"),
      upstreamTokenFile: file("token", "secret\n"),
    },
    {},
  );
  const { bearerToken, ...rest } = access;
  const server = "https://relay-0:6444/clusters/a";
  assert.deepEqual(rest, {
    server,
    ca: "CA",
    certificate: "CERT",
    key: "KEY",
    namespace: "default",
  });
  assert.equal(bearerToken?.(), "secret");
});

test("in the clear on loopback only", async () => {
  for (const upstream of ["http://127.0.0.1:8001", "http://localhost", "http://[::1]:1"]) {
    assert.equal((await accessOf({ upstream }, {})).server, upstream);
  }
  await refused({ upstream: "http://127.0.0.1.example:8001" }, /in the clear: use https/);
  const config = (server: string): string =>
    file("clear", readFileSync(kubeconfig, "utf8").replace("https://c:1", server));
  await refused({ upstream: config("http://c:1") }, /in the clear: use https/);
  const near = "http://127.0.0.1:1";
  assert.equal((await accessOf({ upstream: config(near) }, {})).server, near);
});

test("without --upstream what kubectl would read is read", async () => {
  assert.equal((await accessOf({}, { KUBECONFIG: kubeconfig })).server, "https://c:1");
  await refused({}, /cannot read .*; name the API server with --upstream/, {
    KUBECONFIG: join(directory, "absent"),
  });
});

test("what does not go together is refused", async () => {
  const url = "https://c:1";
  await refused({ upstream: url, context: "a" }, /--context is a kubeconfig's/);
  await refused({ upstream: url, upstreamCert: "x" }, /go together/);
  await refused({ upstream: url, upstreamCa: join(directory, "absent") }, /cannot read/);
  await refused({ upstream: url, upstreamTokenFile: file("empty", "\n") }, /is empty/);
  await refused({ upstream: "https://u:p@c" }, /without user/);
  await refused({ upstream: "https://" }, /is no URL/);
  await refused({ upstream: kubeconfig, upstreamCa: "x" }, /a kubeconfig has its own/);
});

async function refused(
  flags: UpstreamFlags,
  message: RegExp,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  await assert.rejects(accessOf(flags, env), (error) => {
    assert.ok(error instanceof UsageError, String(error));
    assert.match(error.message, message);
    return true;
  });
}
