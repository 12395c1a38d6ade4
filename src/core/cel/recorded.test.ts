/** Values by a schema (lists of type set and map, absent and undeclared fields) and costs: as Kubernetes 1.36.3 answered. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Environment } from "./environment.ts";
import { estimateCost } from "./estimate.ts";
import { jsonValue } from "./json-values.ts";
import {
  listItems,
  mapEntries,
  OptionalValue,
  stringForm,
  Timestamp,
  TypeValue,
  type Value,
} from "./libraries/values.ts";
import { ObjectValue } from "./object-value.ts";
import { type Schema, type SchemaNode, schemaNode, schemaTypes } from "./schema-types.ts";
import { schemaSizes } from "./schema-sizes.ts";

interface World {
  readonly node: SchemaNode;
  readonly self: unknown;
  readonly environment: Environment;
}

function show(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number")
    return `double(${value.toExponential().replace(/e\+(\d)$/, "e+0$1")})`;
  if (value instanceof Timestamp) return `timestamp(${stringForm(value)})`;
  if (value instanceof OptionalValue) {
    return value.inner === undefined ? "optional.none()" : `optional.of(${show(value.inner)})`;
  }
  if (value instanceof TypeValue) return `type(${value.name})`;
  if (value instanceof ObjectValue) {
    const fields = value.names().map((name) => `${show(name)}:${show(value.field(name) ?? null)}`);
    return `{${fields.sort().join(",")}}`;
  }
  const items = listItems(value);
  if (items !== undefined) return `[${items.map(show).join(",")}]`;
  const entries = mapEntries(value)?.map(([key, one]) => `${show(key)}:${show(one)}`);
  return entries === undefined ? (stringForm(value) ?? "null") : `{${entries.sort().join(",")}}`;
}

function answer({ node, self, environment }: World, expression: string): string {
  const compiled = environment.compile(expression);
  if (compiled.kind === "errors") return compiled.message.replace("compilation failed: ", "");
  const { program } = compiled;
  const outcome = program.evaluate(new Map([["self", jsonValue(self, node)]]));
  if (outcome.kind === "error") return `error: ${outcome.message}`;
  const { min, max } = estimateCost(program.checked, schemaSizes(node));
  return `${show(outcome.value)}\ncost ${outcome.cost} of ${min}..${max}`;
}

function worldOf(text: string): World {
  const [schema, self] = text.split("\n").map((line) => JSON.parse(line) as unknown);
  const node = schemaNode(schema as Schema, "selfType"); // as it was recorded
  assert.ok(node);
  const variables = new Map([["self", node.type]]);
  return { node, self, environment: new Environment({ variables, types: schemaTypes([node]) }) };
}

for (const name of ["list-types", "costs", "formats", "random"]) {
  const file = readFileSync(new URL(`testdata/${name}.txt`, import.meta.url), "utf8");
  const [, world = "", ...cases] = file.trimEnd().split("\n\n");
  const recorded = worldOf(world);
  for (const one of cases) {
    const [expression = "", , ...expected] = one.split("\n");
    test(`${name}: ${expression} is what Kubernetes 1.36.3 makes of it`, () => {
      assert.equal(answer(recorded, expression), expected.join("\n"));
    });
  }
}

test("values without a declared type are refused as Kubernetes 1.36.3 refuses them", () => {
  const file = readFileSync(new URL("testdata/dynamic.txt", import.meta.url), "utf8");
  const environment = new Environment({ variables: new Map() });
  for (const line of file.trimEnd().split("\n").slice(1)) {
    const [expression = "", expected] = line.split(" => ");
    const compiled = environment.compile(expression);
    assert.ok(compiled.kind === "program", expression);
    const outcome = compiled.program.evaluate(new Map());
    assert.equal(outcome.kind === "value" ? "ok" : `error: ${outcome.message}`, expected, line);
  }
});

test("no cost of a call is beyond the limit of its evaluation, whatever its arguments are", () => {
  const wrong = ["'s'", "1u", "1.5", "[1]"].flatMap((value) => [
    `lists.range(dyn(${value}))`,
    `[[1]].flatten(dyn(${value}))`,
    `[1].slice(dyn(${value}), 1)`,
  ]);
  const list = `[${Array.from({ length: 60 }, (_, at) => at).join(",")}]`;
  const long = `${list}.all(a, ${list}.all(b, ${list}.all(c, ${list}.all(d, a + b + c + d >= 0))))`;
  for (const call of wrong) {
    const compiled = new Environment({ variables: new Map() }).compile(`${call} == [] || ${long}`);
    assert.ok(compiled.kind === "program", call);
    const outcome = compiled.program.evaluate(new Map(), 10_000);
    assert.equal(outcome.kind === "error" && outcome.message, costMessage, call);
  }
});

const costMessage = "operation cancelled: actual cost limit exceeded";
