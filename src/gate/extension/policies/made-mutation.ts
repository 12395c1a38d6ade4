/**
 * The result of a mutation's expression as data: the fields of an ApplyConfiguration, or a JSON patch.
 *
 * Texts as upstream's pkg/admission/plugin/policy/mutating/patch.
 */
import { exactInteger } from "#base/exact-json.ts";
import { dictionary } from "#base/own.ts";
import type { JsonObject, JsonValue } from "#api/object.ts";
import { FunctionError } from "#cel/libraries/limits.ts";
import {
  keyText,
  ListValue,
  MapValue,
  OptionalValue,
  stringForm,
  Uint,
  type Value,
} from "#cel/libraries/values.ts";
import { ObjectValue } from "#cel/object-value.ts";
import { Budget, evaluate, OutOfBudget, type Scope } from "./expression.ts";
import { limits } from "./limits.ts";
import type { Mutation } from "./mutating-program.ts";

/** Result of a mutation. `json` is text, so that all digits of its integers are preserved between threads. */
export type MadeMutation =
  | { readonly kind: "patch" | "configuration"; readonly json: string }
  | { readonly kind: "error"; readonly message: string };

export function makeMutation({ type, expression }: Mutation, scope: Scope): MadeMutation {
  try {
    const outcome = evaluate(expression, scope, new Budget(limits.policyCost));
    if (outcome.kind === "error") return outcome;
    const value = outcome.value as Value; // what an evaluation makes
    return type === "JSONPatch" ? patchOf(value) : configurationOf(value);
  } catch (error) {
    if (isRefusal(error)) return { kind: "error", message: error.message };
    throw error;
  }
}

/** The expression's result is no patch. */
class MutationError extends Error {}

function isRefusal(error: unknown): error is Error {
  return (
    error instanceof MutationError || error instanceof OutOfBudget || error instanceof FunctionError
  );
}

function patchOf(value: Value): MadeMutation {
  const patch = value instanceof ListValue ? value.items.map(operationOf) : [];
  return { kind: "patch", json: JSON.stringify(patch) };
}

function configurationOf(value: Value): MadeMutation {
  if (!(value instanceof ObjectValue)) {
    throw new MutationError(
      "unsupported return type from ApplyConfiguration expression: null_type",
    );
  }
  checkNames(value, "Object");
  return { kind: "configuration", json: JSON.stringify(jsonOf(value)) };
}

function operationOf(value: Value): JsonObject {
  if (!(value instanceof ObjectValue)) throw new MutationError("type mismatch: expected JSONPatch");
  const operation = dictionary<JsonValue>();
  for (const name of value.names()) {
    const field = value.field(name) ?? null;
    if (field instanceof ObjectValue) checkNames(field, undefined);
    operation[name] = jsonOf(field);
  }
  return operation;
}

/** Checks that `Object.spec{...}` is used only at field `spec` of an `Object`. */
function checkNames(value: Value, expected: string | undefined): void {
  if (value instanceof ListValue) {
    for (const item of value.items) checkNames(item, expected);
  }
  if (!(value instanceof ObjectValue)) return;
  const { typeName } = value;
  if (expected !== undefined && typeName !== expected) {
    const wanted = `expected ${JSON.stringify(expected)}, which matches field name path from root Object type`;
    throw new MutationError(
      `type mismatch: unexpected type name ${JSON.stringify(typeName)}, ${wanted}`,
    );
  }
  for (const name of value.names()) checkNames(value.field(name) ?? null, `${typeName}.${name}`);
}

function jsonOf(value: Value): JsonValue {
  if (value === null || typeof value !== "object") {
    return typeof value === "bigint" ? (exactInteger(value) as JsonValue) : value; // printed with all its digits
  }
  if (value instanceof ListValue) return value.items.map(jsonOf);
  if (value instanceof MapValue) {
    return Object.fromEntries(value.entries.map(([key, item]) => [nameOf(key), jsonOf(item)]));
  }
  if (value instanceof ObjectValue) return fieldsOf(value);
  if (value instanceof OptionalValue) return value.inner === undefined ? null : jsonOf(value.inner);
  if (value instanceof Uint) return Number(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return stringForm(value) ?? null;
}

function fieldsOf(value: ObjectValue): JsonObject {
  return Object.fromEntries(value.names().map((name) => [name, jsonOf(value.field(name) ?? null)]));
}

function nameOf(key: Value): string {
  return stringForm(key) ?? keyText(key);
}
