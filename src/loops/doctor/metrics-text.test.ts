/** The Prometheus text parser and its bounds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMetrics } from "./metrics-text.ts";

const any = (): boolean => true;

test("a sample has its name, its labels unescaped, and its value", () => {
  const text = '# HELP a b\na{x="1\\"2",y="p,q}"} 3.5 1700000000\nb 4\nc_bucket{le="+Inf"} +Inf';
  const { series, dropped } = parseMetrics(text, any);
  assert.deepEqual(
    series.map(({ name, labels, value }) => [name, [...labels], value]),
    [
      [
        "a",
        [
          ["x", '1"2'],
          ["y", "p,q}"],
        ],
        3.5,
      ],
      ["b", [], 4],
      ["c_bucket", [["le", "+Inf"]], Number.POSITIVE_INFINITY],
    ],
  );
  assert.equal(dropped, 0);
});

test("NaN, an endless line and a line of many labels are dropped and counted", () => {
  const many = Array.from({ length: 65 }, (_, i) => `l${i}="v"`).join(",");
  const text = `a NaN\nb{x="${"y".repeat(5_000)}"} 1\nc{${many}} 1\nd 1\n`;
  const { series, dropped } = parseMetrics(text, any);
  assert.deepEqual(
    series.map(({ name }) => name),
    ["d"],
  );
  assert.equal(dropped, 3);
});

test("of a million label values a bounded number is kept, and a name nobody reads is none of them", () => {
  const lines = Array.from(
    { length: 1_000_000 },
    (_, i) => `${i % 2 === 0 ? "a" : "b"}{x="${i}"} 1`,
  );
  const { series, dropped } = parseMetrics(lines.join("\n"), (name) => name === "a");
  assert.equal(series.length, 100_000);
  assert.equal(dropped, 400_000);
});
