/** WATCH over WebSocket at the server's door, as fabric8's clients open it: what upstream answers, and says in it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { opened, webSocketHeaders } from "#server/testing/web-socket-client.ts";
import { clientFrame } from "#wire/websocket/testing/client-frame.ts";
import { ask, openPlane, type Plane, pod, pods, request, withPlane } from "./testing/plane.ts";

async function answer(
  plane: Plane,
  target: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const asked = request("GET", target, { headers: { ...webSocketHeaders, ...headers } });
  return await plane.server.handler({ ...asked, upgrade: "websocket" });
}

const watched = `${pods}?watch=true`;

test("events are text messages, each the line that a plain watch would send", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const plain = await plane.server.handler(request("GET", watched));
    assert.equal(plain.kind, "stream");
    const lines: Uint8Array[] = [];
    if (plain.kind !== "stream") return;
    const close = plain.open({
      write: (chunks) => lines.push(...chunks) > 0,
      onDrain: () => {},
      end: () => {},
      closed: false,
    });
    const response = await answer(plane, watched);
    assert.equal(response.status, 101);
    assert.equal(response.headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert.equal(response.headers["sec-websocket-protocol"], undefined);
    const client = opened(response);
    await ask(plane, "POST", pods, { body: pod("b", { labels: { long: "x".repeat(63) } }) });
    await ask(plane, "DELETE", `${pods}/b?gracePeriodSeconds=0`);
    await plane.clock.advance(10);
    const payloads = client.messages.map(({ payload }) => payload);
    assert.equal(Buffer.concat(payloads).toString(), Buffer.concat(lines).toString());
    assert.ok(
      client.messages.every(({ opcode, payload }) => opcode === 1 && payload.at(-1) === 10),
    );
    const [first, last] = [client.events[0], client.events.at(-1)];
    assert.deepEqual([first?.type, last?.type], ["ADDED", "DELETED"]);
    close();
    client.leave();
  }));

test("watchers over WebSocket share one block of bytes", () =>
  withPlane(async (plane) => {
    const clients = [];
    for (let one = 0; one < 3; one++) clients.push(opened(await answer(plane, watched)));
    await ask(plane, "POST", pods, { body: pod("a") });
    await plane.clock.advance(10);
    const [block] = clients[0]?.chunks ?? [];
    assert.ok(block !== undefined);
    assert.ok(clients.every(({ chunks }) => chunks.length === 1 && chunks[0] === block));
    for (const client of clients) client.leave();
  }));

test("protobuf comes as binary messages without their length; tables and metadata as text", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const accept = "application/vnd.kubernetes.protobuf;stream=watch";
    const binary = opened(await answer(plane, watched, { accept }));
    const plain = await plane.server.handler(request("GET", watched, { headers: { accept } }));
    const frames: Uint8Array[] = [];
    if (plain.kind !== "stream") assert.fail(plain.kind);
    plain.open({
      write: (more) => frames.push(...more) > 0,
      onDrain() {},
      end() {},
      closed: false,
    })();
    assert.deepEqual(
      binary.messages.map(({ opcode, payload }) => [opcode, payload.toString("hex")]),
      [[2, Buffer.concat(frames).subarray(4).toString("hex")]],
    );
    for (const kind of ["Table", "PartialObjectMetadata"]) {
      const form = `application/json;as=${kind};v=v1;g=meta.k8s.io`;
      const client = opened(await answer(plane, watched, { accept: form }));
      assert.equal(client.events[0]?.object.kind, kind);
      client.leave();
    }
    binary.leave();
  }));

test("a handshake is answered as upstream's library answers it", () =>
  withPlane(async (plane) => {
    const token = "base64url.bearer.authorization.k8s.io.YQ";
    const cases: readonly (readonly [number, string, Record<string, string>])[] = [
      [101, "", { "sec-websocket-protocol": "v4.channel.k8s.io" }],
      [101, "", { "sec-websocket-protocol": `${token}, base64.binary.k8s.io` }],
      [101, "", { origin: "/x" }],
      [101, "", { origin: "mailto:x" }],
      [101, "", { "sec-websocket-key": "short" }],
      [403, "", { origin: "" }],
      [403, "", { origin: "null" }],
      [403, "", { origin: "http://a b" }],
      [400, "", { "sec-websocket-protocol": "a, b" }],
      [400, "", { "sec-websocket-protocol": `a, ${token}, b` }],
      [400, "mismatch challenge/response", { "sec-websocket-key": "" }],
      [400, "missing or bad WebSocket Version", { "sec-websocket-version": "8" }],
    ];
    for (const [status, text, headers] of cases) {
      const response = await answer(plane, watched, headers);
      assert.equal(response.status, status, JSON.stringify(headers));
      if (response.kind === "bytes") assert.equal(Buffer.concat(response.body).toString(), text);
      if (response.kind !== "tunnel") continue;
      const agreed = String(response.headers["sec-websocket-protocol"] ?? "");
      const offered = headers["sec-websocket-protocol"] ?? "";
      assert.equal(agreed, offered.replace(`${token}, `, ""));
      opened(response).leave();
    }
    const list = await answer(plane, pods);
    assert.equal(list.kind, "bytes", "a list switches nothing");
    const refused = await answer(plane, `${watched}&timeoutSeconds=x`);
    assert.equal(refused.status, 400, "a query that makes no sense is answered before the switch");
  }));

test("its deadline ends it with a bookmark and the close", () =>
  withPlane(async (plane) => {
    await ask(plane, "POST", pods, { body: pod("a") });
    const target = `${watched}&timeoutSeconds=3&allowWatchBookmarks=true`;
    const client = opened(await answer(plane, target));
    await plane.clock.advance(3_100);
    const types = client.events.map(({ type }) => type);
    assert.deepEqual(types, ["ADDED", "BOOKMARK", "BOOKMARK"]);
    assert.deepEqual(client.messages.at(-1), { opcode: 8, payload: Buffer.of(3, 0xe8) });
    client.leave();
  }));

test("a reader that stands still is a position: nothing is kept for it, and it goes on where it was", () =>
  withPlane(async (plane) => {
    const client = opened(await answer(plane, watched));
    client.room = false;
    for (const name of ["a", "b", "c"]) await ask(plane, "POST", pods, { body: pod(name) });
    await plane.clock.advance(10);
    assert.equal(client.events.length, 1);
    client.drain();
    await plane.clock.advance(10);
    assert.equal(client.events.length, 3);
    client.leave();
  }));

test("an open one counts as a watch, and leaves one sample when its client closes", async () => {
  const plane = await openPlane();
  const client = opened(await answer(plane, watched));
  const text = async (): Promise<string> => (await ask(plane, "GET", "/metrics")).text;
  const running = /apiserver_longrunning_requests\{verb="WATCH"[^}]*resource="pods"[^}]*\} (\d+)/;
  const ended = /apiserver_request_total\{verb="WATCH"[^}]*resource="pods"[^}]*code="101"\} (\d+)/;
  const before = await text();
  assert.equal(running.exec(before)?.[1], "1");
  assert.equal(ended.exec(before), null);
  void client.send(clientFrame(8, Uint8Array.of(3, 0xe8)));
  client.leave();
  await plane.clock.advance(1);
  const after = await text();
  assert.equal(running.exec(after)?.[1], "0");
  assert.equal(ended.exec(after)?.[1], "1");
  assert.deepEqual(client.messages.at(-1), { opcode: 8, payload: Buffer.of(3, 0xe8) });
  await plane.close();
});

test("a server that closes ends them as it ends every watch", async () => {
  const plane = await openPlane();
  const client = opened(await answer(plane, watched));
  await plane.close();
  assert.deepEqual(client.messages, [{ opcode: 8, payload: Buffer.of(3, 0xe8) }]);
  client.leave();
});
