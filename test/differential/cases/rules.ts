/** Rules of custom resources (x-kubernetes-validations): of definitions, and what they say of objects. */
import { type AnyStep, type Case, get, patch, post, type Suite } from "../exchange.ts";
import { definition, object, version } from "./definitions.ts";

type Json = Readonly<Record<string, unknown>>;

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const text = { type: "string" };
const short = { type: "string", maxLength: 10 };
const int = { type: "integer" };
const rules = (...list: readonly (Json | string)[]): Json => ({
  "x-kubernetes-validations": list.map((one) => (typeof one === "string" ? { rule: one } : one)),
});
const list = (items: Json, rest: Json = {}): Json => ({ type: "array", items, ...rest });
const keyed = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] };
const map = (additionalProperties: Json, rest: Json = {}): Json => ({
  type: "object",
  additionalProperties,
  ...rest,
});
const spec = (properties: Json, ...list: readonly (Json | string)[]): Json =>
  object({ spec: object(properties, list.length === 0 ? {} : rules(...list)) });

/** The server takes a moment until it serves a new definition. */
const servedAfterMs = 4_000;

function defined(name: string, schemas: readonly Json[]): Case {
  const create = (schema: Json): AnyStep =>
    post(`${definitionsPath}?dryRun=All`, definition("widgets", [version("v1", schema)]));
  return { name, steps: schemas.map(create) };
}

const compiling = defined("rules that do not compile", [
  spec({ a: text }, "self.a == "),
  spec({ a: text }, "self.b == 'x'"),
  spec({ a: text }, "self.a"),
  spec({ a: text }, "self.a.size()"),
  spec({ a: text }, "nothing"),
  spec({ a: text }, "self.a.matches('(')"),
  spec({ a: text }, "duration('x') > duration('1s')"),
  spec({ a: text }, "timestamp('x') > timestamp('2020-01-01T00:00:00Z')"),
  spec({ a: text }, "self.a in ['a', 1]"),
  spec({ a: text }, "'%s %d'.format(['a', 1]) == self.a"),
  spec({ a: text }, { rule: "size(self.a) > 1", message: "too short" }),
  spec({ a: text }, { rule: "has(self.a)", messageExpression: "self.b" }),
  spec({ a: text }, { rule: "has(self.a)", messageExpression: "1 + 2" }),
  spec({ a: text }, { rule: "has(self.a)", messageExpression: "'no ' + " }),
  spec({ a: text }, { rule: "self.x\n", message: "m" }),
  spec({ a: text }, { rule: "has(self.a)", reason: "Nothing" }),
  spec({ a: text }, { rule: "has(self.a)", fieldPath: ".b" }),
  spec({ a: text }, { rule: "has(self.a)", fieldPath: ".a" }),
  spec({ a: text }, { rule: "true", optionalOldSelf: true }),
  spec({ a: text }, { rule: "true", optionalOldSelf: false }),
  spec({ a: text }, { rule: "oldSelf.hasValue()", optionalOldSelf: true }),
  spec({ a: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }, "has(self.a.b)"),
  spec({ a: { "x-kubernetes-preserve-unknown-fields": true } }, "has(self.a)"),
  spec({ a: { "x-kubernetes-preserve-unknown-fields": true, ...rules("true") } }),
  spec({ "a-b": text, namespace: text, __proto__: text }, "has(self.a__dash__b) && has(self.__namespace__)"), // prettier-ignore
  object({ spec: object({ a: text }) }, rules("self.metadata.name.startsWith('a')")),
  object({ spec: object({ a: text }) }, rules("self.metadata.labels.size() > 0")),
  spec({ a: { ...text, default: "b", ...rules("self == 'a'") } }),
  spec({ a: { ...text, default: "a", ...rules("self == 'a'") } }),
  spec({ a: { ...text, nullable: true, ...rules({ rule: "self == 'a'", message: "is a" }) } }),
]);

