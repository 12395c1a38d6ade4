/**
 * What Kubernetes asks of literals beyond their types: patterns, durations, times and formats that can be read,
 * and lists and maps of one type.
 *
 * Source: cel-go cel/validator.go with the validators of k8s.io/apiserver pkg/cel/environment/base.go.
 */
import type { Checked } from "./checker.ts";
import { isPattern } from "./libraries/regex-library.ts";
import { checkFormat, type FormatArgument } from "./libraries/format-check.ts";
import type { SourceError } from "./source-error.ts";
import { parseDuration, parseTimestamp } from "./standard/time-text.ts";
import { type Call, type Expr, type ListExpr, type MapExpr, partsOf } from "./syntax.ts";
import { dynType, isOptional, printType, sameType, type Type } from "./type.ts";

const readable: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["matches", isPattern],
  ["duration", (text) => parseDuration(text) !== undefined],
  ["timestamp", (text) => parseTimestamp(text) !== undefined],
]);

export function literalErrors(checked: Checked): readonly SourceError[] {
  const out: SourceError[] = [];
  walk(checked, checked.expr, false, out);
  return out;
}

/** `mayMix`: within `format`, which accepts lists of mixed types. */
function walk(checked: Checked, expr: Expr, mayMix: boolean, out: SourceError[]): void {
  if (expr.kind === "call") checkCall(checked, expr, out);
  if (expr.kind === "list" && !mayMix) checkList(checked, expr, out);
  if (expr.kind === "map" && !mayMix) checkMap(checked, expr, out);
  const mayMixBelow = mayMix || (expr.kind === "call" && expr.name === "format");
  for (const part of partsOf(expr)) walk(checked, part, mayMixBelow, out);
}

function checkCall(checked: Checked, call: Call, out: SourceError[]): void {
  const [first] = call.args;
  const canRead = readable.get(call.name);
  const isText = first?.kind === "literal" && typeof first.value === "string";
  if (canRead !== undefined && isText && !canRead(first.value as string)) {
    out.push({ at: first.at, message: `invalid ${call.name} argument` });
  }
  if (call.name === "format") checkFormatCall(checked, call, out);
}

/** Checks a literal format with a literal list of arguments. */
function checkFormatCall(checked: Checked, { target, args, at }: Call, out: SourceError[]): void {
  const [list] = args;
  if (target?.kind !== "literal" || typeof target.value !== "string" || list?.kind !== "list") {
    return;
  }
  const places = new Map<FormatArgument, number>();
  const describe = (expr: Expr): FormatArgument => {
    const argument = { type: checked.typeOf(expr), parts: elementsOf(expr).map(describe) };
    places.set(argument, expr.at);
    return argument;
  };
  const fault = checkFormat(target.value, list.items.map(describe));
  if (fault === undefined) return;
  const place = fault.at === undefined ? undefined : places.get(fault.at);
  out.push({ at: place ?? at, message: fault.message });
}

function elementsOf(expr: Expr): readonly Expr[] {
  if (expr.kind === "list") return expr.items;
  return expr.kind === "map" ? expr.entries.flatMap(({ key, value }) => [key, value]) : [];
}

function checkList(checked: Checked, { items, optional }: ListExpr, out: SourceError[]): void {
  let wanted: Type | undefined;
  for (const [at, item] of items.entries()) {
    const type = held(checked.typeOf(item), optional.has(at));
    wanted ??= type;
    if (sameType(wanted, type)) continue;
    out.push(mismatch(item, wanted, type));
    return;
  }
}

function checkMap(checked: Checked, { entries }: MapExpr, out: SourceError[]): void {
  const [first] = entries;
  if (first === undefined) return;
  const keyType = checked.typeOf(first.key);
  const valueType = held(checked.typeOf(first.value), first.isOptional);
  for (const { key, value, isOptional: mayBeAbsent } of entries) {
    const [ofKey, ofValue] = [checked.typeOf(key), held(checked.typeOf(value), mayBeAbsent)];
    if (!sameType(keyType, ofKey)) out.push(mismatch(key, keyType, ofKey));
    if (!sameType(valueType, ofValue)) out.push(mismatch(value, valueType, ofValue));
  }
}

function held(type: Type, mayBeAbsent: boolean): Type {
  return mayBeAbsent && isOptional(type) ? (type.parameters[0] ?? dynType) : type;
}

function mismatch({ at }: Expr, wanted: Type, found: Type): SourceError {
  const message = `expected type '${printType(wanted)}' but found '${printType(found)}'`;
  return { at, message };
}
