/**
 * A hostile API server that speaks protobuf to the client library: broken answers are errors with a reason, broken
 * watches end and are tried again at the reflector's pace, and the copy keeps what it had.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import fc from "fast-check";
import type { AnyObject } from "#api/object.ts";
import { connect, type Connection } from "#cmd/connect.ts";
import { concatBytes } from "#base/bytes.ts";
import { TooManyFieldsError } from "#forms/protobuf/decode.ts";
import { ProtobufCoding } from "#forms/protobuf/coding.ts";
import {
  delimited,
  entryBytes,
  envelope,
  listParts,
  objectBytes,
  watchFrame,
} from "#forms/protobuf/envelope.ts";
import { ProtobufError } from "#wire/protobuf.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const mediaType = "application/vnd.kubernetes.protobuf";
const pods = { group: "", version: "v1", resource: "pods" };
const podType = { apiVersion: "v1", kind: "Pod" };
const good = {
  ...podType,
  metadata: { name: "good", namespace: "a", uid: "u", resourceVersion: "5" },
  spec: { nodeName: "n" },
  status: { phase: "Running" },
};

let answer: (response: ServerResponse, isWatch: boolean) => void = (response) => response.end();
let server: Server;
let connection: Connection;

before(async () => {
  server = createServer((request, response) => {
    response.setHeader("content-type", mediaType);
    answer(response, request.url?.includes("watch=true") === true);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const kubeconfig = `http://127.0.0.1:${port}`;
  connection = await connect({ kubeconfig, encoding: "protobuf", logLevel: "error" });
});
after(() => {
  connection.close();
  server.close();
  server.closeAllConnections();
});

const nested = (levels: number): Uint8Array => {
  let schema: Uint8Array = new Uint8Array(0);
  // JSONSchemaProps.not = 28, a schema in a schema.
  for (let level = 0; level < levels; level++) {
    schema = concatBytes([Uint8Array.of(0xe2, 0x01), ...delimited(0, [schema]).map(withoutTag)]);
  }
  return schema;
};

function withoutTag(part: Uint8Array, at: number): Uint8Array {
  return at === 0 ? part.subarray(1) : part;
}

function definition(schema: Uint8Array): Uint8Array {
  const validation = concatBytes(delimited(0x0a, [schema]));
  const version = concatBytes(delimited(0x22, [validation]));
  const spec = concatBytes(delimited(0x3a, [version]));
  const type = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
  return envelope(type, concatBytes(delimited(0x12, [spec])));
}

const whole = objectBytes(good);
const answers: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
  "wrong magic": [Buffer.concat([Buffer.from("k9s\0"), whole.subarray(4)]), /does not appear/],
  "an answer that is cut": [whole.subarray(0, -9), /unexpected EOF/],
  "an empty answer": [new Uint8Array(0), /does not appear/],
  "a kind that nobody knows": [
    envelope({ apiVersion: "x/v1", kind: "Y" }, whole),
    /no protobuf message/,
  ],
  "a length of 2^63": [
    Buffer.from([...Buffer.from("k8s\0"), 0x12, ...Array.from({ length: 9 }, () => 0xff), 0x7f]),
    /unexpected EOF/,
  ],
  "a varint without end": [
    Buffer.from([...Buffer.from("k8s\0"), 0x08, ...Array.from({ length: 30 }, () => 0xff)]),
    /integer overflow/,
  ],
  "schemas nested 2,000 deep": [definition(nested(2_000)), /nests too deep/],
};

for (const [name, [body, reason]] of Object.entries(answers)) {
  test(`${name} is an error with a reason`, async () => {
    answer = (response) => response.end(body);
    await assert.rejects(connection.client.get(pods, "a", "good"), reason);
  });
}

function listOf(...objects: readonly AnyObject[]): Uint8Array {
  const entries = objects.map((object) => entryBytes(podType, object));
  const type = { apiVersion: "v1", kind: "PodList" };
  return concatBytes(listParts(type, { resourceVersion: "5" }, entries));
}

const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", resourceVersion: "6" } };
const frames: Readonly<Record<string, Uint8Array>> = {
  "a frame of 4 GiB": Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0),
  "a frame that is cut": watchFrame("MODIFIED", podType, good).subarray(0, -5),
  "a frame without magic": Uint8Array.of(0, 0, 0, 8, 0x0a, 1, 0x41, 0x12, 3, 0x0a, 1, 0),
  "a frame of another kind": watchFrame("ADDED", { apiVersion: "v1", kind: "Secret" }, secret),
  "JSON instead of frames": Buffer.from('{"type":"ADDED","object":{}}\n'),
};

for (const [name, bad] of Object.entries(frames)) {
  test(`after ${name} a watch begins anew where it was, and the copy is whole`, async () => {
    const later = { ...good, metadata: { ...good.metadata, resourceVersion: "9" } };
    let watches = 0;
    answer = (response, isWatch) => {
      if (!isWatch) return void response.end(listOf(good));
      watches++;
      if (watches > 1) return void response.write(watchFrame("MODIFIED", podType, later));
      const first = watchFrame("BOOKMARK", podType, {
        ...podType,
        metadata: { resourceVersion: "5" },
      });
      response.write(first);
      // A cut frame is known by the end of the stream; the others by themselves.
      if (name.includes("cut")) response.end(bad);
      else response.write(bad);
    };
    const stop = new AbortController();
    const informer = connection.informers.informer<AnyObject>(pods, {
      namespace: name.replace(/\W/g, ""),
    });
    const seen = Promise.withResolvers<void>();
    informer.addHandler({ update: () => seen.resolve() });
    const running = informer.run(stop.signal);
    await seen.promise;
    assert.equal(informer.get("a", "good")?.metadata?.resourceVersion, "9");
    assert.deepEqual(informer.list(), [later]);
    assert.equal(watches, 2);
    stop.abort();
    await running;
  });
}

test("random bytes in a message are an object or an error, whether it is decoded at once or when it is read", () => {
  const coding = new ProtobufCoding(() => {});
  const message = objectBytes(good);
  const damage = fc.array(fc.tuple(fc.nat(message.length - 1), fc.nat(255)), { maxLength: 4 });
  const property = fc.property(damage, (places) => {
    const bytes = Uint8Array.from(message);
    for (const [at = 0, byte = 0] of places) bytes[at] = byte;
    const now = attempt(() => coding.decode(bytes, false));
    const lazily = attempt(() => ({ ...coding.decode(bytes, true) }));
    if (now !== "error" && lazily !== "error") assert.deepEqual(lazily, now);
  });
  fc.assert(property, { seed, numRuns: 3_000 });
});

function attempt(read: () => AnyObject): AnyObject | "error" {
  try {
    return JSON.parse(JSON.stringify(read())) as AnyObject; // reads every field
  } catch (error) {
    assert.ok(error instanceof ProtobufError || error instanceof TooManyFieldsError, String(error));
    return "error";
  }
}