const oldSelf = defined("places where oldSelf may stand", [
  spec({ a: list({ ...short, ...rules("self == oldSelf") }, { maxItems: 3 }) }),
  spec({
    a: list({ ...short, ...rules("self == oldSelf") }, { maxItems: 3, "x-kubernetes-list-type": "set" }), // prettier-ignore
  }),
  spec({
    a: list(object({ k: short }, { required: ["k"], ...rules("self.k == oldSelf.k") }), {
      maxItems: 3,
      ...keyed,
    }),
  }),
  spec({ a: map({ ...short, ...rules("self == oldSelf") }, { maxProperties: 3 }) }),
]);

const costs = defined("rules that cost too much", [
  spec({ a: list(text) }, "self.a.all(x, self.a.all(y, x == y))"),
  spec({ a: list(text) }, "self.a.all(x, x.contains('abc'))"),
  spec({ a: list({ ...text, ...rules("self.contains('abc')") }) }),
  spec({ a: list({ ...short, ...rules("self.contains('abc')") }) }),
  spec({ a: list({ ...short, ...rules("self.contains('abc')") }, { maxItems: 5 }) }),
  spec({ a: map({ ...text, ...rules("self.matches('[a-z]+')") }) }),
  spec({ a: map({ ...short, ...rules("self.matches('[a-z]+')") }, { maxProperties: 100_000 }) }),
  spec({ a: list(int, { maxItems: 1000 }) }, "self.a.all(x, self.a.all(y, x == y))"),
  spec({ a: list(int, { maxItems: 10_000 }) }, "self.a.all(x, self.a.all(y, x == y))"),
  spec({ a: text }, { rule: "has(self.a)", messageExpression: "self.a + self.a" }),
  spec(
    { a: list(text, { maxItems: 100 }) },
    { rule: "has(self.a)", messageExpression: "self.a.map(x, self.a[0]).join(',')" },
  ),
  spec({ a: { type: "string", format: "date-time" }, b: { type: "string", format: "duration" } }, "self.a > timestamp('2020-01-01T00:00:00Z') && self.b > duration('1s')"), // prettier-ignore
  spec({ a: { "x-kubernetes-int-or-string": true } }, "self.a == 1 || self.a == '1'"),
  spec({ a: list({ type: "string", format: "date" }) }, "self.a.all(x, x == self.a[0])"),
  spec(
    { a: list(int, { maxItems: 1700 }) },
    ...Array.from({ length: 12 }, () => "self.a.all(x, self.a.exists(y, x == y))"),
  ),
]);

function namesOf(plural: string): readonly [string, string] {
  const kind = `${plural.slice(0, 1).toUpperCase()}${plural.slice(1, -1)}`;
  return [kind, `/apis/schema.example.com/v1/namespaces/{ns}/${plural}`];
}

function objectOf(plural: string, spec: unknown, rest: Json = {}): Json {
  const [kind] = namesOf(plural);
  return { apiVersion: "schema.example.com/v1", kind, metadata: { name: "one" }, spec, ...rest };
}

const subjects = object(
  {
    spec: object(
      {
        min: int,
        max: int,
        name: { ...text, ...rules("self.startsWith('n')") },
        mixed: { "x-kubernetes-int-or-string": true },
        maybe: { ...text, nullable: true, ...rules("self == 'yes'") },
        items: list(object({ k: short, v: int }, { required: ["k"], ...rules({ rule: "self.v > 0", message: " v is too small " }) }), { maxItems: 10, ...keyed }), // prettier-ignore
        map: map({ ...int, ...rules("self < 10") }, { maxProperties: 10 }),
        forbidden: { ...int, ...rules({ rule: "self == 0", reason: "FieldValueForbidden" }) },
        required: { ...int, ...rules({ rule: "self == 0", reason: "FieldValueRequired" }) },
        duplicate: { ...int, ...rules({ rule: "self == 0", reason: "FieldValueDuplicate" }) },
        path: object(
          { a: int, b: map(int) },
          rules(
            { rule: "!has(self.a) || self.a < 5", fieldPath: ".a" },
            { rule: "!has(self.b) || !('x.y' in self.b)", fieldPath: ".b['x.y']" },
          ),
        ),
        told: {
          ...int,
          ...rules({ rule: "self < 5", messageExpression: "self > 7 ? 'is large' : ' is small '" }),
        },
        told2: { ...int, ...rules({ rule: "self < 5", message: "m", messageExpression: "['a'][self]" }) }, // prettier-ignore
        told3: { ...int, ...rules({ rule: "self < 5", messageExpression: "''" }) },
        told4: { ...int, ...rules({ rule: "self < 5", messageExpression: "'a\\nb'" }) },
        divided: { ...int, ...rules("10 / self > 1") },
        when: { type: "string", format: "date-time", ...rules("self.getFullYear() > 2000") },
        data: { type: "string", format: "byte", ...rules("size(self) > 2") },
      },
      rules("!has(self.min) || !has(self.max) || self.min <= self.max", {
        rule: "!has(self.mixed) || type(self.mixed) == string || self.mixed > 5",
      }),
    ),
  },
  rules("self.metadata.name != 'bad'"),
);

