/**
 * Label selectors: parse, print, match. Grammar and error texts as upstream (apimachinery pkg/labels).
 *
 * Nil and empty differ: an absent metav1.LabelSelector selects nothing, an empty one
 * (`{}`) selects everything. `selectNothing` is the value for the former; the latter has no
 * requirements. A selector text "" selects everything. Matching costs one look-up per requirement.
 */
import { parseInt64 } from "../go/go-integer.ts";
import { ownEntry } from "#base/own.ts";
import { qualifiedNameErrors, labelValueErrors } from "./label-syntax.ts";
import { lexLabelSelector } from "./label-lexer.ts";
import type { LabelToken } from "./label-lexer.ts";
import { append } from "../validation/errors.ts";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";
  readonly values: readonly string[];
}

export interface LabelSelector {
  /** All requirements must hold; an empty list matches everything. */
  readonly requirements: readonly LabelRequirement[];
}

/** The field `selector` of objects (metav1.LabelSelector), before it is parsed. */
export interface LabelSelectorSpec {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

type Operator = LabelRequirement["operator"];

/** An invalid selector text or spec; the message is upstream's and belongs in a 400. */
export class SelectorError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SelectorError";
  }
}

/** Matches nothing: an `in` without values, which no parsed selector has. */
export const selectNothing: LabelSelector = {
  requirements: [{ key: "", operator: "in", values: [] }],
};

/** Parses a selector text. Requirements are sorted by key. Throws SelectorError. */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = lexLabelSelector(text);
  const requirements: LabelRequirement[] = [];
  let at = 0;
  for (;;) {
    const token = valueToken(tokens[at]);
    if (token.kind === "end") break;
    if (token.kind !== "identifier" && token.kind !== "!") {
      throw new SelectorError(`found '${token.text}', expected: !, identifier, or 'end of string'`);
    }
    const parsed = parseRequirement(tokens, at);
    requirements.push(parsed.requirement);
    at = parseSeparator(tokens, parsed.next);
  }
  return { requirements: requirements.sort(byKey) };
}

/** Skips a comma, which must be followed by an identifier or `!`, or stays at the end. */
function parseSeparator(tokens: readonly LabelToken[], at: number): number {
  const token = valueToken(tokens[at]);
  if (token.kind === "end") return at;
  if (token.kind !== ",") {
    throw new SelectorError(`found '${token.text}', expected: ',' or 'end of string'`);
  }
  const next = valueToken(tokens[at + 1]);
  if (next.kind !== "identifier" && next.kind !== "!") {
    throw new SelectorError(`found '${next.text}', expected: identifier after ','`);
  }
  return at + 1;
}

interface ParsedRequirement {
  readonly requirement: LabelRequirement;
  readonly next: number;
}

function parseRequirement(tokens: readonly LabelToken[], at: number): ParsedRequirement {
  const negated = valueToken(tokens[at]).kind === "!";
  const keyAt = negated ? at + 1 : at;
  const keyToken = valueToken(tokens[keyAt]);
  if (keyToken.kind !== "identifier") unparsable(`found '${keyToken.text}', expected: identifier`);
  const key = keyToken.text;
  const findings = qualifiedNameErrors(key);
  if (findings.length > 0) unparsable(invalidValue("<nil>", key, findings.join("; ")));
  const after = valueToken(tokens[keyAt + 1]).kind;
  if (negated || after === "end" || after === ",") {
    return {
      requirement: { key, operator: negated ? "!" : "exists", values: [] },
      next: keyAt + 1,
    };
  }
  return parseComparison(tokens, key, keyAt + 1);
}

const operatorOfToken: Readonly<Record<string, Operator>> = {
  in: "in",
  notin: "notin",
  "=": "=",
  "==": "==",
  "!=": "!=",
  ">": "gt",
  "<": "lt",
};

