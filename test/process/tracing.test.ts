/** `--tracing-config-file`: spans that a collector on grpc-js gets of requests to a real process; a collector that is away. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import { readTracingConfiguration } from "#cmd/plane/tracing/configuration.ts";
import { readFields } from "#wire/protobuf.ts";
import { pilothouse, removeDirectory, startUp, temporaryDirectory } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";

const directory = temporaryDirectory("tracing");
after(() => removeDirectory(directory));

interface Got {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly nanoseconds: bigint;
}

/** What follows the field numbers of nested messages. */
function below(message: Uint8Array, path: readonly number[]): readonly Uint8Array[] {
  const [first, ...rest] = path;
  if (first === undefined) return [message];
  const out: Uint8Array[] = [];
  readFields(message, ({ number, bytes }) => {
    if (number === first) out.push(...below(bytes, rest));
  });
  return out;
}

function spanOf(message: Uint8Array): Got {
  const values: Record<number, Uint8Array> = {};
  let start = 0n;
  let end = 0n;
  readFields(message, ({ number, bytes, integer }) => {
    if (number === 7) start = integer;
    else if (number === 8) end = integer;
    else values[number] ??= bytes;
  });
  const hex = (number: number): string => Buffer.from(values[number] ?? []).toString("hex");
  const name = Buffer.from(values[5] ?? []).toString();
  return { name, traceId: hex(1), spanId: hex(2), parentId: hex(4), nanoseconds: end - start };
}

async function startCollector(socket: string): Promise<{ got: Got[]; close(): void }> {
  const got: Got[] = [];
  const same = (bytes: Buffer): Buffer => bytes;
  const service: ServiceDefinition = {
    Export: {
      path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
      requestStream: false,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    },
  };
  const server = new Server();
  server.addService(service, {
    Export: ({ request }: { request: Buffer }, done: (error: null, answer: Buffer) => void) => {
      got.push(...below(request, [1, 2, 2]).map(spanOf));
      done(null, Buffer.alloc(0));
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return { got, close: () => server.forceShutdown() };
}

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n";

describe("a server with a collector", { timeout: 120_000 }, () => {
  test("sends the spans of a sampled request, below the client's own, when it stops at the latest", async () => {
    const socket = join(directory, "otlp.sock");
    const file = join(directory, "tracing.yaml");
    writeFileSync(file, `${head}endpoint: unix://${socket}\nsamplingRatePerMillion: 0\n`);
    const collector = await startCollector(socket);
    const args = ["--port", "0", "--nodes", "0", "--tracing-config-file", file];
    const server = await startUp(["--data-dir", join(directory, "data"), ...args]);
    const admin = new KubeHttp(credentialsOf(server.kubeconfig));
    const [trace, parent] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
    const headers = { traceparent: `00-${trace}-${parent}-01` };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } };
    const path = "/api/v1/namespaces/default/configmaps";
    const json = "application/json";
    assert.equal((await admin.request("POST", path, body, json, headers)).status, 201);
    assert.equal((await admin.request("GET", path, undefined, json, headers)).status, 200);
    admin.close();
    assert.equal(await server.stop(), 0, server.output());
    collector.close();
    const { got } = collector;
    assert.ok(got.every(({ traceId }) => traceId === trace));
    const roots = got.filter(({ parentId }) => parentId === parent);
    assert.deepEqual(
      roots.map(({ name }) => name),
      [
        "POST /api/v1/namespaces/{:namespace}/configmaps",
        "GET /api/v1/namespaces/{:namespace}/configmaps",
      ],
    );
    const childrenOf = (root: Got | undefined): readonly string[] =>
      got.filter(({ parentId }) => parentId === root?.spanId).map(({ name }) => name);
    assert.deepEqual(childrenOf(roots[0]), [
      "Authentication",
      "Priority and fairness",
      "Authorization",
      "Mutating admission",
      "Validating admission",
      "Create store",
      "Encode answer",
    ]);
    assert.deepEqual(childrenOf(roots[1]), [
      "Authentication",
      "Priority and fairness",
      "Authorization",
      "List store",
      "Encode answer",
    ]);
    for (const { nanoseconds } of got)
      assert.ok(nanoseconds >= 0n && nanoseconds < 60n * 10n ** 9n);
  });

  test("serves while the collector is away, and drops what it cannot send", async () => {
    const file = join(directory, "away.yaml");
    const socket = join(directory, "nobody.sock");
    writeFileSync(file, `${head}endpoint: unix://${socket}\nsamplingRatePerMillion: 1000000\n`);
    const args = ["--port", "0", "--nodes", "0", "--tracing-config-file", file];
    const server = await startUp(["--data-dir", join(directory, "away"), ...args]);
    const admin = new KubeHttp(credentialsOf(server.kubeconfig));
    for (let round = 0; round < 600; round++)
      assert.equal((await admin.request("GET", "/api/v1/namespaces/default")).status, 200);
    const { body } = await admin.request("GET", "/metrics");
    assert.match(String(body["text"]), /pilothouse_tracing_spans_total\{result="dropped"\} [1-9]/);
    admin.close();
    assert.equal(await server.stop(), 0, server.output());
  });
});

describe("a tracing configuration", () => {
  test("is read as upstream reads it", () => {
    const read = (text: string) => readTracingConfiguration(head + text);
    assert.deepEqual(read(""), {
      address: { host: "localhost", port: 4317 },
      samplingRatePerMillion: 0,
    });
    assert.deepEqual(read("endpoint: dns:///otel.example:55").address, {
      host: "otel.example",
      port: 55,
    });
    assert.deepEqual(read('endpoint: "[::1]:4317"').address, { host: "::1", port: 4317 });
    assert.deepEqual(read("endpoint: unix-abstract://otel").address, { path: "\0otel" });
    const wrong: readonly (readonly [string, RegExp])[] = [
      ["samplingRatePerMillion: -1", /sampling rate must be positive/],
      ["samplingRatePerMillion: 1000001", /must be less than or equal to one million/],
      ["endpoint: http://host:1", /unsupported scheme: http\.  Options are none, dns, unix/],
      ["endpoint: 'host:99999'", /Invalid value/],
      ["other: 1", /unknown field "other"/],
    ];
    for (const [text, why] of wrong) assert.throws(() => read(text), why);
    assert.throws(() => readTracingConfiguration("{"), /unable to decode/);
  });

  test("that is wrong ends the start, and names the flag", () => {
    const file = join(directory, "wrong.yaml");
    writeFileSync(file, "apiVersion: v1\nkind: Pod\n");
    const { code, stderr } = pilothouse(["up", "--tracing-config-file", file]);
    assert.equal(code, 1);
    assert.match(stderr, /^pilothouse: --tracing-config-file .*no kind "Pod" is registered/);
  });
});
