/** Order of findings, and output that is safe for a terminal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changesJson, changesOf, changesText, judge, jsonOf, textOf } from "./report.ts";
import { rules } from "./rules.ts";
import type { Verdict } from "./rule.ts";
import { evidenceOf, secondsAgo, seen } from "./testing/evidence.ts";

const base: Verdict = {
  sentence: "s",
  culprit: "c",
  severity: "warn",
  figures: {},
  remedy: "r",
  certainty: 1,
};

test("what pages comes before what warns, and the surer before the less sure", () => {
  const judged: Verdict[] = [
    { ...base, sentence: "warn" },
    { ...base, sentence: "page half", severity: "page", certainty: 0.5 },
    { ...base, sentence: "page", severity: "page" },
  ];
  const rule = { id: "x", title: "", reads: [], threshold: "", source: "", judge: () => judged };
  const { findings } = judge(evidenceOf({}), [rule]);
  assert.deepEqual(
    findings.map(({ sentence }) => sentence),
    ["page", "page half", "warn"],
  );
});

test("names with terminal escapes are never printed raw", () => {
  const name = "shop\u001b[2J\u009b1m\u202egnp\r\n";
  const namespaces = [{ metadata: { name, deletionTimestamp: secondsAgo(999) } }];
  const report = judge(seen({ namespaces }), rules);
  assert.equal(report.findings.length, 1);
  // oxlint-disable-next-line no-control-regex -- these must not be there
  const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;
  assert.doesNotMatch(textOf(report), raw);
  assert.doesNotMatch(jsonOf(report), raw);
  assert.ok(JSON.parse(jsonOf(report)).findings[0].sentence.includes("shop\u001b[2J"));
});

test("of ten thousand findings of a rule twenty are told", () => {
  const namespaces = Array.from({ length: 10_000 }, (_, i) => ({
    metadata: { name: `n${i}`, deletionTimestamp: secondsAgo(999) },
  }));
  assert.equal(judge(seen({ namespaces }), rules).findings.length, 20);
});

test("a name within a command is one word to the shell", () => {
  const name = "a; $(pwd) 'b'";
  const namespaces = [{ metadata: { name, deletionTimestamp: secondsAgo(999) } }];
  const [finding] = judge(seen({ namespaces }), rules).findings;
  assert.ok(finding?.remedy.includes("namespace 'a; $(pwd) '\\''b'\\''' -o"));
});

test("of two reports the changes are told: new findings, gone ones, and nothing that stayed", () => {
  const report = (...names: string[]) => ({
    findings: names.map((culprit) => ({
      ...base,
      culprit,
      rule: "x",
      sentence: `${culprit} is ill`,
    })),
    gaps: [],
  });
  const changes = changesOf(report("a", "b"), report("b", "c\u001b[2J"));
  const text = changesText(changes, "03:00");
  assert.match(text, /^03:00 {2}NEW {3}WARN {2}c\?\[2J is ill/);
  assert.match(text, /\n03:00 {2}GONE {2}a is ill {2}\[x\]\n$/);
  const lines = changesJson(changes, "03:00").trim().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).change),
    ["new", "gone"],
  );
  const same = changesOf(report("a"), report("a"));
  assert.equal(changesText(same, "") + changesJson(same, ""), "");
  assert.equal(changesOf(undefined, report("a")).appeared.length, 1);
});
