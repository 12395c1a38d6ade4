/**
 * Bodies that are not quite right: bytes that are no text, texts that are no JSON or no YAML, and those that one
 * decoder takes and another does not. Each is sent to create a ConfigMap as JSON and as YAML, to apply one, and to
 * patch one in each form; the values are what was understood.
 */
import { type Case, get, post, type Step, type Suite } from "../exchange.ts";
import { definition, object, version } from "./definitions.ts";

const maps = "/api/v1/namespaces/{ns}/configmaps";
const dry = "dryRun=All&fieldManager=m";

/** `V`: the value of data's only key, as it stands in the text. */
const json = (value: string): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":${value}}}`;
const yaml = (value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: ${value}\n`;

const types = {
  json: "application/json",
  yaml: "application/yaml",
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  jsonPatch: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** `body`: each character is a byte. */
const create = (type: "json" | "yaml", body: string, query = dry): Step => ({
  ...post(`${maps}?${query}`, body),
  type: types[type],
  isBinary: true,
});
const change = (type: keyof typeof types, body: string, query = dry): Step => ({
  method: "PATCH",
  path: `${maps}/there?${query}`,
  type: types[type],
  body,
  isBinary: true,
});

/** JSON texts of a value. */
const jsonValues: readonly string[] = [
  `"plain"`,
  `"\xff"`,
  `"a\xc3"`,
  `"\xc3\x28"`,
  `"\xed\xa0\x80"`,
  `"\xf4\x90\x80\x80"`,
  `"\xc0\x80"`,
  `"\xc3\xa9"`,
  `"\xf0\x9f\x98\x80"`,
  `"\\ud800"`,
  `"\\ud83d\\ude00"`,
  `"\\ude00\\ud83d"`,
  `"\\ud800x"`,
  `"\\u0000"`,
  `"\\u001f"`,
  `"\x01"`,
  `"a\nb"`,
  `"a\tb"`,
  `"\x7f"`,
  `"\xc2\x80"`,
  `"\xc2\x85"`,
  `"\xe2\x80\xa8"`,
  `"\xef\xbb\xbf"`,
  `"\xef\xbf\xbe"`,
  `"\\/"`,
  `"\\x41"`,
  `"\\a"`,
  `"\\'"`,
  `"\\u12"`,
  `"\\u12G4"`,
  `"\\`,
  `"open`,
  `'single'`,
  `bare`,
  `True`,
  `NaN`,
  `Infinity`,
  `01`,
  `1.`,
  `.5`,
  `+1`,
  `0x10`,
  `1e400`,
  `-`,
  `[1,]`,
  `{"a":1,}`,
  `{"a" 1}`,
  `{a:1}`,
  `[1 2]`,
  `"a" // comment`,
  `/* c */ "a"`,
  `null`,
  `true`,
  `1`,
  `{}`,
  `[]`,
  `"<&>"`,
];

const jsonWhole: readonly string[] = [
  "",
  " ",
  "\n",
  "null",
  "true",
  "5",
  `"text"`,
  "[]",
  "{}",
  "{",
  "}",
  `${json('"a"')}x`,
  `${json('"a"')}${json('"b"')}`,
  `${json('"a"')}\n---\n${json('"b"')}`,
  `\xef\xbb\xbf${json('"a"')}`,
  `\xff\xfe{\0}\0`,
  `\xfe\xff\0{\0}`,
  `\t${json('"a"')}`,
  `${json('"a"')}\t\n`,
  `\v${json('"a"')}`,
  `\xc2\xa0${json('"a"')}`,
  json('"a"').replaceAll(":", " :\r\n"),
  json('"a"').replaceAll(",", "\n,\n"),
  json('"a"').replace(`"kind"`, `"Kind"`),
  json('"a"').replace(`"apiVersion":"v1",`, ""),
  json('"a"').replace(`"kind":"ConfigMap",`, ""),
  json('"a"').replace(`"kind":"ConfigMap"`, `"kind":"ConfigMap","kind":"Secret"`),
  json('"a"').replace(`"data"`, `"DATA"`),
  `[${json('"a"')}]`,
  `{"\xff":1,${json('"a"').slice(1)}`,
  `{"\\ud800":1,${json('"a"').slice(1)}`,
];

