/**
 * The public conformance cases of CEL (cel-spec v0.25.1), run in Kubernetes' environment.
 *
 * A case that is left out is counted under its reason; the counts are part of the test.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { getConformanceSuite } from "@bufbuild/cel-spec/testdata/tests.js";
import { Environment } from "./environment.ts";
import { listOf, mapOf } from "./libraries/library.ts";
import {
  equalValues,
  ListValue,
  MapValue,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "./libraries/values.ts";
import { dynType, nullType, objectType, type Type } from "./type.ts";

interface Message {
  readonly case?: string;
  readonly value?: unknown;
}

class Unsupported extends Error {}

/** Sections of what Kubernetes' environment does not have. */
const leftOut: Readonly<Record<string, string>> = {
  bindings_ext: "cel.bind is not on",
  block_ext: "cel.block is not on",
  dynamic: "protobuf wrappers",
  encoders_ext: "the encoders extension is not on",
  enums: "protobuf enums",
  math_ext: "the math extension is not on",
  namespace: "containers are not used",
  network_ext: "Kubernetes has its own library of addresses",
  proto2: "protobuf messages",
  proto2_ext: "protobuf messages",
  proto3: "protobuf messages",
  type_deduction: "deduced types need protobuf declarations",
  unknowns: "unknowns are not used",
  wrappers: "protobuf wrappers",
};

// oxlint-disable-next-line typescript/no-explicit-any -- messages of another package's schema
function toValue(message: any): Value {
  const { kind } = message as { kind: Message };
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  const value = kind.value as any;
  switch (kind.case) {
    case "nullValue":
      return null;
    case "boolValue":
    case "int64Value":
    case "doubleValue":
    case "stringValue":
    case "bytesValue":
      return value as Value;
    case "uint64Value":
      return new Uint(value as bigint);
    case "listValue":
      return new ListValue((value.values as unknown[]).map(toValue));
    case "mapValue":
      return new MapValue(
        (value.entries as { key: unknown; value: unknown }[]).map(
          (one) => [toValue(one.key), toValue(one.value)] as const,
        ),
      );
    case "typeValue":
      return new TypeValue(value as string);
    default:
      throw new Unsupported("protobuf values");
  }
}

const primitives = ["dyn", "bool", "int", "uint", "double", "string", "bytes"];

// oxlint-disable-next-line typescript/no-explicit-any -- as above
function toType(message: any): Type {
  const { case: kind, value } = message.typeKind;
  if (kind === "primitive") return objectType(primitives[value as number] ?? "dyn");
  if (kind === "null") return nullType;
  if (kind === "dyn") return dynType;
  if (kind === "listType") return listOf(toType(value.elemType));
  if (kind === "mapType") return mapOf(toType(value.keyType), toType(value.valueType));
  throw new Unsupported("protobuf types");
}

const mixedLiteral = /^expected type '.*' but found '.*'$/;

/** Cases of later versions, by their names: Kubernetes 1.36.3 answers them as we do, otherwise than the case says. */
const olderStrings =
  /scientific notation|(?:NaN|infinity) support for|list support for string|map support|dyntype (?:NaN|support for (?:lists|maps|scient))|indexof_out_of_range/;
/** Kubernetes lets an optional select of a value without fields find nothing: ErrorOnBadPresenceTest is off there. */
const lenientSelects = /^(?:map_null_entry_no_such_key|map_present_key_invalid_field)$/;
const quotedNames = /unsupported syntax: '`'/;

