/** The two transports: what they send, what they make of answers. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ApiError, notFound, tooManyRequests } from "#api/status.ts";
import type { ObjectEventSink, PlainHandler, PlainRequest } from "#platform/http.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { directClient } from "./direct.ts";
import { socketClient, socketClientLimits } from "./rest-client.ts";

const pods = { group: "", version: "v1", resource: "pods" };
const deployments = { group: "apps", version: "v1", resource: "deployments" };
const user = { name: "admin", groups: [] };

test("direct calls carry objects, not bytes, and say who asks", async () => {
  const seen: PlainRequest[] = [];
  const handler: PlainHandler = (request) => {
    seen.push(request);
    const object = { kind: "Deployment", metadata: { name: "web" } };
    return Promise.resolve({ kind: "object", status: 200, headers: {}, object });
  };
  const client = directClient(handler, user);
  const patch = { spec: { replicas: 2 } };
  const options = { subresource: "scale", fieldManager: "me" };
  await client.patch(deployments, "a", "web", "strategic", patch, options);
  await client.delete(deployments, "a", "web", { gracePeriodSeconds: 0 });
  await client.list(pods, { labelSelector: "a in (b,c)", limit: 5 });
  const [first, second, third] = seen;
  assert.equal(first?.path, "/apis/apps/v1/namespaces/a/deployments/web/scale");
  assert.equal(first?.query, "fieldManager=me");
  assert.equal(first?.headers["content-type"], "application/strategic-merge-patch+json");
  assert.deepEqual(first?.body, { kind: "object", object: patch });
  assert.deepEqual(first?.peer, { kind: "direct", user });
  const body = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 };
  assert.deepEqual(second?.body, { kind: "object", object: body });
  assert.equal(third?.path, "/api/v1/pods");
  assert.equal(third?.query, "labelSelector=a+in+%28b%2Cc%29&limit=5");
});

test("a refusal is thrown as the server worded it; plain 429 texts become one too", async () => {
  const object = notFound(pods, "x").status;
  const answers: Awaited<ReturnType<PlainHandler>>[] = [
    { kind: "object", status: 404, headers: {}, object },
    {
      kind: "bytes",
      status: 429,
      headers: { "retry-after": "3" },
      body: [new TextEncoder().encode("Too many requests, please try again later.\n")],
    },
  ];
  const client = directClient(() => Promise.resolve(answers.shift() ?? assert.fail()), user);
  await assert.rejects(client.get(pods, "a", "x"), (error) => {
    return error instanceof ApiError && error.message === 'pods "x" not found';
  });
  await assert.rejects(client.get(pods, "a", "x"), (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.reason, "TooManyRequests");
    assert.equal(error.status.details?.retryAfterSeconds, 3);
    return true;
  });
});

test("a direct watch delivers batches, and closes the stream when the caller aborts", async () => {
  let sink: ObjectEventSink | undefined;
  let closed = 0;
  const handler: PlainHandler = () =>
    Promise.resolve({
      kind: "events",
      status: 200,
      headers: {},
      open: (given) => {
        sink = given;
        return () => void closed++;
      },
    });
  const stop = new AbortController();
  const names: string[] = [];
  const watching = directClient(handler, user).watch(pods, { signal: stop.signal }, (events) =>
    names.push(...events.map((e) => e.object.metadata?.name ?? "")),
  );
  await Promise.resolve();
  await Promise.resolve();
  sink?.deliver([{ type: "ADDED", object: { metadata: { name: "one" } } }]);
  stop.abort();
  sink?.deliver([{ type: "ADDED", object: { metadata: { name: "late" } } }]);
  await watching;
  assert.deepEqual(names, ["one"]);
  assert.equal(closed, 1);
});

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
}

test("sockets carry the same requests; watches stream and cuts are errors", async () => {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    seen.push({ method, url, authorization: headers.authorization });
    if (url?.includes("watch=true") === true) {
      response.write('{"type":"ADDED","object":{"metadata":{"name":"one"}}}\n{"type":"BOOK');
      response.write('MARK","object":{"metadata":{"resourceVersion":"7"}}}\n');
      setImmediate(() => response.destroy());
      return;
    }
    if (method === "GET") {
      response.statusCode = 404;
      response.end(JSON.stringify(notFound(pods, "x:y").status));
      return;
    }
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => response.end(text));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}/base`;
  const http = httpClient({ server: address, limits: httpClientLimits });
  const options = { userAgent: "test", bearerToken: () => "t0", ...socketClientLimits };
  const client = socketClient({ http }, options);
  await assert.rejects(client.get(pods, "a", "x y"), ApiError);
  assert.equal(seen[0]?.url, "/base/api/v1/namespaces/a/pods/x%20y");
  assert.equal(seen[0]?.authorization, "Bearer t0");
  const made = await client.create(pods, "a", { metadata: { name: "ünï" } });
  assert.equal(made.metadata?.name, "ünï");
  const types: string[] = [];
  const signal = new AbortController().signal;
  const watching = client.watch(pods, { signal }, (events) => {
    types.push(...events.map((e) => e.type));
  });
  await assert.rejects(watching, { name: "ByteTransportError" });
  assert.deepEqual(types, ["ADDED", "BOOKMARK"]);
  http.close();
  await new Promise((resolve) => server.close(resolve));
});

test("tooManyRequests keeps the seconds the server gave in its Status", async () => {
  const object = tooManyRequests("busy", 9).status;
  const answer = { kind: "object" as const, status: 429, headers: { "retry-after": "1" }, object };
  const client = directClient(() => Promise.resolve(answer), user);
  await assert.rejects(client.get(pods, "a", "x"), (error) => {
    return error instanceof ApiError && error.status.details?.retryAfterSeconds === 9;
  });
});

test("metadata alone is asked for by Accept, and cut out of the answer of a server that ignores it", async () => {
  const accepts: (string | undefined)[] = [];
  let sink: ObjectEventSink | undefined;
  const whole = { apiVersion: "v1", kind: "Pod", metadata: { name: "one" }, spec: {} };
  const partial = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" };
  const handler: PlainHandler = (request) => {
    accepts.push(request.headers["accept"] as string);
    if (request.query.includes("watch=true")) {
      const open = (given: ObjectEventSink) => ((sink = given), () => {});
      return Promise.resolve({ kind: "events", status: 200, headers: {}, open });
    }
    const object = { kind: "PodList", metadata: { resourceVersion: "7" }, items: [whole] };
    return Promise.resolve({ kind: "object", status: 200, headers: {}, object });
  };
  const client = directClient(handler, user);
  const listed = await client.list(pods, { metadataOnly: true });
  assert.deepEqual(listed.items, [{ ...partial, metadata: { name: "one" } }]);
  assert.equal(listed.metadata.resourceVersion, "7");
  const stop = new AbortController();
  const seen: unknown[] = [];
  const call = { signal: stop.signal, metadataOnly: true };
  const watching = client.watch(pods, call, (events) => void seen.push(...events));
  await Promise.resolve();
  await Promise.resolve();
  const status = notFound(pods, "x").status;
  sink?.deliver([
    { type: "ADDED", object: whole },
    { type: "ERROR", object: status as never },
  ]);
  stop.abort();
  await watching;
  assert.deepEqual(seen, [
    { type: "ADDED", object: { ...partial, metadata: { name: "one" } } },
    { type: "ERROR", object: status },
  ]);
  const suffix = ";g=meta.k8s.io;v=v1,application/json";
  assert.deepEqual(accepts, [
    `application/json;as=PartialObjectMetadataList${suffix}`,
    `application/json;as=PartialObjectMetadata${suffix}`,
  ]);
});
