/** Parts common to claims, classes and slices of devices: lists, names, taints, configuration. Texts as upstream's. */
import { isRecord } from "#base/is-record.ts";
import type { FieldError } from "../status.ts";
import { spelledJson } from "../json/kept-json.ts";
import { dns1123LabelErrors, regexText } from "../names.ts";
import { isLonger, labelValueErrors, subdomainErrors } from "../selectors/label-syntax.ts";
import type { Fields } from "./fields.ts";
import { items, maybe, part, sortKeys, text, texts } from "./fields.ts";
import {
  append,
  child,
  duplicate,
  index,
  invalidEach,
  invalidValue,
  key,
  notSupported,
  repeatedAt,
  required,
  tooLong,
  tooMany,
} from "./errors.ts";
import { checkLabelName } from "./scheduling.ts";
import { checkDriverName } from "./text.ts";

const parametersBytesMax = 10 * 1024;
const expressionBytesMax = 10 * 1024;
const poolNameMax = 253;
const identifierMax = 32;
export const requestsMax = 32;
export const configMax = 32;
const selectorsMax = 32;
const bindingConditionsMax = 4;
const taintEffects = ["NoExecute", "NoSchedule", "None"];
const tolerationOperators = ["Equal", "Exists"];

type CheckAt<T> = (out: FieldError[], item: T, path: string) => void;

/** The elements of a list that is too long are not checked. */
export function checkList<T>(
  out: FieldError[],
  list: readonly T[],
  { path, max }: { readonly path: string; readonly max: number },
  check: CheckAt<T>,
): boolean {
  if (list.length > max) {
    out.push(tooMany(path, list.length, max));
    return false;
  }
  list.forEach((item, at) => check(out, item, index(path, at)));
  return true;
}

/** The same for items with unique keys, given by `keyOf`. */
export function checkSet<T>(
  out: FieldError[],
  list: readonly T[],
  at: { readonly path: string; readonly max: number; readonly keyOf: (item: T) => string },
  check: CheckAt<T>,
): void {
  if (!checkList(out, list, at, check)) return;
  const keys = list.map(at.keyOf);
  for (const i of repeatedAt(keys)) out.push(duplicate(index(at.path, i), keys[i]));
}

export const itself = (text: string): string => text;
export const nameOf = (item: Fields): string => text(item, "name");

export function checkMap(
  out: FieldError[],
  map: Fields,
  path: string,
  check: { readonly name: CheckAt<string>; readonly value: CheckAt<Fields> },
): void {
  for (const name of sortKeys(map)) {
    check.name(out, name, path);
    check.value(out, part(map, name), key(path, name));
  }
}

export function checkLabel(out: FieldError[], name: string, path: string): void {
  append(out, invalidEach(path, name, dns1123LabelErrors(name)));
}

export function checkPoolName(out: FieldError[], name: string, path: string): void {
  if (name === "") {
    out.push(required(path));
    return;
  }
  if (isLonger(name, poolNameMax)) out.push(tooLong(path, poolNameMax));
  // The split is limited, because a name of megabytes would have as many parts.
  for (const part of name.split("/", poolNameMax)) {
    append(out, invalidEach(path, part, subdomainErrors(part)));
  }
}

const identifierFormat = "[A-Za-z_][A-Za-z0-9_]*";
const identifier = new RegExp(`^${identifierFormat}$`);
const identifierText =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'";

function checkIdentifier(out: FieldError[], id: string, path: string): void {
  if (isLonger(id, identifierMax)) out.push(tooLong(path, identifierMax));
  if (identifier.test(id)) return;
  const examples = ["my_name", "MY_NAME", "MyName"];
  out.push(invalidValue(path, id, regexText(identifierText, identifierFormat, examples)));
}

/** `name` or `domain/name`; as upstream, only the first slash counts. */
export function checkQualifiedName(out: FieldError[], name: string, path: string): void {
  const [first = "", second, third] = name.split("/", 3);
  if (third !== undefined) return;
  if (second === undefined) {
    checkIdentifier(out, first, path);
    return;
  }
  if (first === "") out.push(invalidValue(path, "", "the domain must not be empty"));
  else checkDriverName(out, first, path);
  if (second === "") out.push(invalidValue(path, "", "the name must not be empty"));
  else checkIdentifier(out, second, path);
}

