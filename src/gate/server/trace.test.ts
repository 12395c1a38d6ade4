/** Traces: who decides about them, how they are linked, and what hostile headers do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { requestInfo } from "./request-info.ts";
import { type Span, Tracer } from "./trace.ts";
import { readTraceparent } from "./traceparent.ts";

const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";
const sampled = `00-${trace}-${parent}-01`;
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString("hex");

function setup(perMillion: number) {
  const out: Span[][] = [];
  let nowMs = 1_000;
  const tracer = new Tracer(
    {
      random: new FakeRandom(3),
      nowMs: () => nowMs++,
      export: (spans) => out.push([...spans]),
    },
    perMillion,
  );
  const begin = (
    traceparent: string | undefined,
    groups: readonly string[] = [],
    more: Readonly<Record<string, string>> = {},
  ) => {
    const path = "/api/v1/namespaces/team-a/pods/web";
    const headers = traceparent === undefined ? more : { traceparent, ...more };
    return tracer.begin({
      headers,
      method: "GET",
      path,
      info: requestInfo("GET", path, new URLSearchParams()),
      user: { name: "u", groups },
      auditId: "audit",
      receivedMs: 990,
      receivedWallMs: 5_000,
    });
  };
  return { out, begin };
}

const admins = ["system:masters"];

test("an administrator's client decides, and is the parent", async () => {
  const { out, begin } = setup(0);
  const one = begin(sampled, admins, { tracestate: "vendor=1" });
  one?.sinceLast("Authentication");
  await one?.within("Get store", () => "value", [["resource", "pods"]]);
  await assert.rejects(
    Promise.resolve(
      one?.within("Authorization", () => {
        throw new Error("no");
      }),
    ),
  );
  one?.end(200);
  const [root, ...children] = out[0] ?? [];
  assert.equal(hex(root?.traceId), trace);
  assert.equal(hex(root?.parentId), parent);
  assert.equal(root?.traceState, "vendor=1");
  assert.equal(root?.link, undefined);
  assert.equal(root?.name, "GET /api/v1/namespaces/{:namespace}/pods/{:name}");
  assert.equal(root?.startMs, 5_000);
  assert.deepEqual(
    children.map(({ name, error, parentId }) => [name, error, hex(parentId)]),
    [
      ["Authentication", undefined, hex(root?.spanId)],
      ["Get store", undefined, hex(root?.spanId)],
      ["Authorization", "no", hex(root?.spanId)],
    ],
  );
  assert.equal(begin(`00-${trace}-${parent}-00`, admins), undefined);
});

test("another client decides nothing: its trace is linked where this server samples", () => {
  assert.equal(setup(0).begin(sampled), undefined);
  const { out, begin } = setup(1_000_000);
  begin(sampled)?.end(503);
  const [root] = out[0] ?? [];
  assert.notEqual(hex(root?.traceId), trace);
  assert.equal(root?.parentId, undefined);
  assert.equal(hex(root?.link?.traceId), trace);
  assert.equal(root?.error, "");
  // Nor can it keep itself out.
  assert.ok(begin(`00-${trace}-${parent}-00`) !== undefined);
});

test("a rate is held to about", () => {
  const { begin } = setup(250_000);
  const count = Array.from({ length: 4_000 }, () => begin(undefined)).filter(Boolean).length;
  assert.ok(count > 850 && count < 1_150, String(count));
});

test("a header that is no traceparent says nothing", () => {
  const bad = [
    "",
    "00",
    `00-${trace}-${parent}`,
    `ff-${trace}-${parent}-01`,
    `00-${"0".repeat(32)}-${parent}-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${parent}-01`,
    `${sampled}-more`,
    `${sampled}, ${sampled}`,
    `${sampled}\n`,
    `cc-${trace}-${parent}-01-${"x".repeat(10_000)}`,
    "-".repeat(100_000),
  ];
  for (const text of bad) assert.equal(readTraceparent(text), undefined, text.slice(0, 80));
  assert.equal(readTraceparent(`cc-${trace}-${parent}-01-more`)?.isSampled, true);
});

test("a request of many steps and long texts has bounded spans", async () => {
  const { out, begin } = setup(1_000_000);
  const one = begin(undefined, [], {
    "user-agent": "x".repeat(100_000),
    tracestate: "y".repeat(9_999),
  });
  for (let step = 0; step < 1_000; step++) await one?.within("Get store", () => step);
  one?.end(200);
  const spans = out[0] ?? [];
  assert.equal(spans.length, 65);
  const texts = spans.flatMap(({ attributes, name }) => [name, ...attributes.map(([, v]) => v)]);
  for (const text of texts) assert.ok(String(text).length <= 256);
});