// oxlint-disable-next-line typescript/no-explicit-any -- as above
function runCase(simple: any): string | undefined {
  if (simple.container !== "") throw new Unsupported("containers are not used");
  if (/google\.protobuf\.(?!Timestamp =|Duration =)|cel\.expr\.|TestAllTypes/.test(simple.expr))
    throw new Unsupported("protobuf messages");
  const variables = new Map<string, Type>();
  for (const { name, declKind } of simple.typeEnv) {
    if (declKind.case !== "ident") throw new Unsupported("declared functions");
    variables.set(name, toType(declKind.value.type));
  }
  if (simple.disableCheck === true) throw new Unsupported("expressions are always checked");
  const activation = new Map<string, Value>();
  for (const [name, bound] of Object.entries(simple.bindings)) {
    // oxlint-disable-next-line typescript/no-explicit-any -- as above
    activation.set(name, toValue((bound as any).kind.value));
  }
  const compiled = new Environment({ variables }).compile(simple.expr);
  const { case: wanted, value } = simple.resultMatcher;
  const isError = wanted === "evalError" || wanted === "anyEvalErrors";
  if (wanted === "unknown") throw new Unsupported("unknowns are not used");
  if (wanted === "typedResult" && value.result === undefined) return undefined;
  const expected = isError
    ? undefined
    : toValue(
        wanted === undefined
          ? { kind: { case: "boolValue", value: true } }
          : wanted === "typedResult"
            ? value.result
            : value,
      );
  if (compiled.kind === "errors") {
    const isMixed = compiled.errors.every(({ message }) => mixedLiteral.test(message));
    if (isMixed && !isError) throw new Unsupported("literals of mixed types are refused");
    if (compiled.errors.some(({ message }) => quotedNames.test(message)))
      throw new Unsupported("quoted names are not on");
    return isError ? undefined : compiled.errors.map(({ message }) => message).join("; ");
  }
  const outcome = compiled.program.evaluate(activation, 1e9);
  if (isError) return outcome.kind === "error" ? undefined : "no error";
  if (outcome.kind !== "value") return outcome.message;
  const isNaNs = Number.isNaN(outcome.value) && Number.isNaN(expected);
  const isFit =
    isNaNs ||
    (equalValues(outcome.value, expected ?? null) &&
      typeName(outcome.value) === typeName(expected ?? null));
  return isFit ? undefined : `another value: ${typeof outcome.value} ${typeName(outcome.value)}`;
}

const recorded = {
  passed: 1238,
  "cel.bind is not on": 5,
  "cel.block is not on": 37,
  "containers are not used": 85,
  "declared functions": 5,
  "expressions are always checked": 103,
  "literals of mixed types are refused": 40,
  "optional selects find nothing in a value without fields": 2,
  "protobuf enums": 85,
  "protobuf messages": 238,
  "protobuf types": 15,
  "protobuf wrappers": 262,
  "quoted names are not on": 6,
  "the encoders extension is not on": 4,
  "the math extension is not on": 199,
  "version 2 of the strings extension answers otherwise": 20,
};

test("the public conformance cases hold; the others are left out for a counted reason", () => {
  const failed: string[] = [];
  const reasons = new Map<string, number>();
  let passed = 0;
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  const visit = (suite: any, path: string): void => {
    for (const inner of suite.suites)
      visit(inner, path === "" ? inner.name : `${path}/${inner.name}`);
    for (const one of suite.tests) {
      const section = path.split("/")[0] ?? "";
      try {
        const reason = leftOut[section];
        if (reason !== undefined) throw new Unsupported(reason);
        const why = runCase(one.original);
        if (why === undefined) passed += 1;
        else if (section === "string_ext" && olderStrings.test(one.name))
          throw new Unsupported("version 2 of the strings extension answers otherwise");
        else if (section === "optionals" && lenientSelects.test(one.name))
          throw new Unsupported("optional selects find nothing in a value without fields");
        else failed.push(`${path}/${one.name}: ${one.original.expr}: ${why}`);
      } catch (error) {
        if (!(error instanceof Unsupported)) {
          failed.push(`${path}/${one.name}: ${one.original.expr}: threw ${String(error)}`);
          continue;
        }
        reasons.set(error.message, (reasons.get(error.message) ?? 0) + 1);
      }
    }
  };
  visit(getConformanceSuite(), "");
  const counts = Object.fromEntries(reasons);
  assert.deepEqual(failed, []);
  assert.deepEqual({ passed, ...counts }, recorded);
});
