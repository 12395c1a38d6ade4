/** Rules within jobs: which failures count, and when a job has succeeded. */
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { count, has, items, maybe, maybeNumber, maybeText, part, text } from "./fields.ts";
import {
  child,
  duplicate,
  index,
  invalidEach,
  invalidValue,
  notSupported,
  omitted,
  required,
  tooMany,
  append,
} from "./errors.ts";
import { goStruct } from "./go-struct.ts";
import { checkCounters } from "./numbers.ts";

const rulesMax = 20;
const exitCodesMax = 255;
const conditionsMax = 20;
const successRulesMax = 20;
const succeededIndexesBytesMax = 64 * 1024;
const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const operators = ["In", "NotIn"];
const statuses = ["False", "True", "Unknown"];

export function checkFailurePolicy(out: FieldError[], spec: Fields, path: string): void {
  const policy = maybe(spec, "podFailurePolicy");
  if (policy === undefined) return;
  const rules = items(policy, "rules");
  const at = child(path, "rules");
  if (rules.length > rulesMax) out.push(tooMany(at, rules.length, rulesMax));
  const pod = part(part(spec, "template"), "spec");
  const all = [...items(pod, "containers"), ...items(pod, "initContainers")];
  const names = new Set(all.map((container) => text(container, "name")));
  rules.forEach((rule, i) => checkFailureRule(out, { spec, rule, names }, index(at, i)));
}

function checkFailureRule(
  out: FieldError[],
  given: { readonly spec: Fields; readonly rule: Fields; readonly names: ReadonlySet<string> },
  path: string,
): void {
  const { rule } = given;
  checkAction(out, text(rule, "action"), has(given.spec, "backoffLimitPerIndex"), path);
  const codes = maybe(rule, "onExitCodes");
  if (codes !== undefined) checkExitCodes(out, codes, given.names, child(path, "onExitCodes"));
  const conditions = items(rule, "onPodConditions");
  if (conditions.length > 0) checkPatterns(out, conditions, child(path, "onPodConditions"));
  if (codes !== undefined && conditions.length > 0) {
    const detail = "specifying both OnExitCodes and OnPodConditions is not supported";
    out.push(invalidValue(path, omitted, detail));
  }
  if (codes === undefined && conditions.length === 0) {
    const detail = "specifying one of OnExitCodes and OnPodConditions is required";
    out.push(invalidValue(path, omitted, detail));
  }
}

/** Go prints lists of texts quoted and in brackets. */
function validValues(values: readonly string[]): string {
  return `valid values: [${values.map((value) => JSON.stringify(value)).join(" ")}]`;
}

function checkOneOf(
  out: FieldError[],
  value: string,
  supported: readonly string[],
  path: string,
): void {
  if (value === "") out.push(required(path, validValues(supported)));
  else if (!supported.includes(value)) out.push(notSupported(path, value, supported));
}

function checkAction(out: FieldError[], action: string, perIndex: boolean, path: string): void {
  const at = child(path, "action");
  if (action === "FailIndex" && !perIndex) {
    out.push(invalidValue(at, action, "requires the backoffLimitPerIndex to be set"));
  } else checkOneOf(out, action, actions, at);
}

function checkExitCodes(
  out: FieldError[],
  codes: Fields,
  names: ReadonlySet<string>,
  path: string,
): void {
  const operator = text(codes, "operator");
  checkOneOf(out, operator, operators, child(path, "operator"));
  const container = maybeText(codes, "containerName");
  if (container !== undefined && !names.has(container)) {
    const detail = "must be one of the container or initContainer names in the pod template";
    out.push(invalidValue(child(path, "containerName"), container, detail));
  }
  const { values } = codes;
  const list: readonly unknown[] = Array.isArray(values) ? values : [];
  checkExitCodeList(out, list, operator, child(path, "values"));
}

function checkExitCodeList(
  out: FieldError[],
  values: readonly unknown[],
  operator: string,
  path: string,
): void {
  if (values.length === 0) out.push(invalidValue(path, values, "at least one value is required"));
  if (values.length > exitCodesMax) out.push(tooMany(path, values.length, exitCodesMax));
  const seen = new Set<unknown>();
  let ordered = true;
  values.forEach((value, at) => {
    if (operator === "In" && value === 0) {
      out.push(invalidValue(index(path, at), value, "must not be 0 for the In operator"));
    }
    if (seen.has(value)) out.push(duplicate(index(path, at), value));
    else seen.add(value);
    if (at > 0 && Number(values[at - 1]) > Number(value)) ordered = false;
  });
  if (!ordered) out.push(invalidValue(path, values, "must be ordered"));
}