/** YAML texts of a value. */
const yamlValues: readonly string[] = [
  "plain",
  `"\xff"`,
  "\xff",
  "a\xc3",
  `"\xc3\xa9"`,
  "\xed\xa0\x80",
  "a\x01b",
  "a\x7fb",
  "a\xc2\x85b",
  "a\xe2\x80\xa8b",
  `"\\z"`,
  `"\\/"`,
  `"\\ud800"`,
  `"\\ud83d\\ude00"`,
  `"\\U0001F600"`,
  `"\\x4"`,
  `"\\xff"`,
  `"\\0"`,
  `"\\e"`,
  `"open`,
  `'open`,
  `'it''s'`,
  `"a\\\n    b"`,
  `!!str 5`,
  `!!int x`,
  `!!int 5`,
  `!!binary aGVsbG8=`,
  `!!binary /w==`,
  `!!binary !`,
  `!!binary |\n    aGVs\n    bG8=`,
  `!custom x`,
  `!e!x y`,
  `!<tag:yaml.org,2002:str> 5`,
  `! 5`,
  `!!float 1`,
  `!!null ''`,
  `!!timestamp x`,
  `!!python/object x`,
  `&a x`,
  `*a`,
  `&a [*a]`,
  `@x`,
  "`x",
  `%x`,
  `- x`,
  `a: b`,
  `[x`,
  `{x`,
  `{{ .Values.x }}`,
  `|\n    a\n   b`,
  `|\n\ta`,
  `|0\n    a`,
  `>\n    a\n    b`,
  `"a"b`,
  `x #c`,
  `2001-01-01`,
  `0x10`,
  `017`,
  `1_000`,
  `yes`,
  `~`,
  ``,
  `.inf`,
  `.nan`,
  `1e400`,
  `\t"a"`,
  `"a"\t`,
];

const yamlWhole: readonly string[] = [
  "",
  " ",
  "# nothing\n",
  "---\n",
  "---\n---\n",
  "...\n",
  "null",
  "5",
  "text",
  "- a\n",
  "{}",
  `---\n${yaml("a")}`,
  `${yaml("a")}---\n${yaml("b")}`,
  `${yaml("a")}...\n${yaml("b")}`,
  `${yaml("a")}...\n@`,
  `--- # c\n${yaml("a")}...\n`,
  `%YAML 1.1\n---\n${yaml("a")}`,
  `%YAML 1.2\n---\n${yaml("a")}`,
  `%FOO\n---\n${yaml("a")}`,
  `%TAG !e! tag:e,2000:\n---\n${yaml("!e!x y")}`,
  yaml("a").replaceAll("\n", "\r\n"),
  yaml("a").replaceAll("\n", "\r"),
  yaml("a").replaceAll("\n", "\xc2\x85"),
  `\xef\xbb\xbf${yaml("a")}`,
  wide(yaml("a"), "le"),
  wide(yaml("a"), "be"),
  `\xff\xfe${wide(yaml("a"), "le").slice(2, -1)}`,
  `\xff\xfea\0:\0 \0\0\xdc`,
  yaml("a").replace("  name", "\tname"),
  yaml("a").replace("kind: ", "kind:"),
  yaml("a").replace("kind", " kind"),
  yaml("a").replace("kind:", "kind"),
  yaml("a").replace("v1", "&v v1").replace("k: a", "k: *v"),
  yaml("a\n  k: b"),
  yaml("a\n  <<: {x: y, k: z}"),
  yaml("a\n  <<: 5"),
  yaml("a\n  1: b\n  true: c\n  1.5: d"),
  yaml("a\n  null: b"),
  yaml("a\n  ? [x]\n  : y"),
  yaml("a\n  ? {x: y}\n  : z"),
  yaml("a\n  18446744073709551615: b"),
  yaml(`a\n  ${"x".repeat(1030)}: b`),
  json('"a"'),
  json('"\\\\/"').replace("\\\\", "\\"),
  json('"a"').replaceAll(",", ",\n\t"),
  `${json('"a"')}\nx`,
  `${json('"a"')} # c`,
  `${yaml("a")}#${"x".repeat(600)}\xff`,
  `${yaml("a")}@${"x".repeat(600)}\xff`,
  `${yaml("a")}#\xc3`,
];

function wide(text: string, order: "le" | "be"): string {
  const bytes = Buffer.from(`\ufeff${text}`, "utf16le");
  return (order === "le" ? bytes : bytes.swap16()).toString("latin1");
}

