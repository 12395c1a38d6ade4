/** Checks selectors of workloads against the labels of their pod templates. */
import type { FieldError } from "../status.ts";
import type { LabelSelectorSpec } from "../selectors/label-selector.ts";
import {
  SelectorError,
  labelsMatch,
  selectorFromLabelSelector,
} from "../selectors/label-selector.ts";
import { validateLabelSelector } from "../meta.ts";
import type { Fields } from "./fields.ts";
import { count, hasEntries, maybe, part, textMap } from "./fields.ts";
import { child, invalidValue, required, append } from "./errors.ts";

const mismatch = "`selector` does not match template `labels`";

/** @returns undefined when the selector is invalid (which `validateLabelSelector` reports). */
export function selects(
  selector: Fields | undefined,
  labels: Readonly<Record<string, string>>,
): boolean | undefined {
  try {
    // An absent selector selects nothing; validateLabelSelector has checked its form.
    const spec = selector as unknown as LabelSelectorSpec | undefined;
    return labelsMatch(selectorFromLabelSelector(spec), labels);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** Go prints a map that was never made as null. */
function shown(spec: Fields): unknown {
  return part(part(spec, "template"), "metadata")["labels"] ?? null;
}

export function isEmptySelector(selector: Fields): boolean {
  return !hasEntries(selector, "matchLabels") && count(selector, "matchExpressions") === 0;
}

/** `emptyText` undefined: an empty selector is accepted. */
export function checkSelector(
  out: FieldError[],
  spec: Fields,
  emptyText: string | undefined,
  path: string,
): void {
  const at = child(path, "selector");
  const selector = maybe(spec, "selector");
  if (selector === undefined) {
    out.push(required(at));
    return;
  }
  append(out, validateLabelSelector(selector, at));
  if (emptyText !== undefined && isEmptySelector(selector)) {
    out.push(invalidValue(at, selector, emptyText));
  }
}

/** `invalidText`: the detail of the finding about an invalid selector; undefined: upstream has no such finding. */
export function checkSelectsTemplate(
  out: FieldError[],
  spec: Fields,
  path: string,
  invalidText: string | undefined,
): void {
  const selector = maybe(spec, "selector");
  const labels = textMap(part(part(spec, "template"), "metadata"), "labels");
  const matches = selects(selector, labels);
  if (matches === undefined) {
    const at = child(path, "selector");
    if (invalidText !== undefined) out.push(invalidValue(at, selector, invalidText));
  } else if (!matches) {
    out.push(invalidValue(child(path, "template", "metadata", "labels"), shown(spec), mismatch));
  }
}

/** For selectors that are plain maps (older kinds). */
export function checkMapSelectsTemplate(out: FieldError[], spec: Fields, path: string): void {
  const labels = textMap(part(part(spec, "template"), "metadata"), "labels");
  const lost = Object.entries(textMap(spec, "selector")).some(
    ([name, value]) => labels[name] !== value,
  );
  if (lost)
    out.push(invalidValue(child(path, "template", "metadata", "labels"), shown(spec), mismatch));
}
