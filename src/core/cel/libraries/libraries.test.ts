/** Expressions and what Kubernetes 1.36.3 made of them (testdata), library by library. */
import { deepEqual, equal } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { Environment } from "../environment.ts";
import { estimateCost } from "../estimate.ts";
import { authorizerValue } from "./authorizer-library.ts";
import type { AccessCheck } from "./authorizer-library.ts";
import type { Range } from "./cost-range.ts";
import { jsonPatchLibrary } from "./jsonpatch-library.ts";
import { listOf, types } from "./library.ts";
import {
  Duration,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  listItems,
  listValue,
  mapEntries,
  printValue,
  stringForm,
  typeName,
} from "./values.ts";
import type { Value } from "./values.ts";

interface Case {
  readonly expression: string;
  readonly answer: string;
  readonly cost: string;
}

function readCases(name: string): Case[] {
  const text = readFileSync(new URL(`testdata/${name}.txt`, import.meta.url), "utf8");
  return text
    .split("\n\n")
    .filter((block) => !block.startsWith("#"))
    .map((block) => {
      const [expression = "", , answer = "", cost = ""] = block.trimEnd().split("\n");
      return { expression, answer, cost };
    });
}

const small: Range = { min: 0, max: 10 };
const variables = {
  authorizer: { value: authorizerValue(decide) },
  text: { value: "abcdefghij", size: small },
  texts: { value: listValue(["bb", "a", "ccc"]), size: small },
  ints: { value: listValue([3n, 1n, 2n]) },
  any: { value: listValue([1n, "a", 2.5]) },
};

/** The authorizer of the recording: the verb decides, the reason shows what was asked. */
function decide(check: AccessCheck): ReturnType<Parameters<typeof authorizerValue>[0]> {
  const reason = describeCheck(check);
  if (check.verb === "fail") return { allowed: false, reason, error: "the authorizer failed" };
  return { allowed: check.verb !== "deny" && check.verb !== "none", reason };
}

function describeCheck(check: AccessCheck): string {
  const { subject } = check;
  const account = `system:serviceaccount:${subject?.namespace}:${subject?.serviceAccount}`;
  const groups = `system:serviceaccounts,system:serviceaccounts:${subject?.namespace}`;
  const user = subject === undefined ? "alice groups=devs" : `${account} groups=${groups}`;
  const own = check.kind === "resource" ? check.resource : undefined;
  const fields = own?.fieldSelector?.requirements.map(
    ({ field, operator, value }) => `{${operator} ${field} ${value}}`,
  );
  return [
    `user=${user} verb=${check.verb} resource=${own !== undefined} group=${own?.group ?? ""}`,
    `version=${own === undefined ? "" : "*"} res=${own?.resource ?? ""} sub=${own?.subresource ?? ""}`,
    `ns=${own?.namespace ?? ""} name=${own?.name ?? ""}`,
    `path=${check.kind === "path" ? check.path : ""} fields=[${fields?.join(" ") ?? ""}] <nil>`,
    `labels= <nil>`,
  ].join(" ");
}

function render(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null) return "null";
  if (typeof value === "number") return `double(${renderDouble(value)})`;
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Uint8Array) return `bytes(${Buffer.from(value).toString("hex")})`;
  if (value instanceof Duration) return `duration(${value.nanos})`;
  if (value instanceof Timestamp) return `timestamp(${stringForm(value)})`;
  if (value instanceof TypeValue) return `type(${value.name})`;
  if (value instanceof OptionalValue) {
    return value.inner === undefined ? "optional.none()" : `optional.of(${render(value.inner)})`;
  }
  const items = listItems(value);
  if (items !== undefined) return `[${items.map(render).join(",")}]`;
  const entries = mapEntries(value)?.map(([key, inner]) => `${render(key)}:${render(inner)}`);
  if (entries !== undefined) return `{${entries.sort().join(",")}}`;
  return stringForm(value) ?? renderOpaque(value);
}

function renderDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

const shortNames: ReadonlyMap<string, string> = new Map([
  ["kubernetes.URL", "url"],
  ["net.IP", "ip"],
  ["net.CIDR", "cidr"],
  ["kubernetes.Quantity", "quantity"],
  ["kubernetes.Semver", "semver"],
  ["kubernetes.NamedFormat", "format"],
]);

function renderOpaque(value: Value): string {
  return `${shortNames.get(typeName(value)) ?? "other"}(${printValue(value)})`;
}

/** Estimates above 2^53 are not exact: they are compared by their first digits. */
function roundCosts(text: string): string {
  return text.replace(/\d{16,}/g, (digits) => Number(digits).toPrecision(12));
}

const environment = new Environment({
  variables: new Map([
    ["authorizer", types.authorizer],
    ["text", types.string],
    ["texts", listOf(types.string)],
    ["ints", listOf(types.int)],
    ["any", listOf(types.dyn)],
  ]),
  libraries: [jsonPatchLibrary],
});
const values = new Map<string, Value>(
  Object.entries(variables).map(([name, { value }]) => [name, value]),
);
const sizes = new Map([
  ["text", small],
  ["texts", small],
]);

/** A failed evaluation has no cost here: the calls before the failure are not kept. */
function answer(expression: string): { answer: string; cost: string } {
  const compiled = environment.compile(expression);
  if (compiled.kind === "errors") return { answer: `refused: ${compiled.message}`, cost: "" };
  const { program } = compiled;
  const outcome = program.evaluate(values);
  if (outcome.kind === "error") return { answer: `error: ${outcome.message}`, cost: "" };
  const estimate = estimateCost(program.checked, ({ path }) => sizes.get(path?.[0] ?? ""));
  const bounds = `${BigInt(estimate.min)}..${BigInt(estimate.max)}`;
  return { answer: render(outcome.value), cost: `cost ${outcome.cost} of ${bounds}` };
}

const names = [
  "urls",
  "regex",
  "lists",
  "list-extension",
  "sets",
  "quantity",
  "ip",
  "cidr",
  "semver",
  "format",
  "strings",
  "string-format",
  "authorizer",
];

describe("every library answers as Kubernetes 1.36.3 does", () => {
  for (const name of names) {
    it(`${name}: results and error texts`, () => {
      const cases = readCases(name);
      const wrong = cases
        .map(({ expression, answer: expected }) => ({
          expression,
          expected,
          actual: answer(expression).answer,
        }))
        .filter(({ expected, actual }) => expected !== actual);
      deepEqual(wrong, []);
      equal(cases.length > 10, true);
    });

    it(`${name}: run-time cost and estimate`, () => {
      const wrong = readCases(name)
        .filter(({ answer: expected }) => !expected.startsWith("error: "))
        .map(({ expression, cost: expected }) => ({
          expression,
          expected,
          actual: answer(expression).cost,
        }))
        .filter(({ expected, actual }) => roundCosts(expected) !== roundCosts(actual));
      deepEqual(wrong, []);
    });
  }
});

it("a run-time cost exceeds its estimate only for validate(), as upstream's does", () => {
  const over = names
    .flatMap(readCases)
    .filter(({ cost }) => {
      const [, actual, most] = /^cost ([0-9]+) of [0-9]+\.\.([0-9]+)$/.exec(cost) ?? [];
      return actual !== undefined && BigInt(actual) > BigInt(most ?? 0);
    })
    .filter(({ expression }) => !expression.includes(".validate("));
  deepEqual(over, []);
});
