/**
 * Collects the findings of one validation: the position of the walk, its findings, and the work it has left.
 *
 * Bounds  `workMax` visits and comparisons for one object, `findingsMax` findings. A schema multiplies
 *         with an object (a thousand alternatives for each of ten thousand items), so the size of neither bounds the
 *         walk alone. At the limit the walk ends with a finding that says so.
 */
import type { FieldError } from "../status.ts";

/** One unit takes about 200 ns, so this is some 30 ms. The largest real definitions and objects take some 50,000. */
export const workMax = 150_000;
/** Cost of an alternative, in addition to the checks within it. */
export const alternativeWork = 4;
const findingsMax = 2_000;

export interface Finding extends FieldError {
  /** Equal for findings that upstream reports only once. */
  readonly text: string;
}

/** Findings of one alternative and the number of its passed checks; the best alternative is reported. */
export interface Outcome {
  readonly findings: Finding[];
  readonly texts: Set<string>;
  passed: number;
}

export interface Walk {
  readonly path: (string | number)[];
  outcome: Outcome;
  workLeft: number;
}

export function newWalk(workLeft: number): Walk {
  return { path: [], outcome: newOutcome(), workLeft };
}

export function newOutcome(): Outcome {
  return { findings: [], texts: new Set(), passed: 0 };
}

/** @returns false when the walk has to end. */
export function spend(walk: Walk, work: number): boolean {
  walk.workLeft -= work;
  return walk.workLeft > 0;
}

export function add(walk: Walk, finding: Finding): void {
  const { findings, texts } = walk.outcome;
  if (findings.length >= findingsMax || texts.has(finding.text)) return;
  texts.add(finding.text);
  findings.push(finding);
}

/** Removes the findings after the first `count`. */
export function forgetSince(outcome: Outcome, count: number): void {
  for (const finding of outcome.findings.splice(count)) outcome.texts.delete(finding.text);
}

/** The path in kube-openapi's form: `spec.list[0].x`. */
export function pathText(walk: Walk): string {
  let text = "";
  for (const part of walk.path) {
    if (typeof part === "number") text += `[${part}]`;
    else text += text === "" ? part : `.${part}`;
  }
  return text;
}

/** Go's text for an absent path, which findings about the whole object have. */
export const noField = "<nil>";
