/** The page of metrics: its bytes, its steps, and what writing it allocates. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { getHeapStatistics } from "node:v8";
import { Exposition } from "./exposition.ts";
import { MetricSet } from "./metric-set.ts";
import { metricsPage } from "./page.ts";

const encoder = new TextEncoder();

test("lines of one row begin alike, whatever chunks they fall into", () => {
  const out = new Exposition();
  const expected: string[] = [];
  for (let row = 0; row < 500; row++) {
    const head = `sizes_bucket{name="${"é".repeat(row)}",`;
    out.startRow(head);
    for (const [le, value] of [
      ["1", row],
      ["+Inf", row * 1e20],
    ] as const) {
      out.sample(encoder.encode(`le="${le}"} `), value);
      expected.push(`${head}le="${le}"} ${value}`);
    }
    out.line(`sizes_sum ${row / 3}`);
    expected.push(`sizes_sum ${row / 3}`);
  }
  assert.ok(out.fullChunks > 3, `${out.fullChunks} chunks`);
  assert.equal(out.text(), `${expected.join("\n")}\n`);
});

test("a line longer than a chunk is whole", () => {
  const out = new Exposition();
  out.line("a 1");
  out.line("x".repeat(200_000));
  out.line("b 2");
  assert.equal(out.text(), `a 1\n${"x".repeat(200_000)}\nb 2\n`);
});

test("a page can be left after each row: no step writes more than one", () => {
  const set = new MetricSet();
  const histogram = set.histogram("h_seconds", "Times.", ["name"], [1, 2]);
  for (let i = 0; i < 3_000; i++) histogram.observe([`n${i}`], i);
  const out = new Exposition();
  let steps = 0;
  for (const _ of set.write(out)) steps++;
  assert.equal(steps, 3_000);
  assert.equal(out.text(), set.text());
});

test("a page of many lines leaves little garbage", () => {
  const set = new MetricSet();
  const bounds = Array.from({ length: 23 }, (_, at) => at);
  const histogram = set.histogram("h_seconds", "Times.", ["resource"], bounds);
  for (let i = 0; i < 1_000; i++) histogram.observe([`resource-${i}`.padEnd(100, "x")], i % 30);
  const write = (): number => {
    const out = new Exposition();
    for (const _ of set.write(out));
    return out.chunks().reduce((sum, { length }) => sum + length, 0);
  };
  write();
  const before = getHeapStatistics().total_allocated_bytes;
  const bytes = write();
  const garbage = (getHeapStatistics().total_allocated_bytes - before) / bytes;
  assert.ok(garbage < 3, `${garbage.toFixed(1)} bytes of garbage for a byte`);
});

test("a metric has at most 5,000 series; what comes after them is counted as other", () => {
  const set = new MetricSet();
  const counter = set.counter("c_total", "Counts.", ["name", "code"]);
  for (let i = 0; i < 5_010; i++) counter.add([`n${i}`, "200"]);
  const lines = set.text().trimEnd().split("\n");
  assert.equal(lines.filter((line) => line.startsWith("c_total{")).length, 5_001);
  assert.ok(lines.includes('c_total{name="other",code="other"} 10'));
});

test("a kept cell is the series", () => {
  const set = new MetricSet();
  const counter = set.counter("c_total", "Counts.", ["name"]);
  const histogram = set.histogram("h", "Sizes.", ["name"], [1, 2]);
  counter.cell(["a"]).count++;
  counter.add(["a"]);
  const cell = histogram.cell(["a"]);
  for (const value of [0, 1, 1.5, 3]) cell.observe(value);
  assert.equal(counter.value(["a"]), 2);
  const lines = set.text().split("\n");
  for (const line of [
    'h_bucket{name="a",le="1"} 2',
    'h_bucket{name="a",le="2"} 3',
    'h_sum{name="a"} 5.5',
  ])
    assert.ok(lines.includes(line), line);
});

test("a large page is written in turns, a small one at once", async () => {
  const set = new MetricSet();
  const histogram = set.histogram("h_seconds", "Times.", ["name"], [1, 2]);
  let turns = 0;
  const turn = (): Promise<void> => (turns++, Promise.resolve());
  await metricsPage(set, turn);
  assert.equal(turns, 0);
  for (let i = 0; i < 5_000; i++) histogram.observe([`n${i}`.padEnd(100, "x")], i);
  const bytes = (await metricsPage(set, turn)).reduce((sum, { length }) => sum + length, 0);
  assert.ok(turns >= Math.floor(bytes / (9 * 64 * 1024)), `${turns} turns for ${bytes} bytes`);
});
