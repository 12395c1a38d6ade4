/** A metrics server that lies, hangs, never ends or answers 100 MB. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricSpec } from "#api/gen/types.ts";
import type { Client, RawCall } from "#client/client.ts";
import { directClient } from "#client/direct.ts";
import type { ByteSink, PlainHandler } from "#platform/http.ts";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import { KindResources } from "./kind-resources.ts";
import { MetricsReader } from "./metrics-reader.ts";
import { autoscalingDefaults } from "./options.ts";

const cpu: MetricSpec = { type: "Resource", resource: { name: "cpu", target: { type: "Value" } } };
const queue: MetricSpec = {
  type: "External",
  external: { metric: { name: "a?b" }, target: { type: "Value" } },
};

type Raw = (path: string, call?: RawCall) => Promise<unknown>;

function readerOver(raw: Raw) {
  const clock = new FakeClock();
  // The reader calls nothing else.
  const client = { raw } as unknown as Client;
  const kinds = new KindResources({ client, clock });
  const reader = new MetricsReader({ client, clock, kinds }, autoscalingDefaults);
  const { signal } = new AbortController();
  const read = (spec: MetricSpec) =>
    reader.read(spec, { namespace: "default", selector: "app=web", signal });
  return { clock, read };
}

const lies: readonly (readonly [string, unknown, number])[] = [
  ["a text", "hello", -1],
  ["null", null, -1],
  ["items that are no list", { items: { a: 1 } }, -1],
  ["an empty list", { items: [] }, -1],
  ["items that are no objects", { items: [1, null, "x"] }, -1],
  ["no name", { items: [{ containers: [{ usage: { cpu: "1" } }] }] }, 0],
  ["no containers", { items: [{ metadata: { name: "a" } }] }, 0],
  [
    "no quantity",
    { items: [{ metadata: { name: "a" }, containers: [{ usage: { cpu: "x" } }] }] },
    0,
  ],
  ["a prototype", { items: [{ metadata: { name: "a" }, containers: [{ usage: [] }] }] }, 0],
  [
    "a quantity beyond all",
    { items: [{ metadata: { name: "a" }, containers: [{ usage: { cpu: "9e99" } }] }] },
    1,
  ],
];

for (const [name, answer, pods] of lies) {
  test(`a metrics server that answers ${name} is an error, or a pod without a metric`, async () => {
    const reading = await readerOver(() => Promise.resolve(answer)).read(cpu);
    if (pods < 0) {
      assert.deepEqual(reading, {
        kind: "failed",
        error: "no metrics returned from resource metrics API",
      });
    } else assert.ok(reading.kind === "pods" && reading.metrics.size === pods);
  });
}

test("one that hangs costs its time-out, and after five of them is left alone for a while", async () => {
  const aborted: boolean[] = [];
  const asked: string[] = [];
  const { clock, read } = readerOver((path, call) => {
    asked.push(path);
    call?.signal?.addEventListener("abort", () => aborted.push(true));
    return path.includes("external")
      ? Promise.resolve({ items: [{ value: "1" }] })
      : new Promise(() => {});
  });
  const readings = Array.from({ length: 5 }, () => read(cpu));
  await settle();
  await clock.advance(10_000);
  for (const reading of await Promise.all(readings)) {
    const error = "unable to fetch metrics from resource metrics API: no answer within 10000 ms";
    assert.deepEqual(reading, { kind: "failed", error });
  }
  assert.equal(aborted.length, 5);
  const paused = await read(cpu);
  assert.ok(paused.kind === "failed" && paused.error.endsWith("asked again later"));
  assert.equal(asked.length, 5);
  assert.equal((await read(queue)).kind, "values");
  await clock.advance(15_001);
  void read(cpu);
  await settle();
  assert.equal(asked.length, 7);
});

test("a name with a question mark stays in the path", async () => {
  const asked: string[] = [];
  const { read } = readerOver((path) => {
    asked.push(path);
    return Promise.resolve({ items: [{ value: "1" }] });
  });
  await read(queue);
  assert.deepEqual(asked, ["/apis/external.metrics.k8s.io/v1beta1/namespaces/default/a?b"]);
});

test("an answer of 100 MB ends at the bound, and its stream is closed", async () => {
  const chunk = new Uint8Array(1024 * 1024).fill(32);
  let sent = 0;
  let isClosed = false;
  const handler: PlainHandler = () =>
    Promise.resolve({
      kind: "stream",
      status: 200,
      headers: {},
      open(sink: ByteSink) {
        const timer = setInterval(() => {
          if (isClosed) return clearInterval(timer);
          sent += chunk.length;
          sink.write([chunk]);
        });
        return () => {
          isClosed = true;
          clearInterval(timer);
        };
      },
    });
  const client = directClient(handler, { name: "hpa", groups: [] });
  const { read } = readerOver((path, call) => client.raw(path, call));
  const reading = await read(cpu);
  assert.ok(reading.kind === "failed");
  assert.match(reading.error, /answer is larger than 16777216 bytes$/);
  assert.ok(isClosed && sent <= 18 * 1024 * 1024);
});
