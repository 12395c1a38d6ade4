/**
 * Verdicts in order, and as text or JSON; and what changed from one report to the next.
 *
 * Names and messages come from the cluster, so every control character and every mark that turns the
 * direction of text is replaced before it reaches a terminal.
 */
import type { Evidence, Gap } from "./evidence.ts";
import type { Rule, Verdict } from "./rule.ts";

interface Finding extends Verdict {
  readonly rule: string;
}

export interface Report {
  readonly findings: readonly Finding[];
  readonly gaps: readonly Gap[];
}

interface Changes {
  readonly appeared: readonly Finding[];
  readonly gone: readonly Finding[];
}

const verdictsMax = 20;
const textMax = 500;
const weights = { page: 10, warn: 1, info: 0 } as const;
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export function judge(evidence: Evidence, rules: readonly Rule[]): Report {
  const now = findingsOf(evidence, rules);
  const { past, gaps } = evidence;
  const known = new Set(now.map(keyOf));
  const before =
    past === undefined
      ? []
      : findingsOf({ ...evidence, ...past }, rules).filter((finding) => !known.has(keyOf(finding)));
  const told = before.map((finding) => ({
    ...finding,
    sentence: `in the last ${past?.secondsBetween} s: ${finding.sentence}`,
  }));
  return { findings: [...now, ...told].toSorted((a, b) => weightOf(b) - weightOf(a)), gaps };
}

function findingsOf(evidence: Evidence, rules: readonly Rule[]): readonly Finding[] {
  return rules.flatMap((rule) =>
    rule
      .judge(evidence)
      .toSorted((a, b) => weightOf(b) - weightOf(a))
      .slice(0, verdictsMax)
      .map((verdict) => ({ rule: rule.id, ...verdict })),
  );
}

function weightOf({ severity, certainty }: Verdict): number {
  return weights[severity] * certainty;
}

/** A finding of severity info is not a fault. */
export function hasFault({ findings }: Report): boolean {
  return findings.some(({ severity }) => severity !== "info");
}

/** Compares two reports by rule and culprit: which findings appeared, and which are gone. */
export function changesOf(last: Report | undefined, next: Report): Changes {
  const absentFrom = (report: Report | undefined) => {
    const keys = new Set(report?.findings.map(keyOf));
    return (finding: Finding): boolean => !keys.has(keyOf(finding));
  };
  return {
    appeared: next.findings.filter(absentFrom(last)),
    gone: last?.findings.filter(absentFrom(next)) ?? [],
  };
}

function keyOf({ rule, culprit }: Finding): string {
  return JSON.stringify([rule, culprit]);
}

export function textOf({ findings, gaps }: Report): string {
  const lines = findings.length === 0 ? ["nothing found by what could be read"] : linesOf(findings);
  for (const { what, why, right } of gaps) {
    lines.push(`NOT SEEN  ${what}: ${why}${right === "-" ? "" : ` (needs: ${right})`}`);
  }
  return joined(lines);
}

/** Returns "" when nothing changed. */
export function changesText({ appeared, gone }: Changes, at: string): string {
  const lines = appeared.flatMap((finding) => {
    const [first = "", ...rest] = linesOf([finding]);
    return [`${at}  NEW   ${first}`, ...rest];
  });
  lines.push(...gone.map(({ rule, sentence }) => `${at}  GONE  ${sentence}  [${rule}]`));
  return lines.length === 0 ? "" : joined(lines);
}

/** Returns one line of JSON per change; "" when nothing changed. */
export function changesJson({ appeared, gone }: Changes, at: string): string {
  const told = [
    ...appeared.map((finding) => ({ at, change: "new", finding })),
    ...gone.map((finding) => ({ at, change: "gone", finding })),
  ];
  return told.map((change) => `${JSON.stringify(change).replace(unsafe, escaped)}\n`).join("");
}

function linesOf(findings: readonly Finding[]): string[] {
  const lines: string[] = [];
  for (const finding of findings) {
    const { severity, certainty, sentence, rule, culprit, figures, remedy, manifest, unseen } =
      finding;
    lines.push(
      `${severity.toUpperCase()}  ${sentence}  [${rule}, ${Math.round(certainty * 100)} %]`,
    );
    lines.push(`      who   ${culprit}`);
    const counted = Object.entries(figures).map(([name, value]) => `${name}=${value}`);
    lines.push(`      seen  ${counted.join(" ")}`);
    lines.push(`      do    ${remedy}`);
    if (manifest !== undefined)
      lines.push(
        ...manifest
          .trimEnd()
          .split("\n")
          .map((line) => `      |  ${line}`),
      );
    if (unseen !== undefined) lines.push(`      not seen  ${unseen}`);
  }
  return lines;
}

function joined(lines: readonly string[]): string {
  return `${lines.map(printable).join("\n")}\n`;
}

export function jsonOf(report: Report): string {
  const json = JSON.stringify(report, undefined, 2);
  return `${json.replace(unsafe, (c) => (c === "\n" ? c : escaped(c)))}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function printable(text: string): string {
  const safe = text.replace(unsafe, "?");
  return safe.length <= textMax ? safe : `${safe.slice(0, textMax)} ...`;
}