const objects: Case = {
  name: "objects under rules",
  steps: [
    post(definitionsPath, definition("subjects", [version("v1", subjects)])),
    get(namesOf("subjects")[1], { waitMs: servedAfterMs }),
    ...[
      { min: 1, max: 2, name: "n", mixed: "x", maybe: null },
      { min: 3, max: 2 },
      { name: "x" },
      { mixed: 3 },
      { mixed: 6 },
      { maybe: "no" },
      {
        items: [
          { k: "a", v: 1 },
          { k: "b", v: 0 },
        ],
      },
      { items: [{ k: "a" }] },
      { map: { a: 1, "b.c": 10 } },
      { forbidden: 1 },
      { required: 1 },
      { duplicate: 1 },
      { path: { a: 6 } },
      { path: { b: { "x.y": 1 } } },
      { told: 6 },
      { told2: 6 },
      { told3: 6 },
      { told4: 6 },
      { divided: 0 },
      { when: "1999-01-01T00:00:00Z" },
      { data: "YQ==" },
      { name: "x", min: "text" },
      { name: 1 },
    ].map((one) => post(`${namesOf("subjects")[1]}?dryRun=All`, objectOf("subjects", one))),
    post(
      `${namesOf("subjects")[1]}?dryRun=All`,
      objectOf("subjects", {}, { metadata: { name: "bad" } }),
    ),
  ],
};

const changing = object({
  spec: object(
    {
      fixed: { ...int, ...rules({ rule: "self == oldSelf", message: "fixed is immutable" }) },
      grows: { ...int, ...rules({ rule: "!oldSelf.hasValue() || self > oldSelf.value()", optionalOldSelf: true }) }, // prettier-ignore
      first: { ...int, ...rules({ rule: "oldSelf.hasValue() || self == 1", optionalOldSelf: true }) }, // prettier-ignore
      items: list(object({ k: short, v: int }, { required: ["k"], ...rules("self.v >= oldSelf.v") }), { maxItems: 5, ...keyed }), // prettier-ignore
      map: map({ ...int, ...rules("self >= oldSelf") }, { maxProperties: 5 }),
      told: { ...int, ...rules({ rule: "self == oldSelf", messageExpression: "oldSelf == 1 ? 'was one' : 'was another'" }) }, // prettier-ignore
    },
    rules("!has(oldSelf.fixed) || has(self.fixed)"),
  ),
  status: object({ n: { ...int, ...rules("self >= oldSelf") } }),
});

const changingPath = namesOf("changings")[1];
const change = (one: Json): ReturnType<typeof patch> =>
  patch("merge", `${changingPath}/one?dryRun=All`, { spec: one });