function parseComparison(
  tokens: readonly LabelToken[],
  key: string,
  at: number,
): ParsedRequirement {
  const token = tokens[at] ?? endToken;
  const operator = ownEntry(operatorOfToken, token.kind);
  if (operator === undefined) {
    unparsable(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
  const parsed =
    operator === "in" || operator === "notin"
      ? parseSet(tokens, at + 1)
      : parseExactValue(tokens, at + 1);
  const values = [...new Set(parsed.values)].sort();
  const finding = requirementFinding(key, operator, values);
  if (finding !== undefined) unparsable(finding);
  return { requirement: { key, operator, values }, next: parsed.next };
}

interface ParsedValues {
  readonly values: readonly string[];
  readonly next: number;
}

function parseExactValue(tokens: readonly LabelToken[], at: number): ParsedValues {
  const token = valueToken(tokens[at]);
  if (token.kind === "end" || token.kind === ",") return { values: [""], next: at };
  if (token.kind === "identifier") return { values: [token.text], next: at + 1 };
  return unparsable(`found '${token.text}', expected: identifier`);
}

function parseSet(tokens: readonly LabelToken[], at: number): ParsedValues {
  const open = valueToken(tokens[at]);
  if (open.kind !== "(") unparsable(`found '${open.text}' expected: '('`);
  const first = valueToken(tokens[at + 1]);
  if (first.kind === ")") return { values: [""], next: at + 2 };
  if (first.kind !== "identifier" && first.kind !== ",") {
    unparsable(`found '${first.text}', expected: ',', ')' or identifier`);
  }
  return parseSetMembers(tokens, at + 1);
}

/** Members may be empty: `(,a)`, `(a,)` and `(a,,b)` all contain "". */
function parseSetMembers(tokens: readonly LabelToken[], start: number): ParsedValues {
  const values: string[] = [];
  let at = start;
  for (;;) {
    const token = valueToken(tokens[at]);
    const next = valueToken(tokens[at + 1]);
    if (token.kind === "identifier") {
      values.push(token.text);
      if (next.kind === ")") return { values, next: at + 2 };
      if (next.kind !== ",") unparsable(`found '${next.text}', expected: ',' or ')'`);
      at += 1;
    } else if (token.kind === ",") {
      if (values.length === 0 || next.kind === ")" || next.kind === ",") values.push("");
      if (next.kind === ")") return { values, next: at + 2 };
      at += next.kind === "," ? 2 : 1;
    } else {
      unparsable(`found '${token.text}', expected: ',', or identifier`);
    }
  }
}

const endToken: LabelToken = { kind: "end", text: "" };

/** Where a value is allowed, `in` and `notin` are identifiers. */
function valueToken(token: LabelToken | undefined): LabelToken {
  if (token === undefined) return endToken;
  if (token.kind === "in" || token.kind === "notin") return { ...token, kind: "identifier" };
  return token;
}

function unparsable(why: string): never {
  throw new SelectorError(`unable to parse requirement: ${why}`);
}

function invalidValue(path: string, value: string, detail: string): string {
  return `${path}: Invalid value: ${JSON.stringify(value)}: ${detail}`;
}

/** Upstream's error for a requirement, or undefined; several are joined in brackets. */
function requirementFinding(
  key: string,
  operator: Operator,
  values: readonly string[],
): string | undefined {
  const findings: string[] = [];
  const keyErrors = qualifiedNameErrors(key);
  if (keyErrors.length > 0) findings.push(invalidValue("key", key, keyErrors.join("; ")));
  append(findings, valueSetFindings(operator, values));
  values.forEach((value, index) => {
    const errors = labelValueErrors(value);
    if (errors.length === 0) return;
    findings.push(invalidValue(`values[${index}][${key}]`, value, errors.join("; ")));
  });
  return findings.length > 1 ? `[${findings.join(", ")}]` : findings[0];
}

function valueSetFindings(operator: Operator, values: readonly string[]): string[] {
  const shown = `values: Invalid value: ${JSON.stringify(values)}:`;
  if (operator === "exists" || operator === "!") {
    if (values.length === 0) return [];
    return [`${shown} values set must be empty for exists and does not exist`];
  }
  if (operator === "in" || operator === "notin") {
    if (values.length > 0) return [];
    return [`${shown} for 'in', 'notin' operators, values set can't be empty`];
  }
  if (operator !== "gt" && operator !== "lt") return [];
  return values.flatMap((value, index) => {
    if (parseInt64(value) !== undefined) return [];
    const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
    return [invalidValue(`values[${index}]`, value, detail)];
  });
}

/** Whether all requirements hold for `labels`; absent labels are an empty set. */
export function labelsMatch(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  for (const requirement of selector.requirements) {
    if (!requirementHolds(requirement, labels)) return false;
  }
  return true;
}

function requirementHolds(
  requirement: LabelRequirement,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const { key, values } = requirement;
  const present = labels !== undefined && Object.hasOwn(labels, key);
  const value = present ? (labels[key] ?? "") : "";
  switch (requirement.operator) {
    case "=":
    case "==":
    case "in":
      return present && isAmong(values, value);
    case "!=":
    case "notin":
      return !present || !isAmong(values, value);
    case "exists":
      return present;
    case "!":
      return !present;
    case "gt":
      return present && compareInt64(value, values[0]) > 0;
    case "lt":
      return present && compareInt64(value, values[0]) < 0;
    default:
      requirement.operator satisfies never;
      return false;
  }
}

const fewValues = 16;
/** Sets of long value lists, kept as long as their selector exists. */
const valueSets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Uses a set for long lists, because a selector with thousands of values may be matched with many objects. */
export function isAmong(values: readonly string[], value: string): boolean {
  if (values.length <= fewValues) return values.includes(value);
  let set = valueSets.get(values);
  if (set === undefined) {
    set = new Set(values);
    valueSets.set(values, set);
  }
  return set.has(value);
}

/** 1, -1 or 0; 0 also when either is not an integer, so that neither gt nor lt holds. */
function compareInt64(a: string, b: string | undefined): number {
  const left = parseInt64(a);
  const right = b === undefined ? undefined : parseInt64(b);
  if (left === undefined || right === undefined || left === right) return 0;
  return left > right ? 1 : -1;
}

/** Absent: `selectNothing`. Empty: everything. Throws SelectorError for a bad operator or value. */
export function selectorFromLabelSelector(
  spec: LabelSelectorSpec | null | undefined,
): LabelSelector {
  if (spec === undefined || spec === null) return selectNothing;
  const requirements = Object.entries(spec.matchLabels ?? {}).map(([key, value]) =>
    validateRequirement(key, "=", [value]),
  );
  for (const expression of spec.matchExpressions ?? []) {
    const operator = operatorOfExpression(expression.operator);
    requirements.push(validateRequirement(expression.key, operator, expression.values ?? []));
  }
  return { requirements: requirements.sort(byKey) };
}

/** From a plain map, as in Services and ReplicationControllers; nothing is validated. */
export function selectorFromMap(
  labels: Readonly<Record<string, string>> | null | undefined,
): LabelSelector {
  const requirements = Object.entries(labels ?? {}).map(([key, value]): LabelRequirement => ({
    key,
    operator: "=",
    values: [value],
  }));
  return { requirements: requirements.sort(byKey) };
}

function validateRequirement(
  key: string,
  operator: Operator,
  values: readonly string[],
): LabelRequirement {
  const finding = requirementFinding(key, operator, values);
  if (finding !== undefined) throw new SelectorError(finding);
  return { key, operator, values };
}

function operatorOfExpression(operator: string): Operator {
  switch (operator) {
    case "In":
      return "in";
    case "NotIn":
      return "notin";
    case "Exists":
      return "exists";
    case "DoesNotExist":
      return "!";
    default:
      throw new SelectorError(`${JSON.stringify(operator)} is not a valid label selector operator`);
  }
}

/** A text that `parseLabelSelector` accepts; "" for everything and for nothing, as upstream. */
export function printLabelSelector(selector: LabelSelector): string {
  return selector.requirements.map(printRequirement).join(",");
}

function printRequirement(requirement: LabelRequirement): string {
  const { key, operator, values } = requirement;
  const sorted = [...values].sort().join(",");
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return values.length === 0 ? "" : `${key} ${operator} (${sorted})`;
    case "gt":
      return `${key}>${sorted}`;
    case "lt":
      return `${key}<${sorted}`;
    case "=":
    case "==":
    case "!=":
      return `${key}${operator}${sorted}`;
    default:
      return operator satisfies never;
  }
}

/** A selector field in tables: `<none>` when empty or absent, `<error>` when invalid. */
export function formatLabelSelector(spec: LabelSelectorSpec | null | undefined): string {
  try {
    return printLabelSelector(selectorFromLabelSelector(spec)) || "<none>";
  } catch (error) {
    if (error instanceof SelectorError) return "<error>";
    throw error;
  }
}

function byKey(a: LabelRequirement, b: LabelRequirement): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
