/** YAML: scalars of YAML 1.1, repeated keys, bounds. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseYaml, parseYamlDocument, parseYamlThatIsJson, repeatedKeysMessage } from "./yaml.ts";
import { yamlSource } from "./yaml/source.ts";

const limits = { bytesMax: 1 << 20, depthMax: 64, aliasMax: 100 };

function valueOf(text: string): unknown {
  const result = parseYaml(text, limits);
  assert.ok(result.kind === "ok", result.kind === "error" ? result.message : "");
  return result.value;
}

function errorOf(text: string): string {
  const result = parseYaml(text, limits);
  return result.kind === "error" ? result.message : "";
}

test("scalars are read as go-yaml v2 reads them", () => {
  const cases: Readonly<Record<string, unknown>> = {
    yes: true,
    y: true,
    Off: false,
    n: false,
    true: true,
    "~": null,
    "": null,
    "0777": 511,
    "0o17": 15,
    "0x1F": 31,
    "0b101": 5,
    "-0b101": -5,
    "1_000": 1000,
    "08": 8,
    "-12": -12,
    "1.5": 1.5,
    ".5": 0.5,
    "1e3": 1000,
    "2026-01-02": "2026-01-02",
    "2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z",
    "1:30": "1:30",
    "10Gi": "10Gi",
    "1.2.3": "1.2.3",
    '"yes"': "yes",
    "'1'": "1",
    "!!str 12": "12",
    nope: "nope",
  };
  for (const [text, value] of Object.entries(cases)) {
    assert.deepEqual(valueOf(`a: ${text}`), { a: value }, text);
  }
});

test("keys become strings", () => {
  assert.deepEqual(valueOf("on: 1\n2: b\ntrue: c\n"), { true: "c", 2: "b" });
  assert.match(errorOf("[a]: 1"), /invalid map key/);
});

test("a manifest comes out as its JSON", () => {
  const text = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {x: "1"}}
data:
  script: |
    one
    two
  folded: >-
    a
    b
list:
- a
- - b
`;
  assert.deepEqual(valueOf(text), {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", labels: { x: "1" } },
    data: { script: "one\ntwo\n", folded: "a b" },
    list: ["a", ["b"]],
  });
});

test("JSON is YAML, and its repeated keys are told as YAML's", () => {
  const result = parseYaml('{"a":1,"b":{"c":1,\n"c":2}}', limits);
  assert.ok(result.kind === "ok");
  assert.deepEqual(result.repeatedKeys, ['line 2: key "c" already set in map']);
  assert.deepEqual(valueOf("{a: 1, b: [x, z]}"), { a: 1, b: ["x", "z"] });
});

test("JSON that YAML reads otherwise is read as YAML", () => {
  assert.match(errorOf('{"a":"\\/"}'), /unknown escape character/);
  assert.match(errorOf('{"a":"\\ud83d\\ude00"}'), /invalid Unicode character/);
  assert.match(errorOf(`{"${"k".repeat(1030)}":1}`), /did not find expected ',' or '}'/);
  assert.match(errorOf('{"a":"\u007f"}'), /control characters/);
  assert.deepEqual(valueOf('{"a":"x\u0085y"}'), { a: "x y" });
});

test("paths are in the order of their keys, whatever the order of the text", () => {
  const result = parseYaml('{"b":1,"a":[{"d":1},{"c":1}]}', limits);
  assert.ok(result.kind === "ok");
  const paths = [["b"], ["a", 1, "c"], ["a", 0, "d"], ["a"]];
  assert.deepEqual(result.duplicates?.ordersOf(paths), [3, 2, 1, 0]);
});

test("repeated keys keep the last value and are told by line", () => {
  const result = parseYaml("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", limits);
  assert.ok(result.kind === "ok");
  assert.deepEqual(result.value, { a: 3, b: { c: 2 } });
  assert.equal(
    repeatedKeysMessage(result.repeatedKeys ?? []),
    'yaml: unmarshal errors:\n  line 4: key "c" already set in map\n  line 5: key "a" already set in map',
  );
});

test("anchors and merge keys are followed", () => {
  const text = "base: &base {a: 1, b: 2}\nuse:\n  <<: *base\n  b: 3\nagain: *base\n";
  assert.deepEqual(valueOf(text), {
    base: { a: 1, b: 2 },
    use: { a: 1, b: 3 },
    again: { a: 1, b: 2 },
  });
});

test("an alias bomb is refused", () => {
  const lines = ["a0: &a0 [x]"];
  for (let i = 1; i < 12; i++) {
    lines.push(`a${i}: &a${i} [${Array.from({ length: 9 }, () => `*a${i - 1}`).join(",")}]`);
  }
  assert.equal(errorOf(lines.join("\n")), "yaml: document contains excessive aliasing");
});

test("an alias to an enclosing node is refused", () => {
  assert.match(errorOf("a: &a\n  b: *a\n"), /^yaml: /);
});

test("size, depth, several documents, infinities and broken texts are refused", () => {
  assert.match(errorOf(`a: ${"x".repeat(limits.bytesMax)}`), /exceeds the limit/);
  assert.match(errorOf(`a: ${"[".repeat(70)}${"]".repeat(70)}`), /exceeded max depth/);
  assert.match(errorOf("[".repeat(20_000)), /^yaml: /);
  assert.match(errorOf("a: 1\n---\nb: 2\n"), /single document/);
  assert.match(errorOf("a: .inf"), /unsupported value/);
  assert.match(errorOf("\n\na: [1, 2"), /^yaml: line 3: did not find expected ',' or ']'$/);
  assert.match(errorOf("a: b: c"), /^yaml: mapping values are not allowed in this context$/);
});

test("a text of nothing is null", () => {
  assert.equal(valueOf(""), null);
  assert.equal(valueOf("# only a comment\n"), null);
});

test("__proto__ is a key like any other", () => {
  assert.ok(Object.hasOwn(valueOf("__proto__: 1\n") as object, "__proto__"));
});

interface Recorded {
  /** The bytes, as latin1. */
  readonly text: string;
  readonly error?: string;
  readonly json?: unknown;
  /** What a strict reading says. */
  readonly strict?: string;
}

test("texts of all kinds are read, and refused, as sigs.k8s.io/yaml does", () => {
  const lines = readFileSync(new URL("testdata/go-yaml.jsonl", import.meta.url), "utf8").trim();
  for (const line of lines.split("\n")) {
    const { text, error, json, strict } = JSON.parse(line) as Recorded;
    const bytes = Buffer.from(text, "latin1");
    const result = parseYamlDocument(yamlSource(bytes), { ...limits, depthMax: 5000 });
    const said = result.kind === "ok" ? undefined : result.message;
    assert.equal(said, error, line);
    if (result.kind !== "ok") continue;
    assert.equal(JSON.stringify(result.value), JSON.stringify(json), line);
    const repeated = result.repeatedKeys ?? [];
    assert.equal(repeated.length === 0 ? undefined : repeatedKeysMessage(repeated), strict, line);
  }
});

test("a text that is read the short way is read the same", () => {
  const lines = readFileSync(new URL("testdata/go-yaml.jsonl", import.meta.url), "utf8").trim();
  for (const line of lines.split("\n")) {
    const { text, json } = JSON.parse(line) as Recorded;
    const source = yamlSource(Buffer.from(text, "latin1"));
    const short = source.fault === undefined ? parseYamlThatIsJson(source.text, limits) : undefined;
    if (short !== undefined)
      assert.deepEqual(short.kind === "ok" ? short.value : short, json, line);
  }
});
