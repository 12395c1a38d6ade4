/**
 * Custom resources: definitions as large as a body may be, their first use, and rules that use up their budget.
 */
import { type Api, type Attack, filled, json } from "../attack.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

interface Schema {
  readonly [name: string]: unknown;
}

const int = { type: "integer" };
const text = { type: "string" };
const rules = (...texts: readonly string[]): Schema => ({
  "x-kubernetes-validations": texts.map((rule) => ({ rule })),
});
const ofSpec = (properties: Schema, rest: Schema = {}): Schema => ({
  type: "object",
  properties: { spec: { type: "object", properties, ...rest } },
});
const fields = (count: number, field: (index: number) => Schema): Schema =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, field(at)]));

/** As many versions as texts; the first is stored. */
function definition(group: string, ...schemas: readonly Schema[]): string {
  const versions = schemas.map((openAPIV3Schema, at) => ({
    name: `v${at + 1}`,
    served: true,
    storage: at === 0,
    schema: { openAPIV3Schema },
  }));
  const names = { plural: "things", singular: "thing", kind: "Thing" };
  return JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${group}` },
    spec: { group, scope: "Namespaced", names, versions },
  });
}

const pathOf = (group: string): string => `/apis/${group}/v1/namespaces/default/things`;

function thing(group: string, spec: Schema): string {
  return JSON.stringify({
    apiVersion: `${group}/v1`,
    kind: "Thing",
    metadata: { generateName: "t-" },
    spec,
  });
}

async function define(plane: Api, group: string, body: string): Promise<void> {
  const made = await plane.send({
    method: "POST",
    path: definitions,
    contentType: json,
    body: () => body,
  });
  if (made.status !== 201) throw new Error(`${made.status}: ${made.text.slice(0, 500)}`);
  for (let asked = 0; asked < 500; asked++) {
    const found = await plane.send({ method: "GET", path: `${pathOf(group)}?limit=1` });
    if (found.status === 200) return;
  }
  throw new Error(`${group} is not served`);
}

let groups = 0;

/** An object of its own definition. */
function ruled(name: string, spec: Schema, ...schemas: readonly Schema[]): Omit<Attack, "expect"> {
  const group = `rules${groups++}.example.com`;
  return {
    name,
    prepare: (plane) => define(plane, group, definition(group, ...schemas)),
    requests: [
      { method: "POST", path: pathOf(group), contentType: json, body: () => thing(group, spec) },
    ],
  };
}

function defined(name: string, ...schemas: readonly Schema[]): Omit<Attack, "expect"> {
  const group = `defined${groups++}.example.com`;
  return {
    name,
    requests: [
      {
        method: "POST",
        path: definitions,
        contentType: json,
        body: () => definition(group, ...schemas),
      },
    ],
  };
}

const list = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const bounded = (maxItems: number, items: Schema): Schema => ({ type: "array", maxItems, items });
const thousand = { numbers: bounded(1_000, int) };
const many = (count: number, rule: (index: number) => string): Schema =>
  rules(...Array.from({ length: count }, (_, at) => rule(at)));

/** What estimates do not see: an unbounded text is taken for a short one when it is only compared. */
const texts = { a: { ...text, maxLength: 1_000_000 }, b: { ...text, maxLength: 1_000_000 } };

export const definitionAttacks: readonly Attack[] = [
  {
    ...ruled(
      "a rule that uses up the budget of an evaluation",
      { numbers: list(1_000) },
      ofSpec(thousand, rules("self.numbers.all(a, self.numbers.all(b, a + b >= 0))")),
    ),
    expect: 422,
    says: "cost limit exceeded",
  },
  {
    ...ruled(
      "rules that use up the budget of an object",
      { numbers: list(250) },
      ofSpec(
        { numbers: bounded(250, int) },
        many(40, (at) => `self.numbers.all(a, self.numbers.all(b, a + b + ${at} >= 0))`),
      ),
    ),
    expect: 422,
    says: "running out of cost budget",
  },
  {
    ...ruled(
      "16,000 items with a rule each",
      { items: list(16_000).map((at) => ({ n: at })) },
      ofSpec({
        items: bounded(20_000, {
          type: "object",
          properties: { n: int },
          ...rules("self.n >= 0", "self.n < 1000000"),
        }),
      }),
    ),
    expect: 201,
  },
  {
    ...ruled(
      "a pattern over a text of a megabyte",
      { a: "ab".repeat(500_000), b: "" },
      ofSpec(texts, rules("self.a.matches('^(a|b|ab)*c$')")),
    ),
    expect: 422,
    says: "failed rule",
  },
  {
    ...ruled(
      "a large pattern over a text",
      { a: "a".repeat(20_000), b: "" },
      ofSpec(texts, rules("self.a.matches('(a?){900}b')")),
    ),
    expect: 422,
  },
  {
    ...ruled(
      "the sort of 20,000 texts",
      { texts: list(20_000).map((at) => `t${(at * 7919) % 20_000}`) },
      ofSpec(
        { texts: bounded(20_000, { ...text, maxLength: 8 }) },
        rules("[1, 2, 3].exists(n, dyn(self).texts.sort().size() < n)"),
      ),
    ),
    expect: [201, 422],
  },
  {
    ...ruled(
      "the first use of 4,000 rules",
      { n: 1 },
      ofSpec({
        n: {
          ...int,
          ...many(4_000, (at) => `self + ${at} > 0 && self < ${at} + 100000 || self == ${at}`),
        },
      }),
    ),
    expect: 201,
  },
  {
    ...ruled(
      "the first use of a schema of 4,000 fields with rules",
      { f1: "x" },
      ofSpec(fields(4_000, () => ({ ...text, maxLength: 10, ...rules("self != 'y'") }))),
    ),
    expect: 201,
  },
  {
    ...ruled(
      "the first use of a schema with 8,000 defaults",
      {},
      ofSpec(fields(8_000, (at) => ({ ...int, default: at }))),
    ),
    expect: 201,
  },
  {
    ...defined("a definition of 8,000 fields", ofSpec(fields(8_000, () => int))),
    expect: 201,
  },
  {
    ...defined(
      "a definition of 4,000 fields with rules",
      ofSpec(fields(4_000, () => ({ ...int, ...rules("self > 0") }))),
    ),
    expect: 201,
  },
  {
    ...defined(
      "a definition of 4,000 fields with defaults and rules",
      ofSpec(fields(4_000, (at) => ({ ...int, default: at, ...rules("self >= 0") }))),
    ),
    expect: 201,
  },
  {
    ...defined(
      "a definition whose rules are as long as they may be",
      ofSpec({
        n: {
          ...int,
          ...many(
            4_000,
            (at) =>
              `self + ${at} > 0 && self < ${at} + 100000 || self == ${at} && ${"true && ".repeat(8)} true`,
          ),
        },
      }),
    ),
    expect: [201, 422],
  },
  {
    ...defined(
      "a definition whose rules do not compile",
      ofSpec({ n: { ...int, ...many(4_000, (at) => `self.x${at} + > 0`) } }),
    ),
    expect: 422,
  },
  {
    ...defined(
      "a definition with a hundred versions",
      ...Array.from({ length: 100 }, (_, at) =>
        ofSpec(fields(40, () => ({ ...int, ...rules(`self > ${at}`) }))),
      ),
    ),
    expect: 201,
  },
  {
    ...defined(
      "a definition of four versions of 2,000 fields, all wrong",
      ...list(4).map(() => ofSpec(fields(2_000, () => ({ type: "nothing", maximum: "x" })))),
    ),
    expect: [400, 422],
  },
  {
    ...defined(
      "a definition of 40 lists of deep objects",
      ofSpec(fields(40, (at) => bounded(3, nested(12, { ...int, ...rules(`self > ${at}`) })))),
    ),
    expect: [201, 422],
  },
  {
    ...defined(
      "a definition nested 100 deep, with a rule at each level",
      ofSpec({ deep: nested(100, int, (at) => rules(`has(self.d) || ${at} > 0`)) }),
    ),
    expect: [201, 422],
  },
  {
    ...defined(
      "a definition with patterns that take long to compile",
      ofSpec(
        { a: { ...text, maxLength: 100 } },
        many(200, (at) => `self.a.matches('(a${at}?){900}')`),
      ),
    ),
    expect: [201, 422],
  },
  {
    ...defined(
      "a definition with an enumeration of 60,000 values",
      ofSpec({
        a: { ...text, enum: list(60_000).map((at) => `value${at}`) },
      }),
    ),
    expect: [201, 422],
  },
  {
    ...defined(
      "a definition of 500 patterns that take long to compile",
      ofSpec(fields(500, (at) => ({ ...text, pattern: `(a${at}){800}` }))),
    ),
    expect: 422,
    says: "the patterns of one schema have more than",
  },
  {
    ...ruled(
      "the first use of patterns that take long to compile",
      Object.fromEntries(list(10).map((at) => [`f${at}`, "b"])),
      ofSpec(fields(10, (at) => ({ ...text, pattern: `(a${at}){700}` }))),
    ),
    expect: 422,
    says: "should match",
  },
  {
    ...ruled(
      "a large pattern of a schema over a text",
      { a: "a".repeat(200_000) },
      ofSpec({ a: { ...text, pattern: "(a?){900}b" } }),
    ),
    expect: 422,
    says: "takes more work to validate",
  },
  {
    ...ruled(
      "a thousand alternatives for each of a thousand items",
      { items: list(1_000) },
      ofSpec({
        items: {
          type: "array",
          items: {
            "x-kubernetes-int-or-string": true,
            anyOf: list(1_000).map((at) => ({ minimum: at + 1_000 })),
          },
        },
      }),
    ),
    expect: 422,
    says: "takes more work to validate",
  },
  {
    ...ruled(
      "a set of 4,000 items, and a keyed list of as many",
      { set: list(4_000).map(String), map: list(4_000).map((at) => ({ n: `${at}` })) },
      ofSpec({
        set: { type: "array", items: text, "x-kubernetes-list-type": "set" },
        map: {
          type: "array",
          items: { type: "object", properties: { n: text }, required: ["n"] },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["n"],
        },
      }),
    ),
    expect: [201, 413],
  },
  {
    name: "an update of a definition of 4,000 fields with rules",
    prepare: (plane) =>
      define(
        plane,
        "updated.example.com",
        definition(
          "updated.example.com",
          ofSpec(fields(4_000, () => ({ ...int, ...rules("self > 0") }))),
        ),
      ),
    requests: [
      {
        method: "PATCH",
        path: `${definitions}/things.updated.example.com`,
        contentType: "application/merge-patch+json",
        body: () => JSON.stringify({ spec: { names: { shortNames: ["tg"] } } }),
      },
      { method: "GET", path: "/openapi/v3/apis/updated.example.com/v1" },
      { method: "GET", path: `${pathOf("updated.example.com")}?limit=10` },
      {
        method: "GET",
        path: `${definitions}/things.updated.example.com`,
      },
    ],
    expect: 200,
  },
  {
    name: "a server-side apply of 8,000 fields of a definition",
    prepare: (plane) =>
      define(
        plane,
        "applied.example.com",
        definition("applied.example.com", ofSpec(fields(8_000, () => int))),
      ),
    requests: [
      {
        method: "PATCH",
        path: `${pathOf("applied.example.com")}/one?fieldManager=f`,
        contentType: "application/apply-patch+yaml",
        body: () =>
          filled(
            `{"apiVersion":"applied.example.com/v1","kind":"Thing","metadata":{"name":"one"},"spec":{`,
            (at) => `"f${at}":${at}`,
            "}}",
            { countMax: 8_000 },
          ),
      },
    ],
    expect: 201,
  },
];

/** `leaf` below so many objects of one field. */
function nested(depth: number, leaf: Schema, more: (at: number) => Schema = () => ({})): Schema {
  let schema = leaf;
  for (let at = 0; at < depth; at++) {
    schema = { type: "object", properties: { d: schema }, ...more(at) };
  }
  return schema;
}
