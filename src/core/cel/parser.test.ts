/** Nesting has one bound, whatever the tree is made of: nothing that walks it runs out of stack. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Environment } from "./environment.ts";
import { estimateCost } from "./estimate.ts";
import { dynType } from "./type.ts";

const environment = new Environment({ variables: new Map([["x", dynType]]) });
const variables = new Map([["x", null]]);

function nested(
  open: (level: number) => string,
  close: string,
  seed: string,
  levels: number,
): string {
  const opened = Array.from({ length: levels }, (_, level) => open(levels - level));
  return `${opened.join("")}${seed}${close.repeat(levels)}`;
}

const shapes: Readonly<Record<string, (levels: number) => string>> = {
  sums: (levels) => `1${" + 1".repeat(levels)}`,
  products: (levels) => `1${" * 1".repeat(levels)}`,
  relations: (levels) => `true${" == true".repeat(levels)}`,
  fields: (levels) => `x${".a".repeat(levels)}`,
  indexes: (levels) => `x${"[0]".repeat(levels)}`,
  methods: (levels) => `"a"${".lowerAscii()".repeat(levels)}`,
  folds: (levels) => `[1]${".map(i, i)".repeat(levels)}`,
  lists: (levels) => nested(() => "[", "]", "", levels),
  maps: (levels) => nested(() => "{1: ", "}", "1", levels),
  "folds in folds": (levels) => nested((level) => `[1].all(a${level}, `, ")", "true", levels),
  "lists in lists made": (levels) => nested((level) => `[1].map(a${level}, `, ")", "1", levels),
  optionals: (levels) =>
    nested((level) => `optional.of(1).optMap(a${level}, `, ").value()", "1", levels),
  conditions: (levels) => nested(() => "(true ? ", " : 1)", "1", levels),
  "long conjunctions": (levels) =>
    nested(() => `(true${" && true".repeat(4)} && `, ")", "true", levels),
};

for (const [name, shape] of Object.entries(shapes)) {
  test(`${name}: 50 levels are evaluated, 2,000 are refused`, () => {
    const compiled = environment.compile(shape(50));
    assert.equal(compiled.kind, "program");
    if (compiled.kind !== "program") return;
    estimateCost(compiled.program.checked, () => undefined);
    assert.ok(compiled.program.evaluate(variables));
    const refused = environment.compile(shape(2_000));
    assert.equal(refused.kind, "errors");
    assert.match(
      refused.kind === "errors" ? refused.message : "",
      /expression recursion limit exceeded: 250/,
    );
  });
}
