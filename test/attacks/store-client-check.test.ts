/** Whose certificates count, asked of the listener itself: on every connection, resumed ones too; and what its end leaves. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import { connect as connectTcp } from "node:net";
import { connect, type ConnectionOptions } from "node:tls";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "#auth/pki.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { listenEtcd, type ListenTls, recommendedServerLimits } from "#etcd/server.ts";

const dayMs = 24 * 3600 * 1000;
const nowMs = Date.now();
const validity = { notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + dayMs };
const issue = () => ({ validity, serial: randomBytes(16) });
const authority = makeAuthority("store", issue());
const server = makeServerCertificate(authority, "store", ["127.0.0.1"], issue());
const client = makeClientCertificate(authority, { commonName: "a", organizations: [] }, issue());
const ca = authority.certificate;
const shown = { ca, cert: client.certificate, key: client.privateKey };

function listen(tls: Pick<ListenTls, "clientCa" | "refuse">) {
  const own = { cert: server.certificate, key: server.privateKey };
  return listenEtcd(deps(), { ...address, tls: { ...own, ...tls } });
}

function listenInClear() {
  return listenEtcd(deps(), address);
}

const address = { host: "127.0.0.1", port: 0, limits: recommendedServerLimits };

function deps() {
  const http = { answer: () => ({ status: 200, headers: {}, body: "" }) } as never; // of no interest
  return { methods: new Map(), http, clock: new NodeClock(), log: silentLog };
}

/** What becomes of a connection: HTTP/2 is served (its settings come), or it is closed without a byte. */
async function connected(port: number, options: ConnectionOptions) {
  const socket = connect({ ...options, host: "127.0.0.1", port, ALPNProtocols: ["h2"] });
  socket.on("error", () => undefined);
  let session: Buffer | undefined;
  socket.on("session", (ticket) => (session = ticket));
  let isReused = false;
  socket.on("secureConnect", () => {
    isReused = socket.isSessionReused();
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
  });
  const served = once(socket, "data").then(
    () => "served",
    () => "closed",
  );
  const outcome = await Promise.race([served, once(socket, "close").then(() => "closed")]);
  socket.destroy();
  return { outcome, session, isReused };
}

test("a session that began while its certificate counted is refused once it does not", async (t) => {
  let counts = true;
  const refuse = (): string | undefined => (counts ? undefined : "it does not count any more");
  const listening = await listen({ clientCa: ca, refuse });
  t.after(() => listening.close());
  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    counts = true;
    const first = await connected(listening.port, { ...shown, maxVersion });
    assert.equal(first.outcome, "served");
    assert.ok(first.session !== undefined);
    const again = { ...shown, maxVersion, session: first.session };
    const resumed = await connected(listening.port, again);
    assert.deepEqual([resumed.outcome, resumed.isReused], ["served", true], maxVersion);
    counts = false;
    const refused = await connected(listening.port, again);
    assert.equal(refused.outcome, "closed", maxVersion);
  }
});

test("where certificates are judged, a connection without one is refused", async (t) => {
  // Without an authority none is asked for: nobody can pass.
  const listening = await listen({ refuse: () => undefined });
  t.after(() => listening.close());
  assert.equal((await connected(listening.port, { ca })).outcome, "closed");
});

test(
  "a listener that closes ends connections that nobody serves yet",
  { timeout: 8_000 },
  async () => {
    for (const isTls of [true, false]) {
      const listening = isTls ? await listen({}) : await listenInClear();
      const silent = [
        connectTcp(listening.port, "127.0.0.1"),
        connectTcp(listening.port, "127.0.0.1"),
      ];
      const closed = silent.map((socket) => {
        socket.on("error", () => undefined);
        socket.resume();
        return new Promise((resolve) => socket.on("close", resolve));
      });
      await Promise.all(silent.map((socket) => once(socket, "connect")));
      // Half of a head, or of a hello.
      silent[1]?.write(isTls ? Buffer.from([0x16, 0x03, 0x01]) : "PRI * HTTP/2.0");
      // Accepted after them, so they are accepted too.
      const last = connectTcp(listening.port, "127.0.0.1");
      last.on("error", () => undefined);
      await once(last, "connect");
      if (!isTls) {
        last.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
        await once(last, "data");
      }
      last.destroy();
      await listening.close();
      await Promise.all(closed);
    }
  },
);
