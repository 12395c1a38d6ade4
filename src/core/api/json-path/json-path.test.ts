/** JSONPath against what client-go does, recorded. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  findValues,
  firstValue,
  JsonPathError,
  parseJsonPath,
  parseTemplate,
  printTemplate,
  templateProblem,
} from "./json-path.ts";

/** First line the data, then what client-go v0.36.3 (AllowMissingKeys) prints or says of each template. */
const lines = readFileSync(new URL("./testdata/json-path.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case & { data: unknown });

interface Case {
  readonly path: string;
  readonly output?: string;
  readonly error?: string;
}

function run(path: string, data: unknown): Omit<Case, "path"> {
  try {
    return { output: printTemplate(parseTemplate(path), data) };
  } catch (error) {
    assert(error instanceof JsonPathError, String(error));
    return { error: error.message };
  }
}

describe("json path", () => {
  it("prints and refuses what client-go prints and refuses", () => {
    const [{ data } = { data: undefined }, ...cases] = lines;
    assert(cases.length > 150);
    for (const { path, output = "", error } of cases) {
      const expected = error === undefined ? { output } : { error };
      assert.deepEqual(run(path, data), expected, path);
    }
  });

  it("gives values, not texts, to who asks for values", () => {
    const object = { a: [{ b: 1 }, { b: null }, {}, { b: "x" }], c: { y: 2, x: 1 } };
    assert.deepEqual(findValues(parseJsonPath(".a[*].b"), object), [1, null, "x"]);
    assert.deepEqual(findValues(parseJsonPath(".c.*"), object), [1, 2], "key order");
    assert.equal(firstValue(parseJsonPath(".c"), object), object.c);
    assert.equal(firstValue(parseJsonPath(".1.5"), object), undefined);
  });

  it("shows nothing in a column whose path leads nowhere or fails", () => {
    const object = { list: [] };
    for (const text of [".x", ".list[0]", ".list.x", ".x[?(@.a>1)]", "hello"]) {
      assert.equal(firstValue(parseJsonPath(text), object), undefined, text);
    }
  });

  it("says before it runs what can never run", () => {
    const problem = (text: string): string | undefined => templateProblem(parseTemplate(text));
    assert.equal(problem("{.a}{range .b[*]}{.c}{end}"), undefined);
    assert.equal(problem("{hello}"), "unrecognized identifier hello");
    assert.equal(problem("{end}"), "not in range, nothing to end");
    assert.equal(problem("{range .a[*]}{.b}"), "range without end");
  });

  it("does not read inherited members", () => {
    assert.deepEqual(findValues(parseJsonPath(".constructor.name"), {}), []);
  });
});
