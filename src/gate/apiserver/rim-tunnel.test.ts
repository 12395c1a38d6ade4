/** Upgrades over TLS: which are offered, and what becomes of a tunnel whose client is gone. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:tls";
import { test, type TestContext } from "node:test";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";
import type { PlainHandler } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};
const served = makeServerCertificate(makeAuthority("test-ca", issue), "s", ["127.0.0.1"], issue);

async function opened(context: TestContext, handler: PlainHandler) {
  const { certificate: cert, privateKey: key } = served;
  const options = { host: "127.0.0.1", port: 0, cert, key, limits: httpLimits };
  const server = await listen(options, handler, silentLog);
  context.after(() => server.close(0));
  const socket = connect({ port: server.address.port, rejectUnauthorized: false });
  socket.on("error", () => {});
  return socket;
}

const upgrade = "host: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n";

test("an upgrade is offered only without a body", async (context) => {
  const offered: (string | undefined)[] = [];
  const handler: PlainHandler = (request) => {
    offered.push(request.upgrade);
    return Promise.resolve({ kind: "bytes", status: 200, headers: {}, body: [] });
  };
  for (const [body, expected] of [
    ["\r\n", "websocket"],
    ["content-length: 0\r\n\r\n", "websocket"],
    ["content-length: 5\r\n\r\nhello", undefined],
    ["transfer-encoding: chunked\r\n\r\n0\r\n\r\n", undefined],
  ] as const) {
    const socket = await opened(context, handler);
    socket.write(`POST / HTTP/1.1\r\n${upgrade}${body}`);
    await once(socket, "data");
    socket.destroy();
    assert.equal(offered.at(-1), expected, body);
  }
});

test("a tunnel whose client is gone is opened to nobody, so that its other end hears of it", async (context) => {
  const steps = new EventTarget();
  const step = (name: string): Promise<unknown> => once(steps, name);
  const outcome = step("outcome") as Promise<[CustomEvent<string>]>;
  const handler: PlainHandler = async (request) => {
    const left = step("left");
    request.signal.addEventListener("abort", () => steps.dispatchEvent(new Event("left")));
    steps.dispatchEvent(new Event("asked"));
    await left;
    return {
      kind: "tunnel",
      status: 101,
      headers: {},
      open: (client) => {
        const tell = (detail: string): boolean =>
          steps.dispatchEvent(new CustomEvent("outcome", { detail }));
        client
          .stream(() => {})
          .then(
            () => tell("ended"),
            (error: Error) => tell(`${client.closed}: ${error.message}`),
          );
      },
    };
  };
  const socket = await opened(context, handler);
  const asked = step("asked");
  socket.write(`GET / HTTP/1.1\r\n${upgrade}\r\n`);
  await asked;
  socket.destroy();
  const [event] = await outcome;
  assert.equal(event.detail, "true: the client went away before its tunnel opened");
});
