/** Files of `--failures`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseFailureFile } from "./failure-document.ts";

test("a file says what fails, where, when and how often", () => {
  const text = `failures:
- {failure: partition, zone: zone-1, at: 1m, for: 5m}
- {failure: "flap:20s", nodes: 0-9, every: 10m, for: 1m, percent: 50}
- {failure: "clock-skew:-90s", nodes: 7}
`;
  const { failures, problems } = parseFailureFile(text);
  assert.deepEqual(problems, []);
  const forever = { forMs: Infinity, everyMs: Infinity };
  assert.deepEqual(failures, [
    {
      failure: { kind: "silent" },
      nodes: { zone: "zone-1" },
      ...forever,
      atMs: 60_000,
      forMs: 300_000,
    },
    {
      failure: { kind: "flap", periodMs: 20_000 },
      nodes: { from: 0, to: 9, percent: 50 },
      atMs: 0,
      forMs: 60_000,
      everyMs: 600_000,
    },
    {
      failure: { kind: "clock-skew", skewMs: -90_000 },
      nodes: { from: 7, to: 7 },
      atMs: 0,
      ...forever,
    },
  ]);
});

test("every mistake is named with its line", () => {
  const text = `failures:
- {failure: fire}
- {failure: crash, nodes: some, at: soon, every: 0s}
- {failure: crash, percent: 101, when: now}
`;
  const { problems } = parseFailureFile(text);
  assert.deepEqual(
    problems.map((problem) => problem.split(": ").slice(0, 2).join(": ")),
    [
      "line 2: failures[0].failure",
      "line 3: failures[1].at",
      "line 3: failures[1].every",
      "line 3: failures[1].nodes",
      "line 4: failures[2].when",
      "line 4: failures[2].percent",
    ],
  );
});
