/**
 * The doctor's precision and recall: 100 planes with nought to three faults at once, each with random
 * harmless variation. docs/doctor.md says what they are at least; a run prints what they are today.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { judge } from "./report.ts";
import { rules } from "./rules.ts";
import { faults, type Fault } from "./testing/faults.ts";
import { healthy, pickFrom } from "./testing/healthy.ts";
import { evidenceOfParts } from "./testing/lines.ts";

interface Score {
  injected: number;
  found: number;
  findings: number;
  falseAlarms: number;
  ill: number;
  firstRight: number;
}

const scenarios = 100;
const secondsBetween = 10;
const seed = 1;
/** Shares. A rule more or less draws other planes, which moves the figures but may not take them below these. */
const aims = { recall: 0.95, falseAlarms: 0.02, first: 0.9 };

function run(seeded: number): { score: Score; missed: string[] } {
  const random = new FakeRandom(seeded);
  const score = { injected: 0, found: 0, findings: 0, falseAlarms: 0, ill: 0, firstRight: 0 };
  const missed: string[] = [];
  for (let at = 0; at < scenarios; at++) {
    addScenario(random, score, missed);
  }
  return { score, missed };
}

function addScenario(random: FakeRandom, score: Score, missed: string[]): void {
  const pick = pickFrom(random);
  const injected = new Set(Array.from({ length: random.below(4) }, () => faultOf(random)));
  const parts = [...[...injected].map((fault) => fault.parts(pick)), healthy(pick)];
  const { findings } = judge(evidenceOfParts(parts, secondsBetween), rules);
  score.injected += injected.size;
  score.findings += findings.length;
  for (const { rule, culprit } of injected) {
    const isFound = findings.some((one) => one.rule === rule && one.culprit.includes(culprit));
    if (isFound) score.found++;
    else missed.push(`${rule} not found with ${[...injected].map((one) => one.rule).join(", ")}`);
  }
  const explained = new Set([...injected].flatMap(({ rule, symptoms }) => [rule, ...symptoms]));
  const wrong = findings.filter(({ rule }) => !explained.has(rule));
  score.falseAlarms += wrong.length;
  missed.push(...wrong.map(({ rule, sentence }) => `false alarm ${rule}: ${sentence}`));
  if (injected.size === 0) return;
  score.ill++;
  const [first] = findings;
  if ([...injected].some(({ rule }) => rule === first?.rule)) score.firstRight++;
  else missed.push(`first named was ${first?.rule}, of ${[...explained].join(", ")}`);
}

function faultOf(random: FakeRandom): Fault {
  const fault = faults[random.below(faults.length)];
  assert.ok(fault !== undefined);
  return fault;
}

test("every rule has a fault, and each fault alone is found with its culprit", () => {
  const ids = rules.map(({ id }) => id).toSorted();
  assert.deepEqual(faults.map(({ rule }) => rule).toSorted(), ids);
  for (const fault of faults) {
    const pick = pickFrom(new FakeRandom(1));
    const evidence = evidenceOfParts([fault.parts(pick), healthy(pick)], secondsBetween);
    const { findings } = judge(evidence, rules);
    assert.ok(
      findings.some(({ rule, culprit }) => rule === fault.rule && culprit.includes(fault.culprit)),
      `${fault.rule} ${JSON.stringify(findings)}`,
    );
  }
});

test("a hundred healthy planes with every neighbour have no findings", () => {
  const random = new FakeRandom(seed);
  for (let at = 0; at < scenarios; at++) {
    const evidence = evidenceOfParts([healthy(pickFrom(random))], secondsBetween);
    assert.deepEqual(judge(evidence, rules).findings, []);
  }
});

test("of a hundred mixed planes recall, false alarms and first causes are within what is documented", (t) => {
  const { score, missed } = run(seed);
  const [recall, falseShare, first] = [
    score.found / score.injected,
    score.falseAlarms / score.findings,
    score.firstRight / score.ill,
  ];
  const told = missed.join("\n");
  assert.ok(recall >= aims.recall, `recall ${recall}\n${told}`);
  assert.ok(falseShare <= aims.falseAlarms, `false alarms ${falseShare}\n${told}`);
  assert.ok(first >= aims.first, `first named ${first}\n${told}`);
  t.diagnostic(`${rules.length} rules: recall ${score.found} of ${score.injected} faults,`);
  t.diagnostic(`false alarms ${score.falseAlarms} of ${score.findings} findings,`);
  t.diagnostic(`first-named cause right ${score.firstRight} of ${score.ill} planes`);
});

test("the page of the doctor promises what is tested", () => {
  const rows = [
    `at least ${aims.recall} of the faults are found`,
    `at most ${aims.falseAlarms} of the findings are false alarms`,
    `on at least ${aims.first} of the planes with a fault the first-named cause is right`,
  ];
  const page = readFileSync(new URL("../../../docs/doctor.md", import.meta.url), "utf8");
  for (const row of rows) assert.ok(page.includes(row), `docs/doctor.md needs\n${row}`);
});
