/** A listener whose certificate and authorities change while connections are open. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { Agent, request } from "node:https";
import { test } from "node:test";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "./pki.ts";
import { silentLog } from "#platform/log.ts";
import type { PlainHandler } from "#platform/http.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";

const nowMs = Date.now();
const validity = { notBeforeMs: nowMs - 3_600_000, notAfterMs: nowMs + 86_400_000 };
let serials = 0;
const issue = () => ({ validity, serial: new Uint8Array(16).fill(++serials) });

function authority(name: string) {
  const made = makeAuthority(name, issue());
  const server = makeServerCertificate(made, name, ["localhost", "127.0.0.1"], issue());
  const subject = { commonName: `client of ${name}`, organizations: [] };
  const client = makeClientCertificate(made, subject, issue());
  return {
    ca: made.certificate,
    server,
    client: { cert: client.certificate, key: client.privateKey },
  };
}

const [a, b] = [authority("a"), authority("b")];

/** Says how the client is known. */
const handler: PlainHandler = ({ peer }) => {
  const isSocket = peer.kind === "socket";
  const text = !isSocket
    ? "direct"
    : peer.certificate !== undefined
      ? "good"
      : (peer.certificateProblem ?? "none");
  return Promise.resolve({ kind: "bytes", status: 200, headers: {}, body: [Buffer.from(text)] });
};

function start() {
  const shown = { key: a.server.privateKey, cert: a.server.certificate, clientCa: a.ca };
  const options = { host: "127.0.0.1", port: 0, ...shown, limits: httpLimits };
  return listen(options, handler, silentLog);
}

async function ask(port: number, agent: Agent): Promise<string> {
  const sent = request({ host: "127.0.0.1", port, agent, path: "/" }).end();
  const [response] = (await once(sent, "response")) as [AsyncIterable<Buffer>];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return text;
}

const shownB = { key: b.server.privateKey, cert: b.server.certificate };

test("new connections are shown the new certificate, and clients of a new authority are known", async () => {
  const listening = await start();
  const { port } = listening.address;
  const before = new Agent({ ca: a.ca, ...b.client });
  assert.notEqual(await ask(port, before), "good");
  listening.renew({ ...shownB, clientCa: [a.ca, b.ca] });
  for (const client of [a.client, b.client]) {
    assert.equal(await ask(port, new Agent({ ca: b.ca, ...client })), "good");
  }
  await assert.rejects(ask(port, new Agent({ ca: a.ca, ...a.client })));
  await listening.close(1_000);
});

test("a connection whose authority is gone is cut, a quiet one too; others stay", async () => {
  const listening = await start();
  const { port } = listening.address;
  listening.renew({ key: a.server.privateKey, cert: a.server.certificate, clientCa: [a.ca, b.ca] });
  const [old, kept] = [a.client, b.client].map((client) => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca: a.ca, ...client });
    return session.on("error", () => {});
  });
  assert.ok(old !== undefined && kept !== undefined);
  for (const session of [old, kept]) {
    const stream = session.request({ ":path": "/" });
    stream.resume();
    await once(stream, "end");
  }
  const cut = once(old, "close");
  listening.renew({ ...shownB, clientCa: b.ca });
  await cut;
  const stream = kept.request({ ":path": "/" });
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  assert.equal(text, "good");
  kept.destroy();
  const again = await ask(port, new Agent({ ca: b.ca, ...a.client }));
  assert.notEqual(again, "good", "its certificate is that of nobody");
  await listening.close(1_000);
});

test("a session that goes on by a ticket of before is judged by the authorities of now", async () => {
  const listening = await start();
  const { port } = listening.address;
  const agent = new Agent({ ca: [a.ca, b.ca], ...a.client, maxCachedSessions: 10 });
  assert.equal(await ask(port, agent), "good");
  listening.renew({ key: a.server.privateKey, cert: a.server.certificate, clientCa: b.ca });
  assert.notEqual(await ask(port, agent), "good");
  await listening.close(1_000);
});

test("what cannot be used changes nothing", async () => {
  const listening = await start();
  const { port } = listening.address;
  assert.throws(() => listening.renew({ key: "no key", cert: "none", clientCa: a.ca }));
  const mixed = { key: b.server.privateKey, cert: a.server.certificate, clientCa: b.ca };
  assert.throws(() => listening.renew(mixed));
  assert.equal(await ask(port, new Agent({ ca: a.ca, ...a.client })), "good");
  await listening.close(1_000);
});
