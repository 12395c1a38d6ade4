/** The same server over real TLS sockets: HTTP/1.1 and HTTP/2 clients see one world. */
import assert from "node:assert/strict";
import { connect, type ClientHttp2Session } from "node:http2";
import { type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { test } from "node:test";
import { makeAuthority, makeServerCertificate } from "#auth/pki.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { httpLimits, listen } from "#platform/node/http/http.ts";
import { openPlaneOn } from "./testing/plane.ts";

const issue = {
  validity: { notBeforeMs: Date.UTC(2020, 0), notAfterMs: Date.UTC(2049, 0) },
  serial: new Uint8Array(16).fill(7),
};
const authority = makeAuthority("test-ca", issue);
const serving = makeServerCertificate(authority, "server", ["127.0.0.1"], issue);
const maps = "/api/v1/namespaces/default/configmaps";

function open1(
  port: number,
  method: string,
  path: string,
  body?: object,
  headers: object = {},
): Promise<IncomingMessage> {
  const options = {
    host: "127.0.0.1",
    port,
    method,
    path,
    ca: authority.certificate,
    agent: false,
    headers: { "content-type": "application/json", ...headers },
  };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(options, resolve);
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function text(source: AsyncIterable<unknown>): Promise<string> {
  let all = "";
  for await (const chunk of source) all += String(chunk);
  return all;
}

/** Resolves with the first `count` lines of a stream, then lets go of it. */
async function lines(source: AsyncIterable<unknown>, count: number): Promise<readonly string[]> {
  let all = "";
  for await (const chunk of source) {
    all += String(chunk);
    if (all.split("\n").length > count) break;
  }
  return all.split("\n").slice(0, count);
}

function typesOf(frames: readonly string[]): readonly string[] {
  return frames.map((line) => (JSON.parse(line) as { type: string }).type);
}

test("create, list and watch over both protocols, and a clean close", async () => {
  const plane = await openPlaneOn(new NodeClock());
  const listening = await listen(
    {
      host: "127.0.0.1",
      port: 0,
      key: serving.privateKey,
      cert: serving.certificate,
      clientCa: authority.certificate,
      limits: httpLimits,
    },
    plane.server.handler,
    silentLog,
  );
  const { port } = listening.address;
  const session: ClientHttp2Session = connect(`https://127.0.0.1:${port}`, {
    ca: authority.certificate,
  });
  const watch1 = await open1(port, "GET", `${maps}?watch=1`);
  const watch2 = session.request({ ":path": `${maps}?watch=1` });
  await new Promise((resolve) => watch2.once("response", resolve));
  const seen1 = lines(watch1, 3);
  const seen2 = lines(watch2, 3);
  const made = await open1(port, "POST", maps, { metadata: { name: "a" }, data: { x: "1" } });
  assert.equal(made.statusCode, 201);
  await text(made);
  const put2 = session.request(
    { ":path": `${maps}/a`, ":method": "PATCH", "content-type": "application/merge-patch+json" },
    { endStream: false },
  );
  put2.end(JSON.stringify({ data: { y: "2" } }));
  assert.match(await text(put2), /"y":"2"/);
  await text(await open1(port, "DELETE", `${maps}/a`));
  assert.deepEqual(typesOf(await seen1), ["ADDED", "MODIFIED", "DELETED"]);
  assert.deepEqual(await seen1, await seen2);
  const upgrade = { connection: "Upgrade", upgrade: "SPDY/3.1" };
  const exec = await open1(port, "POST", "/api/v1/namespaces/default/pods/x/exec", {}, upgrade);
  assert.equal(exec.statusCode, 404);
  assert.match(await text(exec), /pods \\"x\\" not found/);
  session.close();
  plane.server.close();
  await listening.close(5_000);
  await plane.close();
});
