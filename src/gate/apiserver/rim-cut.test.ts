/** HTTP/2 streams that are cut: the client gets a reset, never a clean end. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { test } from "node:test";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";
import type { ByteSink, PlainHandler } from "#platform/http.ts";
import { silentLog } from "#platform/log.ts";

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};
const served = makeServerCertificate(
  makeAuthority("test-ca", issue),
  "server",
  ["127.0.0.1"],
  issue,
);

/** More than a window, so a part still waits in the server when the stream is cut. */
const large = new Uint8Array(1_000_000).fill(97);

for (const [what, first] of [
  ["all sent", new Uint8Array(1_000).fill(97)],
  ["much unsent", large],
] as const) {
  void test(`a stream that its maker cuts is reset (${what})`, async (context) => {
    const { stream, sink, seen, closed } = await opened(context, first);
    sink.abort?.();
    await closed;
    assertReset(stream, seen);
  });

  void test(`a stream that its maker cuts when the server closes is reset (${what})`, async (context) => {
    const { stream, seen, closed, close } = await opened(context, first);
    await Promise.all([closed, close()]);
    assertReset(stream, seen);
  });
}

function assertReset(stream: ClientHttp2Stream, seen: readonly string[]): void {
  assert.deepEqual(seen, ["error"], "an end would say that the body is whole");
  assert.equal(stream.rstCode, 2, "INTERNAL_ERROR");
}

interface Opened {
  readonly stream: ClientHttp2Stream;
  readonly sink: ByteSink;
  /** How the body ended for the client. */
  readonly seen: string[];
  readonly closed: Promise<unknown>;
  readonly close: () => Promise<void>;
}

async function opened(
  context: { after(f: () => unknown): void },
  first: Uint8Array,
): Promise<Opened> {
  const { promise, resolve } = Promise.withResolvers<ByteSink>();
  const handler: PlainHandler = () =>
    Promise.resolve({
      kind: "stream",
      status: 200,
      headers: {},
      open: (sink) => {
        sink.write([first]);
        resolve(sink);
        return () => sink.abort?.();
      },
    });
  const pair = { key: served.privateKey, cert: served.certificate };
  const options = { host: "127.0.0.1", port: 0, limits: httpLimits, ...pair };
  const server = await listen(options, handler, silentLog);
  const session: ClientHttp2Session = connect(`https://127.0.0.1:${server.address.port}`, {
    rejectUnauthorized: false,
  });
  // The server's end of the connection is no matter here.
  session.on("error", () => {});
  context.after(async () => {
    session.destroy();
    await server.close(0);
  });
  const stream = session.request({ ":path": "/w" });
  const seen: string[] = [];
  stream.on("end", () => seen.push("end"));
  stream.on("error", () => seen.push("error"));
  const closed = new Promise((done) => stream.on("close", done));
  const sink = await promise;
  await once(
    stream.on("data", () => {}),
    "data",
  );
  return { stream, sink, seen, closed, close: () => server.close(600_000) };
}