const there: Step = post(maps, {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "there" },
  data: { k: "v" },
});
const named = (text: string): string =>
  text.replace("name: a", "name: there").replace(`"name":"a"`, `"name":"there"`);

const patches: readonly (readonly [keyof typeof types, string])[] = [
  ...[
    "",
    " ",
    "null",
    "5",
    `"x"`,
    "[]",
    "{",
    "{}x",
    `{"data":{"k":"\xff"}}`,
    `{"data":{"k":"\\ud800"}}`,
    `{"data":{"k":"\x01"}}`,
    `{"data":{"k":"\\x"}}`,
    `\xef\xbb\xbf{}`,
    `{}{}`,
  ].flatMap((body) =>
    (["merge", "jsonPatch", "strategic"] as const).map((type) => [type, body] as const),
  ),
  ["jsonPatch", `[{"op":"replace","path":"/data/k","value":"\xff"}]`],
  ["jsonPatch", `[{"op":"replace","path":"/data/k","value":"\\ud800"}]`],
  ["jsonPatch", `[{"op":"add","path":"/data/\xff","value":"x"}]`],
  ["jsonPatch", `[{"op":"test","path":"/data/k","value":"v"}] x`],
  ["jsonPatch", `[{"op":"test","path":"/data/k","value":"v"},]`],
  ["merge", `{"data":{"k":1e400}}`],
  ["merge", `{"data":{"\xff":"x"}}`],
  ["strategic", `{"data":{"\xff":"x"}}`],
];

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const customs = "/apis/schema.example.com/v1/namespaces/{ns}/bodieds";
const inCustom = (text: string): string =>
  text.replace("ConfigMap", "Bodied").replace("v1", "schema.example.com/v1");
const custom = (type: "json" | "yaml" | "apply", body: string): Step => ({
  method: type === "apply" ? "PATCH" : "POST",
  path: type === "apply" ? `${customs}/a?${dry}` : `${customs}?${dry}`,
  type: types[type],
  body: inCustom(body),
  isBinary: true,
});
const schema = object({ data: { type: "object", additionalProperties: { type: "string" } } });
const customValues = [`"a"`, `"\xff"`, `"\\ud800"`, `"\x01"`, `"\\x"`, "1", "null", "1e400"];
const customCase: Case = {
  name: "custom objects",
  steps: [
    post(definitions, definition("bodieds", [version("v1", schema)])),
    { ...get(customs), waitMs: 4_000 },
    ...customValues.map((value) => custom("json", json(value))),
    ...[...customValues, "!!binary /w==", "&a [*a]", "{{ x }}", ".inf"].flatMap((value) => [
      custom("yaml", yaml(value)),
      custom("apply", yaml(value)),
    ]),
    ...["", "null", "[]", "5", "{}", `\xef\xbb\xbf${json('"a"')}`, `${json('"a"')}x`].flatMap(
      (text) => [custom("json", text), custom("yaml", text), custom("apply", text)],
    ),
    custom("yaml", `${yaml("a")}---\n${yaml("b")}`),
    custom("yaml", wide(inCustom(yaml("a")), "le")),
  ],
};

export const bodies: Suite = {
  name: "bodies",
  cases: [
    { name: "JSON values", steps: jsonValues.map((value) => create("json", json(value))) },
    { name: "JSON texts", steps: jsonWhole.map((text) => create("json", text)) },
    {
      name: "JSON as YAML",
      steps: [...jsonValues.map(json), ...jsonWhole].map((text) => create("yaml", text)),
    },
    { name: "YAML values", steps: yamlValues.map((value) => create("yaml", yaml(value))) },
    { name: "YAML texts", steps: yamlWhole.map((text) => create("yaml", text)) },
    {
      name: "YAML as JSON",
      steps: ["a: b", yaml("a"), "---", "- a"].map((text) => create("json", text)),
    },
    {
      name: "strict",
      steps: [...yamlWhole.slice(-20), ...jsonWhole.slice(-10)].map((text) =>
        create("yaml", text, `${dry}&fieldValidation=Strict`),
      ),
    },
    {
      name: "applied values",
      steps: [there, ...yamlValues.map((value) => change("apply", named(yaml(value))))],
    },
    {
      name: "applied texts",
      steps: [
        there,
        ...[...yamlWhole, ...jsonValues.map(json)].map((text) => change("apply", named(text))),
      ],
    },
    { name: "patches", steps: [there, ...patches.map(([type, body]) => change(type, body))] },
    customCase,
  ],
};
