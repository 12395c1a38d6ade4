/** What kube-apiserver's flags of its port mean to a plane, and what is refused. */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { type TLSSocket, connect as connectTls } from "node:tls";
import { Command } from "commander";
import { test, type TestContext } from "node:test";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import { must } from "#base/assert.ts";
import { silentLog } from "#platform/log.ts";
import { canSharePort, httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import {
  addServingFlags,
  addWatchLimits,
  portSharing,
  type ServingFlags,
  servingOptions,
} from "./serving-flags.ts";

function parsed(...args: readonly string[]): ServingFlags {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  addServingFlags(command);
  addWatchLimits(command);
  return command.parse(args, { from: "user" }).opts();
}

const random = new FakeRandom(1);
const validity = { notBeforeMs: Date.now() - 3_600_000, notAfterMs: Date.now() + 3_600_000 };
const authority = makeAuthority("test", { validity, serial: random.bytes(16) });

function pairFor(...names: readonly string[]): { readonly cert: string; readonly key: string } {
  const made = makeServerCertificate(authority, names[0] ?? "", names, {
    validity,
    serial: random.bytes(16),
  });
  return { cert: made.certificate, key: made.privateKey };
}

async function listening(
  context: TestContext,
  more: Partial<Parameters<typeof listen>[0]>,
): Promise<Listening> {
  const handler = () =>
    Promise.resolve({ kind: "bytes", status: 200, headers: {}, body: [] } as const);
  const at = { host: "127.0.0.1", port: 0, limits: httpLimits, ...pairFor("127.0.0.1") };
  const opened = await listen({ ...at, ...more }, handler, silentLog);
  context.after(() => opened.close(0));
  return opened;
}

test("absent flags are upstream's defaults", () => {
  const { tls, headers, ...rest } = servingOptions(parsed());
  assert.deepEqual(tls, { named: [] });
  assert.deepEqual(headers, {});
  assert.deepEqual(rest, {
    goawayChance: 0,
    seats: 600,
    levelWatchesMax: Number.POSITIVE_INFINITY,
    userWatchesMax: Number.POSITIVE_INFINITY,
    requestTimeoutMs: 60_000,
    watchMsMin: 1_800_000,
    shutdownDelayMs: 0,
    tolerationSeconds: { notReady: 300, unreachable: 300 },
  });
});

test("values that upstream refuses are refused", () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ["--cors-allowed-origins=example.com", /does not pin to start\/end of host/],
    ["--cors-allowed-origins=^(a$", /\^\(a\$/],
    ["--goaway-chance=0.03", /can not be less than 0 or greater than 0.02/],
    ["--tls-min-version=VersionTLS10", /VersionTLS12 or VersionTLS13/],
    ["--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA", /not supported or doesn't exist/],
    ["--strict-transport-security-directives=forever", /allowed values: max-age/],
    ["--max-requests-inflight=-1", /whole number from 0/],
  ];
  for (const [flag, reason] of refused) assert.throws(() => parsed(flag), reason, flag);
  const none = parsed("--max-requests-inflight=0", "--max-mutating-requests-inflight=0");
  assert.throws(() => servingOptions(none), /leave no request a seat/);
});

test("an origin matches by upstream's regular expressions", () => {
  const { headers } = servingOptions(parsed("--cors-allowed-origins", "//a\\.example\\.com(:|$)"));
  const allows = must(headers.allowsOrigin, "a pattern was given");
  assert.equal(allows("https://a.example.com:8443"), true);
  assert.equal(allows("https://a.example.com"), true);
  assert.equal(allows("https://a.example.com.evil.org"), false);
});

async function secureSocket(
  port: number,
  options: { readonly servername?: string; readonly maxVersion?: "TLSv1.2" },
): Promise<TLSSocket> {
  const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
  return new Promise((resolve, reject) => {
    socket.once("secureConnect", () => resolve(socket)).once("error", reject);
  });
}

test("a client is shown the certificate of the name that it asks for", async (context) => {
  const named = [
    { ...pairFor("one.example.com"), names: [] },
    { ...pairFor("any"), names: ["*.two.example.com"] },
  ];
  const { port } = (await listening(context, { tls: { named } })).address;
  const shown = async (servername: string): Promise<string> => {
    const socket = await secureSocket(port, { servername });
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return String(subject.CN);
  };
  assert.equal(await shown("one.example.com"), "one.example.com");
  assert.equal(await shown("x.two.example.com"), "any");
  assert.equal(await shown("other.example.com"), "127.0.0.1");
});

test("a client of an older TLS than asked for is refused", async (context) => {
  const { port } = (await listening(context, { tls: { minVersion: "TLSv1.3" } })).address;
  await assert.rejects(secureSocket(port, { maxVersion: "TLSv1.2" }), /protocol version/);
});

test("a connection that is sent away finishes its request and takes no other", async (context) => {
  const { port } = (await listening(context, { goawayChance: 1 })).address;
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  context.after(() => session.destroy());
  const status = new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/api" });
    stream.on("response", (head) => resolve(head[":status"])).on("error", reject);
    stream.resume().end();
  });
  const away = new Promise<void>((resolve) => session.once("goaway", () => resolve()));
  assert.equal(await status, 200);
  await away;
});

test(
  "--permit-port-sharing lets a second process listen on the port, and without it none does",
  { skip: !canSharePort && "this system does not spread a port" },
  async (context) => {
    const shared = portSharing(parsed("--permit-port-sharing"));
    const first = await listening(context, shared);
    const { port } = first.address;
    assert.equal((await listening(context, { ...shared, port })).address.port, port);
    const alone = portSharing(parsed());
    assert.deepEqual(alone, {});
    await assert.rejects(listening(context, { ...alone, port }), /already/);
  },
);
