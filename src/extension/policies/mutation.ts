/**
 * One mutation of a policy: an expression that makes an ApplyConfiguration or a JSON patch, applied to the object.
 *
 * Holds  a failed `test` leaves the object as it is; the result is decoded and defaulted like a client's.
 * Texts as upstream's pkg/admission/plugin/policy/mutating/patch.
 */
import { dictionary } from "#base/own.ts";
import { cloneJson } from "#api/json-value.ts";
import type { StructShape } from "#api/apply/shape.ts";
import type { AnyObject, JsonObject, JsonValue } from "#api/object.ts";
import { refuseBeyondLimits } from "#api/object-limits.ts";
import { applyJsonPatch } from "#api/patch/json-patch.ts";
import { failure } from "#api/status.ts";
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
import type { ObjectView } from "../webhooks/object-view.ts";
import { applyConfiguration } from "./apply-configuration.ts";
import { Budget, evaluate, type Expression, type Scope } from "./expression.ts";
import { limits } from "./limits.ts";

export interface Mutation {
  readonly type: "ApplyConfiguration" | "JSONPatch";
  readonly expression: Expression;
}

/** The object of a request as the policy wants it, and back. */
export interface MutationTarget {
  readonly view: ObjectView;
  /** Undefined: objects of the kind have no schema that says how to merge. */
  readonly shape: () => StructShape | undefined;
}

/** @throws Error in upstream's words, ApiError. */
export async function evaluateMutation(
  { type, expression }: Mutation,
  scope: Scope,
  { view, shape }: MutationTarget,
  object: AnyObject,
): Promise<AnyObject> {
  const outcome = evaluate(expression, scope, new Budget(limits.policyCost));
  if (outcome.kind === "error") throw new Error(outcome.message);
  const value = outcome.value as Value; // what an evaluation makes
  const before = await view.toView(object);
  const after = type === "JSONPatch" ? patched(before, value) : configured(before, value, shape());
  if (after === before) return object;
  refuseBeyondLimits(after);
  return await view.fromView(after, object);
}

function configured(before: AnyObject, value: Value, shape: StructShape | undefined): AnyObject {
  if (!(value instanceof ObjectValue)) {
    throw new Error("unsupported return type from ApplyConfiguration expression: null_type");
  }
  checkNames(value, "Object");
  if (shape === undefined) {
    const kind = `${String(before.apiVersion)}, Kind=${String(before.kind)}`;
    const text = `Resource kind ${kind} not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.`;
    throw failure(503, "ServiceUnavailable", text, {});
  }
  return applyConfiguration(before, jsonOf(value) as AnyObject, shape);
}

function patched(before: AnyObject, value: Value): AnyObject {
  const patch = value instanceof ListValue ? value.items.map(operationOf) : [];
  try {
    return applyJsonPatch(cloneJson(before) as unknown as JsonObject, patch) as AnyObject; // plain JSON data
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message : String(cause);
    if (isFailedTest(why)) return before;
    throw new Error(`JSON Patch: ${why}`, { cause: error });
  }
}

function isFailedTest(message: string): boolean {
  return /test(?:ing|\b).*failed/i.test(message);
}

function operationOf(value: Value): JsonObject {
  if (!(value instanceof ObjectValue)) throw new Error("type mismatch: expected JSONPatch");
  const operation = dictionary<JsonValue>();
  for (const name of value.names()) {
    const field = value.field(name) ?? null;
    if (field instanceof ObjectValue) checkNames(field, undefined);
    operation[name] = jsonOf(field);
  }
  return operation;
}

/** `Object.spec{...}` may stand at field `spec` of an `Object` only. */
function checkNames(value: Value, expected: string | undefined): void {
  if (value instanceof ListValue) {
    for (const item of value.items) checkNames(item, expected);
  }
  if (!(value instanceof ObjectValue)) return;
  const { typeName } = value;
  if (expected !== undefined && typeName !== expected) {
    const wanted = `expected ${JSON.stringify(expected)}, which matches field name path from root Object type`;
    throw new Error(`type mismatch: unexpected type name ${JSON.stringify(typeName)}, ${wanted}`);
  }
  for (const name of value.names()) checkNames(value.field(name) ?? null, `${typeName}.${name}`);
}

function jsonOf(value: Value): JsonValue {
  if (value === null || typeof value !== "object") {
    if (typeof value !== "bigint") return value;
    return Number.isSafeInteger(Number(value)) ? Number(value) : (value as unknown as JsonValue); // kept exact
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
