/** The socket transport with a second encoding: what it asks for, what it sends, when it falls back to JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyObject } from "#api/object.ts";
import type { ByteRequest, ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import type { ObjectCoding } from "./object-coding.ts";
import { socketClient, socketClientLimits } from "./rest-client.ts";

const pods = { group: "", version: "v1", resource: "pods" };
const widgets = { group: "example.com", version: "v1", resource: "widgets" };
const mediaType = "application/coded";

/** JSON behind an exclamation mark; an object with a field `unknown` has no such form. */
const coding: ObjectCoding = {
  mediaType,
  decode: (body) => JSON.parse(Buffer.from(body.subarray(1)).toString()) as AnyObject,
  event(frame) {
    const [type = "", text = ""] = Buffer.from(frame).toString().split("!");
    return { type, object: JSON.parse(text) as AnyObject };
  },
  encode: (object) =>
    "unknown" in object || !("kind" in object)
      ? undefined
      : Buffer.from(`!${JSON.stringify(object)}`),
};

interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly body: string | readonly Uint8Array[];
}

function setup(...answers: Answer[]) {
  const seen: ByteRequest[] = [];
  const http: ByteTransport = {
    send(request) {
      seen.push(request);
      return Promise.resolve(response(answers.shift() ?? assert.fail("one request too many")));
    },
    close() {},
  };
  const options = { userAgent: "test", ...socketClientLimits, frameBytesMax: 100, coding };
  return { seen, client: socketClient({ http }, options) };
}

function response({ status = 200, type = mediaType, body }: Answer): ByteResponse {
  const chunks = typeof body === "string" ? [Buffer.from(body)] : body;
  return {
    status,
    headers: { "content-type": `${type};stream=watch` },
    read: () => Promise.resolve(Buffer.concat(chunks)),
    async stream(take) {
      for (const chunk of chunks) await take(chunk);
    },
  };
}

const textOf = ({ body }: ByteRequest): string => Buffer.from(body ?? "").toString();
const contentType = ({ headers }: ByteRequest): unknown => headers["content-type"];

test("built-in kinds are asked for in both forms, others and discovery in JSON alone", async () => {
  const json = { type: "application/json", body: "{}" };
  const list = { type: "application/json", body: '{"items":[],"metadata":{}}' };
  const { seen, client } = setup({ body: "!{}" }, json, json, list);
  await client.get(pods, "a", "x");
  await client.get(widgets, "a", "x");
  await client.raw("/version");
  await client.list(pods, { metadataOnly: true });
  const as = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
  assert.deepEqual(
    seen.map(({ headers }) => headers["accept"]),
    [
      "application/coded,application/json",
      "application/json",
      "application/json",
      `application/coded;${as},application/json;${as},application/json`,
    ],
  );
});

test("bodies go coded, with the kind they lack; patches and what would lose something go as JSON", async () => {
  const { seen, client } = setup(...Array.from({ length: 6 }, () => ({ body: "!{}" })));
  const metadata = { name: "x" };
  await client.create<AnyObject>(pods, "a", { metadata });
  await client.update<AnyObject>(pods, "a", { metadata, unknown: 1 });
  await client.patch(pods, "a", "x", "merge", { spec: {} });
  await client.createSub(pods, "a", "x", "binding", { kind: "Binding", apiVersion: "v1" });
  await client.createSub(pods, "a", "x", "binding", { metadata });
  await client.delete(pods, "a", "x", { gracePeriodSeconds: 0 });
  assert.deepEqual(seen.map(contentType), [
    mediaType,
    "application/json",
    "application/merge-patch+json",
    mediaType,
    "application/json",
    mediaType,
  ]);
  const [created = assert.fail(), updated = assert.fail()] = seen;
  assert.equal(textOf(created), '!{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}');
  assert.equal(textOf(updated), '{"metadata":{"name":"x"},"unknown":1}');
});

test("a 415 is answered with JSON, once and for all of that kind", async () => {
  const refusal = { status: 415, type: "text/plain", body: "unsupported media type" };
  const { seen, client } = setup(refusal, { body: "!{}" }, { body: "!{}" });
  await client.create<AnyObject>(pods, "a", { metadata: { name: "x" } });
  await client.create<AnyObject>(pods, "a", { metadata: { name: "y" } });
  assert.deepEqual(seen.map(contentType), [mediaType, "application/json", "application/json"]);
});

test("a 415 to JSON is thrown: there is no third form", async () => {
  const refusal = { status: 415, type: "text/plain", body: "unsupported media type" };
  const { client } = setup(refusal, refusal);
  await assert.rejects(
    client.create<AnyObject>(pods, "a", { metadata: { name: "x" } }),
    /unsupported/,
  );
});

test("a server that answers in JSON is read as JSON, also a watch", async () => {
  const type = "application/json";
  const line = '{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n';
  const { client } = setup({ type, body: '{"kind":"Pod"}' }, { type, body: line });
  assert.equal((await client.get<AnyObject>(pods, "a", "x")).kind, "Pod");
  const names: unknown[] = [];
  await client.watch(pods, { signal: new AbortController().signal }, (events) =>
    names.push(...events.map(({ object }) => object.metadata?.name)),
  );
  assert.deepEqual(names, ["x"]);
});

function frame(text: string): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(Buffer.byteLength(text));
  return Buffer.concat([head, Buffer.from(text)]);
}

function watching(...body: readonly Uint8Array[]): {
  readonly types: string[];
  readonly end: Promise<void>;
} {
  const { client } = setup({ body });
  const types: string[] = [];
  const end = client.watch(pods, { signal: new AbortController().signal }, (events) =>
    types.push(...events.map(({ type }) => type)),
  );
  return { types, end };
}

test("frames are events in order; an ERROR may be of another kind than the rest", async () => {
  const { types, end } = watching(
    frame('ADDED!{"apiVersion":"v1","kind":"Pod"}'),
    frame('BOOKMARK!{"apiVersion":"v1","kind":"Pod"}'),
    frame('ERROR!{"apiVersion":"v1","kind":"Status"}'),
  );
  await end;
  assert.deepEqual(types, ["ADDED", "BOOKMARK", "ERROR"]);
});

test("a frame of another kind, of no event, or beyond the limit ends the watch with a reason", async () => {
  const first = frame('ADDED!{"apiVersion":"v1","kind":"Pod"}');
  const cases: readonly (readonly [Uint8Array, RegExp])[] = [
    [
      frame('ADDED!{"apiVersion":"v1","kind":"Secret"}'),
      /holds a v1 Secret, those before it v1 Pod/,
    ],
    [frame("GONE!{}"), /no watch event/],
    [Uint8Array.of(0xff, 0xff, 0xff, 0xff), /larger than 100 bytes/],
  ];
  for (const [bad, reason] of cases) {
    const { types, end } = watching(first, bad);
    await assert.rejects(end, reason);
    assert.deepEqual(types, ["ADDED"]);
  }
});
