/**
 * Evaluates the rules against one object.
 *
 * Order   the rules of a level, then `allOf`, then the levels below.
 * Bounds  `objectCostMax` units for all rules of an object, `callCostMax` for one evaluation: at either
 *         limit the walk ends with a finding.
 * Holds   a finding about a value that did not change is a warning, unless its rule looks at the old value.
 * After   apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (Validate).
 * Differs findings come in the order of the schema; upstream's order is random.
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import { must } from "#base/assert.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import type { FieldError } from "#api/status.ts";
import { Correlated, itemsByKey, keyOf } from "#api/structural/correlate.ts";
import { child, duplicate, forbiddenField, index, invalidValue, key, omitted, required } from "#api/validation/errors.ts"; // prettier-ignore
import { callCostMax } from "#cel/environment.ts";
import { jsonValue } from "#cel/json-values.ts";
import { OptionalValue, type Value } from "#cel/libraries/values.ts";
import type { SchemaNode } from "#cel/schema-types.ts";
import type { CompiledRule, RuleText } from "./compile.ts";
import type { RuleLevel } from "./tree.ts";

/** Maximum cost of all rules of an object. Source: pkg/apis/cel/config.go (RuntimeCELCostBudget). */
export const objectCostMax = 10_000_000;
/** Maximum bytes of a text from a messageExpression. */
const messageBytesMax = 5 * 1024;

interface Judgement {
  readonly errors: FieldError[];
  /** Findings about values that were equally wrong before. */
  readonly warnings: string[];
  /** Remaining cost. Negative: the evaluation ended early. */
  costLeft: number;
}

/** Evaluates the rules. `old` is undefined or null if there is no old value to compare with. */
export function evaluateRules(
  level: RuleLevel,
  value: JsonValue,
  old: JsonValue | undefined,
  { path = "", costLeft = objectCostMax, ratchets = true } = {},
): Judgement {
  const judgement: Judgement = { errors: [], warnings: [], costLeft };
  const isUpdate = ratchets && old !== undefined;
  const correlation = isUpdate ? { current: new Correlated(value, old, level.node) } : {};
  checkLevel(judgement, level, { path, value, old: old ?? undefined, correlation });
  return judgement;
}

/** Old values of a value. Absent `current`: it has none. `parent`: the nearest enclosing value that has one. */
interface Correlation {
  readonly current?: Correlated | undefined;
  readonly parent?: Correlated | undefined;
}

interface Place {
  readonly path: string;
  readonly value: JsonValue;
  readonly old: JsonValue | undefined;
  readonly correlation: Correlation;
}

function checkLevel(out: Judgement, level: RuleLevel, place: Place): void {
  if (place.value === null) return;
  checkRules(out, level, place);
  for (const alternative of level.allOf) {
    if (out.costLeft < 0) return;
    const { parent } = place.correlation;
    checkLevel(out, alternative, { ...place, correlation: { parent } });
  }
  if (out.costLeft < 0) return;
  if (Array.isArray(place.value)) checkItems(out, level, place);
  else if (isRecord(place.value)) checkFields(out, level, place);
}

function checkFields(out: Judgement, level: RuleLevel, place: Place): void {
  const value = place.value as JsonObject; // the caller looked
  const old = isRecord(place.old) ? (place.old as JsonObject) : undefined;
  const visit = (below: RuleLevel, name: string, path: string): void => {
    const field = ownEntry(value, name);
    if (field === undefined || field === null || out.costLeft < 0) return;
    const before = (old === undefined ? undefined : ownEntry(old, name)) ?? undefined;
    const correlation = correlationOfField(place.correlation, name);
    checkLevel(out, below, { path, value: field, old: before, correlation });
  };
  const { additional } = level;
  if (additional !== undefined) {
    for (const name of Object.keys(value)) visit(additional, name, key(place.path, name));
  }
  for (const [name, below] of level.properties) visit(below, name, child(place.path, name));
}

function correlationOfField({ current, parent }: Correlation, name: string): Correlation {
  if (current === undefined) return { parent };
  // Both objects were converted to one version, so changes of apiVersion and kind are not visible.
  if (parent === undefined && (name === "apiVersion" || name === "kind")) return {};
  return { current: current.field(name), parent: current };
}

function checkItems(out: Judgement, level: RuleLevel, place: Place): void {
  const { items, node } = level;
  if (items === undefined) return;
  const value = place.value as readonly JsonValue[]; // the caller looked
  const keys = node.listType === "map" ? node.listMapKeys : [];
  const isKeyed = keys.length > 0 && Array.isArray(place.old);
  const before = isKeyed ? itemsByKey(place.old as readonly JsonValue[], keys) : undefined;
  for (const [at, item] of value.entries()) {
    if (out.costLeft < 0) return;
    const name = before === undefined ? undefined : keyOf(item, keys);
    const old = name === undefined ? undefined : before?.get(name);
    const { current, parent } = place.correlation;
    const correlation =
      current === undefined ? { parent } : { current: current.item(at), parent: current };
    checkLevel(out, items, { path: index(place.path, at), value: item, old, correlation });
  }
}

/** Values of a level as its rules see them. Made once for all rules. */
interface Scope {
  readonly plain: ReadonlyMap<string, Value>;
  readonly optional: ReadonlyMap<string, Value>;
}