function checkPatterns(out: FieldError[], patterns: readonly Fields[], path: string): void {
  if (patterns.length > conditionsMax) out.push(tooMany(path, patterns.length, conditionsMax));
  patterns.forEach((pattern, at) => {
    const here = index(path, at);
    const type = text(pattern, "type");
    append(out, invalidEach(child(here, "type"), type, qualifiedNameErrors(type)));
    checkOneOf(out, text(pattern, "status"), statuses, child(here, "status"));
  });
}

const successRule = { succeededIndexes: null, succeededCount: null };

export function checkSuccessPolicy(out: FieldError[], spec: Fields, path: string): void {
  const policy = maybe(spec, "successPolicy");
  if (policy === undefined) return;
  if (text(spec, "completionMode") !== "Indexed") {
    const rules = items(policy, "rules").map((rule) => goStruct(rule, successRule));
    const shown = { Rules: rules.length === 0 ? null : rules };
    out.push(invalidValue(path, shown, "requires indexed completion mode"));
    return;
  }
  const at = child(path, "rules");
  const size = count(policy, "rules");
  if (size === 0) out.push(required(at, "at least one rules must be specified"));
  if (size > successRulesMax) out.push(tooMany(at, size, successRulesMax));
  items(policy, "rules").forEach((rule, i) => checkSuccessRule(out, spec, rule, index(at, i)));
}

function checkSuccessRule(out: FieldError[], spec: Fields, rule: Fields, path: string): void {
  const completions = maybeNumber(spec, "completions") ?? 0;
  const needed = maybeNumber(rule, "succeededCount");
  const indexes = maybeText(rule, "succeededIndexes");
  if (needed === undefined && indexes === undefined) {
    const detail = "at least one of succeededCount or succeededIndexes must be specified";
    out.push(required(path, detail));
    return;
  }
  checkCounters(out, rule, ["succeededCount"], path);
  const at = child(path, "succeededIndexes");
  let total: number | undefined;
  if (indexes !== undefined) {
    total = checkIndexes(out, indexes, completions, at);
  }
  if (needed === undefined) return;
  const here = child(path, "succeededCount");
  if (needed > completions) {
    const detail = `must be less than or equal to ${completions} (the number of specified completions)`;
    out.push(invalidValue(here, needed, detail));
  }
  if (total !== undefined && needed > total) {
    const detail = `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`;
    out.push(invalidValue(here, needed, detail));
  }
}

/** @returns the number of indexes in `1,3-5`; undefined when it cannot be parsed. */
function checkIndexes(
  out: FieldError[],
  value: string,
  completions: number,
  path: string,
): number | undefined {
  if (value.length > succeededIndexesBytesMax) {
    const detail = `must be no more than ${succeededIndexesBytesMax} characters`;
    out.push(invalidValue(path, value, detail));
    return undefined;
  }
  if (value === "") return 0;
  let total = 0;
  let last = -1;
  for (const part1 of value.split(",")) {
    const problem = readInterval(part1, completions, last);
    if (typeof problem === "string") {
      out.push(invalidValue(path, value, `error parsing succeededIndexes: ${problem}`));
      return undefined;
    }
    total += problem.last - problem.first + 1;
    last = problem.last;
  }
  return total;
}

function readInterval(
  value: string,
  completions: number,
  before: number,
): { readonly first: number; readonly last: number } | string {
  const limits = value.split("-");
  if (limits.length > 2) return `the fragment ${JSON.stringify(value)} violates the requirement`;
  for (const limit of limits) {
    if (!/^[0-9]{1,10}$/.test(limit))
      return `cannot convert string to integer for index: ${JSON.stringify(limit)}`;
  }
  const first = Number(limits[0]);
  const last = Number(limits[1] ?? limits[0]);
  if (Math.max(first, last) >= completions) return `too large index: ${JSON.stringify(value)}`;
  if (first <= before) return `non-increasing order, previous: ${before}, current: ${first}`;
  if (limits.length === 2 && last <= first) {
    return `non-increasing order, previous: ${first}, current: ${last}`;
  }
  return { first, last };
}
