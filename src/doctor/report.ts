/**
 * Verdicts in order, and as text or JSON.
 *
 * Names and messages come from the cluster, so every control character and every mark that turns the
 * direction of text is replaced before it reaches a terminal.
 */
import type { Evidence, Gap } from "./evidence.ts";
import type { Rule, Verdict } from "./rule.ts";

interface Finding extends Verdict {
  readonly rule: string;
}

interface Report {
  readonly findings: readonly Finding[];
  readonly gaps: readonly Gap[];
}

const verdictsMax = 20;
const textMax = 500;
const weights = { page: 10, warn: 1 } as const;
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export function judge(evidence: Evidence, rules: readonly Rule[]): Report {
  const findings = rules.flatMap((rule) =>
    rule
      .judge(evidence)
      .toSorted((a, b) => weightOf(b) - weightOf(a))
      .slice(0, verdictsMax)
      .map((verdict) => ({ rule: rule.id, ...verdict })),
  );
  return { findings: findings.toSorted((a, b) => weightOf(b) - weightOf(a)), gaps: evidence.gaps };
}

function weightOf({ severity, certainty }: Verdict): number {
  return weights[severity] * certainty;
}

export function textOf({ findings, gaps }: Report): string {
  const lines = findings.length === 0 ? ["nothing found by what could be read"] : [];
  for (const finding of findings) {
    const { severity, certainty, sentence, rule, culprit, figures, remedy, unseen } = finding;
    lines.push(
      `${severity.toUpperCase()}  ${sentence}  [${rule}, ${Math.round(certainty * 100)} %]`,
    );
    lines.push(`      who   ${culprit}`);
    const counted = Object.entries(figures).map(([name, value]) => `${name}=${value}`);
    lines.push(`      seen  ${counted.join(" ")}`);
    lines.push(`      do    ${remedy}`);
    if (unseen !== undefined) lines.push(`      not seen  ${unseen}`);
  }
  for (const { what, why, right } of gaps) {
    lines.push(`NOT SEEN  ${what}: ${why}${right === "-" ? "" : ` (needs: ${right})`}`);
  }
  return `${lines.map(printable).join("\n")}\n`;
}

export function jsonOf(report: Report): string {
  const json = JSON.stringify(report, undefined, 2);
  return `${json.replace(unsafe, (c) => (c === "\n" ? c : escaped(c)))}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function printable(text: string): string {
  const safe = text.replace(unsafe, "?");
  return safe.length <= textMax ? safe : `${safe.slice(0, textMax)} ...`;
}