const wholeNameText = "a fully qualified name must be a domain and a name separated by a slash";

export function checkWholeName(out: FieldError[], name: string, path: string): void {
  checkQualifiedName(out, name, path);
  if (!name.includes("/")) out.push(invalidValue(path, name, wholeNameText));
}

export function checkTaint(out: FieldError[], taint: Fields, path: string): void {
  checkLabelName(out, text(taint, "key"), child(path, "key"));
  checkLabelValue(out, text(taint, "value"), child(path, "value"));
  const effect = text(taint, "effect");
  if (effect === "") out.push(required(child(path, "effect")));
  else checkEffect(out, effect, child(path, "effect"));
}

export function checkToleration(out: FieldError[], toleration: Fields, path: string): void {
  const name = text(toleration, "key");
  if (name !== "") checkLabelName(out, name, child(path, "key"));
  const value = text(toleration, "value");
  const operator = text(toleration, "operator");
  if (operator === "") out.push(required(child(path, "operator")));
  else if (operator === "Equal") checkLabelValue(out, value, child(path, "value"));
  else if (operator !== "Exists") {
    out.push(notSupported(child(path, "operator"), operator, tolerationOperators));
  } else if (value !== "") {
    out.push(invalidValue(child(path, "value"), value, "must be empty for operator `Exists`"));
  }
  const effect = text(toleration, "effect");
  if (effect !== "") checkEffect(out, effect, child(path, "effect"));
}

function checkLabelValue(out: FieldError[], value: string, path: string): void {
  append(out, invalidEach(path, value, labelValueErrors(value)));
}

function checkEffect(out: FieldError[], effect: string, path: string): void {
  if (!taintEffects.includes(effect)) out.push(notSupported(path, effect, taintEffects));
}

/** Expressions are not compiled here. */
export function checkSelectors(out: FieldError[], owner: Fields, path: string): void {
  const at = { path: child(path, "selectors"), max: selectorsMax };
  checkList(out, items(owner, "selectors"), at, (found, selector, here) => {
    const cel = maybe(selector, "cel");
    if (cel === undefined) found.push(required(child(here, "cel")));
    else if (isLonger(text(cel, "expression"), expressionBytesMax)) {
      found.push(tooLong(child(here, "cel", "expression"), expressionBytesMax));
    }
  });
}

export function checkConfiguration(out: FieldError[], config: Fields, path: string): void {
  const opaque = maybe(config, "opaque");
  const at = child(path, "opaque");
  if (opaque === undefined) {
    out.push(required(at));
    return;
  }
  checkDriverName(out, text(opaque, "driver"), child(at, "driver"));
  checkJson(out, opaque["parameters"], child(at, "parameters"));
}

/** Free-form JSON that must be an object. */
export function checkJson(out: FieldError[], value: unknown, path: string): void {
  if (value === undefined || value === null) out.push(required(path));
  else if (isLonger(spelledJson(value), parametersBytesMax)) {
    out.push(tooLong(path, parametersBytesMax));
  } else if (!isRecord(value)) {
    out.push(invalidValue(path, "<value omitted>", "must be a valid JSON object"));
  }
}

const overlapText = "bindingFailureConditions must not overlap with bindingConditions";

export function checkBindingConditions(out: FieldError[], owner: Fields, path: string): void {
  const [some, others] = ["bindingConditions", "bindingFailureConditions"] as const;
  const [wanted, failing] = [texts(owner, some), texts(owner, others)];
  for (const [list, name] of [
    [wanted, some],
    [failing, others],
  ] as const) {
    const at = { path: child(path, name), max: bindingConditionsMax };
    checkList(out, list, at, checkLabelName);
  }
  for (const [list, name] of [
    [wanted, some],
    [failing, others],
  ] as const) {
    for (const i of repeatedAt(list)) out.push(duplicate(index(child(path, name), i), list[i]));
  }
  const isWanted = new Set(wanted);
  failing.forEach((condition, at) => {
    if (!isWanted.has(condition)) return;
    out.push(invalidValue(index(child(path, others), at), condition, overlapText));
  });
  if (wanted.length === 0 && failing.length > 0) {
    out.push(invalidValue(child(path, some), null, `${some} are required to use ${others}`));
  }
  if (failing.length === 0 && wanted.length > 0) {
    out.push(invalidValue(child(path, others), null, `${others} are required to use ${some}`));
  }
}