function checkRules(out: Judgement, level: RuleLevel, place: Place): void {
  if (!level.hasRules) return;
  const fieldOf = place.path === "" ? "<nil>" : place.path;
  const type = level.node.type;
  const refuse = (detail: string): void => {
    out.errors.push(invalidValue(fieldOf, type, detail));
  };
  if (level.type === undefined) {
    refuse(
      "rule compiler initialization error: failed to convert to declType for CEL validation rules",
    );
    return;
  }
  if (out.costLeft <= 0) {
    refuse(outOfBudget);
    out.costLeft = -1;
    return;
  }
  const scope = scopeOf(level.rules, level.type, place);
  for (const rule of level.rules) {
    if (rule.error !== undefined) refuse(`rule compile error: ${rule.error}`);
    else if (rule.program !== undefined) checkRule(out, level, place, scope, rule, refuse);
    if (out.costLeft < 0) return;
  }
}

const outOfBudget =
  "validation failed due to running out of cost budget, no further validation rules will be run";

function scopeOf(rules: readonly CompiledRule[], type: SchemaNode, { value, old }: Place): Scope {
  const self = jsonValue(value, type);
  const plain = new Map<string, Value>([["self", self]]);
  if (!rules.some(({ usesOldSelf }) => usesOldSelf)) return { plain, optional: plain };
  const before = old === undefined ? undefined : jsonValue(old, type);
  if (before !== undefined) plain.set("oldSelf", before);
  const optional = new Map<string, Value>([
    ["self", self],
    ["oldSelf", new OptionalValue(before)],
  ]);
  return { plain, optional };
}

function checkRule(
  out: Judgement,
  level: RuleLevel,
  place: Place,
  scope: Scope,
  rule: CompiledRule,
  refuse: (detail: string) => void,
): void {
  if (rule.usesOldSelf && place.old === undefined && !rule.text.isOptional) return;
  const variables = rule.text.isOptional ? scope.optional : scope.plain;
  const program = must(rule.program, "a rule without a program is not evaluated");
  const outcome = program.evaluate(variables, callCostMax);
  if (outcome.cost > out.costLeft) {
    refuse(outOfBudget);
    out.costLeft = -1;
    return;
  }
  out.costLeft -= outcome.cost;
  if (outcome.kind === "error") {
    refuse(failureText(outcome.message, rule.text));
    if (isOverLimit(outcome.message)) out.costLeft = -1;
    return;
  }
  if (outcome.value === true) return;
  report(out, level, place, rule, scope.plain);
}

function isOverLimit(message: string): boolean {
  return message.startsWith("operation cancelled: actual cost limit exceeded");
}

function failureText(message: string, text: RuleText): string {
  const shown = shownRule(text);
  if (message.startsWith("no such overload")) {
    return `'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`;
  }
  if (isOverLimit(message)) {
    return `'${message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`;
  }
  return `${message} evaluating rule: ${shown}`;
}

function shownRule({ rule, message }: RuleText): string {
  return (message === "" ? rule : message).trim();
}

function report(
  out: Judgement,
  level: RuleLevel,
  place: Place,
  rule: CompiledRule,
  variables: ReadonlyMap<string, Value>,
): void {
  const below = rule.fieldPath;
  const path = below === "" ? place.path || "<nil>" : child(place.path, below);
  const add = (error: FieldError): void => {
    const { current, parent } = place.correlation;
    if (!rule.usesOldSelf && ((current ?? parent)?.isUnchanged ?? false)) {
      out.warnings.push(`${error.field}: ${error.message}`);
    } else out.errors.push(error);
  };
  const made = messageOf(out, rule, variables);
  if (made.isFatal) {
    add(invalidValue(path, level.node.type, made.text));
    return;
  }
  const { message } = rule.text;
  const otherwise = message === "" ? `failed rule: ${shownRule(rule.text)}` : message.trim();
  const { type } = level.node;
  const value = type === "object" || type === "array" ? omitted : place.value;
  add(findingFor(rule.text.reason, path, value, made.text === "" ? otherwise : made.text));
}

function findingFor(
  reason: string | undefined,
  path: string,
  value: unknown,
  detail: string,
): FieldError {
  if (reason === "FieldValueForbidden") return forbiddenField(path, detail);
  if (reason === "FieldValueRequired") return required(path, detail);
  return reason === "FieldValueDuplicate"
    ? duplicate(path, value)
    : invalidValue(path, value, detail);
}

const encoder = new TextEncoder();

/** Returns the message of a rule. `text` "": the expression yields no usable text, so the rule's own text is shown. */
function messageOf(
  out: Judgement,
  { text, message, messageUsesOldSelf }: CompiledRule,
  variables: ReadonlyMap<string, Value>,
): { readonly text: string; readonly isFatal: boolean } {
  const none = { text: "", isFatal: false };
  if (message.program === undefined) return none;
  if (messageUsesOldSelf && !variables.has("oldSelf")) return none;
  const outcome = message.program.evaluate(variables, callCostMax);
  if (outcome.cost > out.costLeft) {
    out.costLeft = -1;
    return { text: `messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run`, isFatal: true }; // prettier-ignore
  }
  out.costLeft -= outcome.cost;
  if (outcome.kind === "error") {
    if (!isOverLimit(outcome.message)) return none;
    out.costLeft = -1;
    const shown = JSON.stringify(text.messageExpression);
    return { text: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${shown}`, isFatal: true }; // prettier-ignore
  }
  const made = typeof outcome.value === "string" ? outcome.value.trim() : "";
  const isShown = !made.includes("\n") && encoder.encode(made).length <= messageBytesMax;
  return isShown ? { text: made, isFatal: false } : none;
}
