/** Warnings, deadlines, health, metrics: the small parts of the server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { runWithDeadline } from "./deadline.ts";
import { type Health, healthResponse, ping } from "./health.ts";
import { MetricSet } from "#metrics/metric-set.ts";
import { FrameJoiner } from "#forms/watch-frames.ts";
import { Warnings } from "./warnings.ts";

test("a warning is said once, quoted, and all together stay short", () => {
  const warnings = new Warnings();
  warnings.add('unknown field "a"');
  warnings.add('unknown field "a"');
  warnings.add("line\nbreak");
  assert.deepEqual(warnings.headers(), ['299 - "unknown field \\"a\\""', '299 - "line break"']);
  const many = new Warnings();
  for (let i = 0; i < 100; i++) many.add(`${i} ${"x".repeat(500)}`);
  assert.equal(many.headers().length, 16);
});

test("a deadline rejects with 504 and aborts; an answer in time cancels it", async () => {
  const clock = new FakeClock();
  const gone = new AbortController();
  let seen: AbortSignal | undefined;
  let askedLater: { readonly signal: AbortSignal } | undefined;
  const late = runWithDeadline(clock, 1000, gone, (ending) => {
    seen = ending.signal;
    return new Promise(() => {});
  });
  const unasked = runWithDeadline(clock, 1000, gone, (ending) => {
    askedLater = ending;
    return new Promise(() => {});
  });
  const text = /did not complete within the allotted timeout/;
  const refused = [assert.rejects(late, text), assert.rejects(unasked, text)];
  await clock.advance(1000);
  await Promise.all(refused);
  assert.equal(seen?.aborted, true);
  assert.equal(askedLater?.signal.aborted, true);
  assert.equal(await runWithDeadline(clock, 1000, gone, () => Promise.resolve(7)), 7);
  assert.deepEqual(clock.timers(), []);
});

test("a client that goes away aborts its request, whenever somebody asks", async () => {
  const clock = new FakeClock();
  const gone = new AbortController();
  const seen: boolean[] = [];
  const left = (): Promise<void> =>
    new Promise((resolve) => gone.signal.addEventListener("abort", () => resolve()));
  const early = runWithDeadline(clock, 1000, gone, async (ending) => {
    const { signal } = ending;
    await left();
    seen.push(signal.aborted);
  });
  const afterwards = runWithDeadline(clock, 1000, gone, async (ending) => {
    await left();
    seen.push(ending.signal.aborted);
  });
  gone.abort();
  await Promise.all([early, afterwards]);
  assert.deepEqual(seen, [true, true]);
});

test("health tells names, withholds reasons, and lets checks be excluded", () => {
  const bad = { name: "store", check: () => "the disk is full" };
  const checks = [ping, bad];
  const health: Health = { healthz: checks, livez: [ping], readyz: checks };
  const ask = (path: string, query = ""): string => {
    const response = healthResponse(health, path, new URLSearchParams(query), silentLog);
    if (response?.kind !== "bytes") return "none";
    return `${response.status} ${Buffer.concat(response.body).toString()}`;
  };
  assert.equal(
    ask("/readyz"),
    "500 [+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n",
  );
  assert.equal(ask("/readyz", "exclude=store"), "200 ok");
  assert.equal(
    ask("/readyz", "exclude=zz&exclude=store&exclude=aa&exclude=store&verbose"),
    "200 [+]ping ok\n[+]store excluded: ok\n" +
      'warn: some health checks cannot be excluded: no matches for "aa","zz"\nreadyz check passed\n',
  );
  assert.equal(ask("/readyz/"), "none");
  assert.equal(ask("/livez"), "200 ok");
  assert.match(ask("/readyz/store"), /^500 internal server error: the disk is full/);
  assert.equal(ask("/readyz/nothing"), "none");
});

test("metrics are exposed as text, and series are bounded", () => {
  const set = new MetricSet();
  const counter = set.counter("c_total", "Counts.", ["a"]);
  counter.add(['x"y']);
  counter.add(['x"y'], 2);
  const histogram = set.histogram("h_seconds", "Times.", [], [1, 2]);
  histogram.observe([], 0.5);
  histogram.observe([], 3);
  assert.equal(
    set.text(),
    [
      "# HELP c_total Counts.",
      "# TYPE c_total counter",
      'c_total{a="x\\"y"} 3',
      "# HELP h_seconds Times.",
      "# TYPE h_seconds histogram",
      'h_seconds_bucket{le="1"} 1',
      'h_seconds_bucket{le="2"} 1',
      'h_seconds_bucket{le="+Inf"} 2',
      "h_seconds_sum 3.5",
      "h_seconds_count 2",
      "",
    ].join("\n"),
  );
  for (let i = 0; i < 6000; i++) counter.add([String(i)]);
  assert.ok(counter.value(["other"]) > 900);
});

test("watchers that get the same frames get the same block", () => {
  const joiner = new FrameJoiner();
  const frames = ["a", "b", "c"].map((text) => new TextEncoder().encode(text));
  const block = joiner.join("json", frames);
  assert.equal(Buffer.from(block).toString(), "abc");
  assert.equal(joiner.join("json", [...frames]), block);
  assert.notEqual(joiner.join("table", frames), block);
  assert.notEqual(joiner.join("json", frames.slice(1)), block);
});
