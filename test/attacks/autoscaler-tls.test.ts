/** The externalgrpc protocol over TLS: who is let in by the hollow provider, and which provider the autoscaler believes. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import {
  type IssuedCertificate,
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "#auth/pki.ts";
import { createFakeApi } from "#client/testing/fake-api.ts";
import { type CloudConfig, GrpcProvider } from "#cmd/autoscaler/grpc-provider.ts";
import { serveNodeGroups } from "#cmd/shared/node-group-server.ts";
import { createHollowNodes } from "#hollow/hollow.ts";
import { GroupNodes } from "#hollow/node-group-nodes.ts";
import { NodeGroups } from "#hollow/node-groups.ts";
import { hollowDefaults } from "#hollow/options.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { parseNodeGroups } from "#cmd/shared/node-group-document.ts";

const hourMs = 3_600_000;
let serials = 0;
const made = () => ({
  validity: { notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + hourMs },
  serial: Uint8Array.from({ length: 16 }, () => ++serials % 256),
});
const ours = makeAuthority("ours", made());
const theirs = makeAuthority("theirs", made());
const name = { commonName: "autoscaler", organizations: [] };
const closers: (() => Promise<void> | void)[] = [];
after(async () => {
  for (const close of closers) await close();
});

function groupNodes(): GroupNodes {
  const clock = new FakeClock();
  const deps = {
    client: createFakeApi({ clock }),
    clock,
    random: new FakeRandom(1),
    log: silentLog,
  };
  const { file } = parseNodeGroups("groups: [{name: a, max: 3, shape: {cpu: 4}}]");
  assert.ok(file);
  const options = { ...hollowDefaults, count: 0 };
  const groups = new NodeGroups(deps, file, { nowMs: 0, firstIndex: 0 });
  const { roster } = createHollowNodes(deps, options);
  return new GroupNodes(deps, { groups, options, roster });
}

async function served(silentMsMax: number, hosts: readonly string[]): Promise<string> {
  const { certificate: cert, privateKey: key } = makeServerCertificate(ours, "p", hosts, made());
  const tls = { cert, key, clientCa: ours.certificate };
  const at = { host: "127.0.0.1", port: 0, tls, silentMsMax };
  const provider = await serveNodeGroups(groupNodes(), at);
  closers.push(() => provider.close());
  return provider.address;
}

/** `ca`: whom the client believes. */
function client(address: string, own: IssuedCertificate | undefined, ca = ours): GrpcProvider {
  const tls: CloudConfig["tls"] =
    own === undefined
      ? undefined
      : { cert: own.certificate, key: own.privateKey, ca: ca.certificate };
  const provider = new GrpcProvider({ clock: new NodeClock() }, { address, tls, timeoutMs: 5_000 });
  closers.push(() => provider.close());
  return provider;
}

let address = "";
before(async () => {
  address = await served(60_000, ["127.0.0.1"]);
});

void test("a certificate of the clients' authority is let in", async () => {
  const groups = await client(address, makeClientCertificate(ours, name, made())).groups();
  assert.deepEqual(groups, [{ id: "a", min: 0, max: 3 }]);
});

const expired = (): IssuedCertificate =>
  makeClientCertificate(ours, name, {
    ...made(),
    validity: { notBeforeMs: Date.now() - 2 * hourMs, notAfterMs: Date.now() - hourMs },
  });
const strangers: readonly (readonly [string, () => IssuedCertificate | undefined])[] = [
  ["another authority's certificate", () => makeClientCertificate(theirs, name, made())],
  ["a certificate that has expired", expired],
  ["a server's certificate", () => makeServerCertificate(ours, "autoscaler", ["a"], made())],
  ["no TLS at all", () => undefined],
];

for (const [what, certificate] of strangers) {
  void test(`${what} is not`, async () => {
    const provider = client(address, certificate());
    await assert.rejects(provider.groups());
    await assert.rejects(provider.increase("a", 1));
  });
}

void test("a provider that another authority vouches for, or of another name, is not believed", async () => {
  const own = makeClientCertificate(ours, name, made());
  await assert.rejects(client(address, own, theirs).groups(), /certificate/);
  const elsewhere = await served(60_000, ["10.1.2.3", "provider.example"]);
  await assert.rejects(client(elsewhere, own).groups(), /certificate's altnames|does not match/);
});

void test("connections that say nothing end; a client that comes back is served again", async () => {
  const quick = await served(200, ["127.0.0.1"]);
  const provider = client(quick, makeClientCertificate(ours, name, made()));
  await provider.groups();
  // The provider hangs up on the silent connection; the next call dials by itself.
  await new Promise((resolve) => setTimeout(resolve, 600));
  assert.equal((await provider.groups()).length, 1);
});

void test("however many connect without a word, at most 64 are held", async () => {
  const [host = "", port = ""] = address.split(":");
  const sockets: Socket[] = [];
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  const ends = Array.from({ length: 80 }, () => {
    const socket = connect(Number(port), host);
    socket.on("error", () => undefined);
    sockets.push(socket);
    return new Promise<void>((resolve) => socket.once("close", () => resolve()));
  });
  let closed = 0;
  await new Promise<void>((resolve) => {
    for (const end of ends) {
      void end.then(() => {
        if (++closed === 16) resolve();
      });
    }
  });
  assert.ok(sockets.filter(({ destroyed }) => !destroyed).length <= 64);
});
