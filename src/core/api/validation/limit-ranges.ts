/** Limit ranges: their values must be consistent. Texts as upstream's core/validation. */
import type { Quantity } from "../values/quantity.ts";
import { compareQuantities, formatQuantity, tryParseQuantity } from "../values/quantity.ts";
import type { FieldError } from "../status.ts";
import { qualifiedNameErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { hasEntries, has, items, part, sortKeys, text } from "./fields.ts";
import {
  child,
  duplicate,
  forbiddenField,
  index,
  invalidEach,
  invalidValue,
  key,
  required,
  append,
} from "./errors.ts";
import type { NameCheck } from "./resources.ts";
import {
  checkContainerResourceName,
  checkResourceName,
  isOvercommitAllowed,
  readQuantity,
} from "./resources.ts";

const standardTypes = new Set(["Container", "PersistentVolumeClaim", "Pod"]);
const lists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

export function validateLimitRange(range: Fields): FieldError[] {
  const out: FieldError[] = [];
  const seen = new Set<string>();
  const limits = items(part(range, "spec"), "limits");
  limits.forEach((limit, at) => {
    const path = index("spec.limits", at);
    const type = text(limit, "type");
    checkType(out, type, child(path, "type"));
    if (seen.has(type)) out.push(duplicate(child(path, "type"), type));
    seen.add(type);
    checkLimit(out, limit, path);
  });
  return out;
}

function checkType(out: FieldError[], type: string, path: string): void {
  const errors = qualifiedNameErrors(type);
  append(out, invalidEach(path, type, errors));
  if (errors.length > 0 || type.includes("/") || standardTypes.has(type)) return;
  out.push(invalidValue(path, type, "must be a standard limit type or fully qualified"));
}

function checkLimit(out: FieldError[], limit: Fields, path: string): void {
  const type = text(limit, "type");
  const checkName: NameCheck =
    type === "Container" || type === "Pod" ? checkContainerResourceName : checkResourceName;
  const names = new Set<string>();
  for (const list of lists) {
    if (type === "Pod" && list.startsWith("default")) {
      if (!hasEntries(limit, list)) continue;
      out.push(forbiddenField(child(path, list), "may not be specified when `type` is 'Pod'"));
      continue;
    }
    for (const name of sortKeys(part(limit, list))) {
      const at = key(child(path, list), name);
      checkName(out, name, at);
      readQuantity(out, part(limit, list)[name], at);
      names.add(name);
    }
  }
  if (type === "PersistentVolumeClaim") checkClaims(out, limit, path);
  for (const name of [...names].sort()) checkAmounts(out, limit, name, path);
}

function checkClaims(out: FieldError[], limit: Fields, path: string): void {
  if (has(part(limit, "min"), "storage") || has(part(limit, "max"), "storage")) return;
  const detail = "either minimum or maximum storage value is required, but neither was provided";
  out.push(required(child(path, "limits"), detail));
}

type Amounts = Readonly<Record<string, Quantity | undefined>>;

function amountsOf(limit: Fields, name: string): Amounts {
  return Object.fromEntries(
    lists.map((list) => {
      const amount = part(limit, list)[name];
      const known = typeof amount === "string" || typeof amount === "number";
      return [list, known ? tryParseQuantity(amount) : undefined];
    }),
  );
}

/** The smaller list, the larger one, the field to report, and the text. */
type Order = readonly [string, string, string, string, string];

const orders: readonly Order[] = [
  ["min", "max", "min", "min value", "max value"],
  ["min", "defaultRequest", "defaultRequest", "min value", "default request value"],
  ["defaultRequest", "max", "defaultRequest", "default request value", "max value"],
  ["defaultRequest", "default", "defaultRequest", "default request value", "default limit value"],
  ["min", "default", "default", "min value", "default value"],
  ["default", "max", "default", "default value", "max value"],
];

function checkAmounts(out: FieldError[], limit: Fields, name: string, path: string): void {
  const amounts = amountsOf(limit, name);
  for (const [low, high, where, lowText, highText] of orders) {
    const small = amounts[low];
    const big = amounts[high];
    if (small === undefined || big === undefined || compareQuantities(small, big) <= 0) continue;
    const detail = `${lowText} ${formatQuantity(small)} is greater than ${highText} ${formatQuantity(big)}`;
    const shown = amounts[where];
    if (shown !== undefined) {
      out.push(invalidValue(key(child(path, where), name), formatQuantity(shown), detail));
    }
  }
  checkRatio(out, amounts, key(child(path, "maxLimitRequestRatio"), name));
  checkSame(out, amounts, name, path);
}

const one = 1_000_000_000n;

function checkRatio(out: FieldError[], amounts: Amounts, path: string): void {
  const { maxLimitRequestRatio: ratio, max, min } = amounts;
  if (ratio === undefined) return;
  const printed = formatQuantity(ratio);
  if (ratio.nanos < one) out.push(invalidValue(path, printed, `ratio ${printed} is less than 1`));
  if (max === undefined || min === undefined || min.nanos <= 0n) return;
  const possible = Number(max.nanos) / Number(min.nanos);
  if (Number(ratio.nanos) / Number(one) <= possible) return;
  const detail = `ratio ${printed} is greater than max/min = ${possible.toFixed(6)}`;
  out.push(invalidValue(path, printed, detail));
}

/** Request and limit must be equal for resources without overcommitment. */
function checkSame(out: FieldError[], amounts: Amounts, name: string, path: string): void {
  const { default: limit, defaultRequest } = amounts;
  if (isOvercommitAllowed(name) || limit === undefined || defaultRequest === undefined) return;
  if (compareQuantities(limit, defaultRequest) === 0) return;
  const printed = formatQuantity(defaultRequest);
  const detail = `default value ${formatQuantity(limit)} must equal to defaultRequest value ${printed} in ${name}`;
  out.push(invalidValue(key(child(path, "defaultRequest"), name), printed, detail));
}