const transitions: Case = {
  name: "transition rules",
  steps: [
    post(
      definitionsPath,
      definition("changings", [version("v1", changing, { subresources: { status: {} } })]),
    ),
    get(changingPath, { waitMs: servedAfterMs }),
    post(`${changingPath}?dryRun=All`, objectOf("changings", { first: 2 })),
    post(
      changingPath,
      objectOf("changings", {
        fixed: 1,
        grows: 1,
        first: 1,
        told: 1,
        items: [{ k: "a", v: 5 }],
        map: { a: 5 },
      }),
    ),
    change({ fixed: 2, grows: 2 }),
    change({ fixed: null, grows: 2 }),
    change({ grows: 1 }),
    change({ grows: 2 }),
    change({ grows: 2, told: 2 }),
    change({
      grows: 2,
      items: [
        { k: "b", v: 1 },
        { k: "a", v: 4 },
      ],
    }),
    change({ grows: 2, items: [{ k: "b", v: 1 }] }),
    change({ grows: 2, map: { a: 4 } }),
    change({ grows: 2, map: { b: 4 } }),
    change({ grows: 2, first: 9 }),
    patch("merge", `${changingPath}/one/status?dryRun=All`, { status: { n: 1 } }),
  ],
};

const loose = spec({ a: text, b: text, l: list(object({ k: short, v: text }), { maxItems: 5 }) });
const tight = spec(
  {
    a: { ...short, ...rules("self.startsWith('x')") },
    b: short,
    l: list(object({ k: short, v: { ...short, ...rules("self.startsWith('x')") } }), {
      maxItems: 5,
    }),
  },
  "self.b != 'y' || self.a == 'z'",
);
const ratchetPath = namesOf("ruledratchets")[1];
const ratchet = (one: Json): ReturnType<typeof patch> =>
  patch("merge", `${ratchetPath}/one?dryRun=All`, { spec: one });
const ratchetTwo = (one: Json): ReturnType<typeof patch> =>
  patch("merge", `${ratchetPath}/two?dryRun=All`, { spec: one });
const ratcheting: Case = {
  name: "values that rules came for later",
  steps: [
    post(definitionsPath, definition("ruledratchets", [version("v1", loose)])),
    get(ratchetPath, { waitMs: servedAfterMs }),
    post(ratchetPath, objectOf("ruledratchets", { a: "a", b: "b" })),
    post(
      ratchetPath,
      objectOf("ruledratchets", { a: "x", b: "b", l: [{ k: "k", v: "v" }] }, { metadata: { name: "two" } }), // prettier-ignore
    ),
    patch("merge", `${definitionsPath}/ruledratchets.schema.example.com`, {
      spec: { versions: [version("v1", tight)] },
    }),
    { ...ratchet({ b: "c" }), waitMs: servedAfterMs },
    ratchet({ b: "y" }),
    ratchet({ a: "b" }),
    ratchet({ a: "xb" }),
    ratchetTwo({ b: "c" }),
    ratchetTwo({ b: "y" }),
    ratchetTwo({ l: [{ k: "k2", v: "v" }] }),
    patch("merge", `${ratchetPath}/one?dryRun=All`, { metadata: { labels: { a: "b" } } }),
  ],
};

const expensive = spec({ a: list(text) }, "self.a.all(x, x.contains('abc'))");
const written: Case = {
  name: "definitions that change",
  steps: [
    post(definitionsPath, definition("spendings", [version("v1", spec({ a: list(text) }))])),
    patch("merge", `${definitionsPath}/spendings.schema.example.com?dryRun=All`, {
      spec: { versions: [version("v1", expensive)] },
    }),
    patch("merge", `${definitionsPath}/spendings.schema.example.com?dryRun=All`, {
      spec: { versions: [version("v1", spec({ a: text }, "self.b"))] },
    }),
    post(
      `${definitionsPath}?dryRun=All`,
      definition("widgets", [
        version("v1", spec({ a: text }, "self.a != ''")),
        version("v2", spec({ a: text }, "self.c")),
      ]),
    ),
    post(
      `${definitionsPath}?dryRun=All`,
      definition("widgets", [
        version("v1", spec({ a: text }, "self.c")),
        version("v2", spec({ a: text }, "self.c")),
      ]),
    ),
  ],
};

export const ruledResources: Suite = {
  name: "rules",
  cases: [compiling, oldSelf, costs, objects, transitions, ratcheting, written],
};
