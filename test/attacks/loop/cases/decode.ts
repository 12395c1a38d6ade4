/** Bodies that are dear to decode: JSON and YAML up to the limit of 3 MiB. */
import { type Attack, bodyBytesMax, filled, json, yaml } from "../attack.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const strict = `${configMaps}?fieldValidation=Strict`;

function post(
  name: string,
  expect: Attack["expect"],
  body: () => string,
  options: { readonly type?: string; readonly path?: string } = {},
): Attack {
  const { type: contentType = json, path = configMaps } = options;
  // A list of statuses says that any refusal will do; a number alone is what it must be.
  const statuses = typeof expect === "number" ? expect : [...expect, 400, 409, 413, 422, 500];
  return { name, requests: [{ method: "POST", path, contentType, body }], expect: statuses };
}

const named = (name: string): string => `{"metadata":{"name":"${name}"},`;
const nested = (open: string, middle: string, close: string, depth: number): string =>
  open.repeat(depth) + middle + close.repeat(depth);

/** A value inside an annotation-free object: unknown to the kind, so it is parsed and dropped. */
const unknownValue = (value: string): string => `${named(`dropped-${dropped++}`)}"x":${value}}`;
let dropped = 0;

const jsonAttacks: readonly Attack[] = [
  post(
    "JSON with 300,000 unknown fields",
    [400, 413],
    () => filled(named("unknown"), (i) => `"f${i}":1`, "}"),
    { path: strict },
  ),
  post("JSON with many unknown fields, warned of", [201, 413], () =>
    filled(named("warned"), (i) => `"f${i}":1`, "}"),
  ),
  post(
    "JSON with many duplicate keys",
    [400, 413],
    () => filled(`${named("twice")}"data":{`, (i) => `"k${i >> 1}":"v"`, "}}"),
    { path: strict },
  ),
  post(
    "JSON with one duplicate key among many",
    [400, 413],
    () => filled(`${named("once")}"data":{"k":"","k":"",`, (i) => `"k${i}":""`, "}}"),
    { path: strict },
  ),
  post("JSON of empty arrays", [201, 413], () =>
    filled(`${named("arrays")}"x":[`, () => "[]", "]}"),
  ),
  post("JSON of nested empty arrays", [201, 413], () =>
    filled(`${named("arrays2")}"x":[`, () => "[[],[[]]]", "]}"),
  ),
  post("JSON of empty objects", [201, 413], () =>
    filled(`${named("objects")}"x":[`, () => "{}", "]}"),
  ),
  post("JSON of objects of different shapes", [201, 413], () =>
    filled(`${named("shapes")}"x":[`, (i) => `{"a${i}":0,"b${i}":0}`, "]}"),
  ),
  post("JSON of objects in an object", [201, 413], () =>
    filled(`${named("maps")}"x":{`, (i) => `"${i.toString(36)}":{}`, "}}"),
  ),
  post("JSON of digits", [201, 413], () => filled(`${named("digits")}"x":[`, () => "0", "]}")),
  post("JSON of floating numbers", [201, 413], () =>
    filled(`${named("floats")}"x":[`, (i) => `${i}.12345678901234567e-300`, "]}"),
  ),
  post("JSON with a number of 3 MB", [201, 400, 413], () =>
    unknownValue("1".repeat(bodyBytesMax - 100)),
  ),
  post("JSON with 60,000 integers of 19 digits", 201, () =>
    unknownValue(`[${repeated("9007199254740993001")}]`),
  ),
  post("JSON with 60,000 numbers that are no integers", 201, () =>
    unknownValue(`[${repeated("1.50e3")}]`),
  ),
  post("JSON with a string of escapes", [201, 413], () =>
    unknownValue(`"${String.raw`\u0041`.repeat(bodyBytesMax / 6 - 20)}"`),
  ),
  post("JSON with a string of backslashes", [201, 413], () =>
    unknownValue(`"${String.raw`\\`.repeat(bodyBytesMax / 2 - 50)}"`),
  ),
  post("JSON with many short strings of escapes", [201, 413], () =>
    filled(`${named("escapes")}"x":[`, () => String.raw`"\n"`, "]}"),
  ),
  post(
    "JSON that never closes a string of escaped quotes",
    400,
    () => `{"a":"${String.raw`\"`.repeat(bodyBytesMax / 2 - 10)}`,
  ),
  post("JSON of quotes", 400, () => '"'.repeat(bodyBytesMax)),
  post("JSON of white space", [400, 413], () => " ".repeat(bodyBytesMax)),
  post("JSON that breaks at its last byte", [400, 413], () => filled(`{"x":[`, () => "1", "]")),
  post("JSON that breaks after many keys", [400, 413], () =>
    filled(`{`, (i) => `"abc${i}":{"d":1}`, ""),
  ),
  post("JSON nested 9,000 deep", 400, () => `{"x":${nested("[", "", "]", 9_000)}`),
  post("well-formed JSON nested 9,000 deep", [201, 400], () =>
    unknownValue(nested("[", "", "]", 9_000)),
  ),
  post(
    "JSON nested 9,000 deep in objects, strictly",
    400,
    () => unknownValue(nested('{"a":', "1", "}", 9_000)),
    { path: strict },
  ),
  post(
    "JSON nested 9,000 deep with a duplicate at the end",
    400,
    () => unknownValue(nested('{"a":', '{"b":1,"b":2}', "}", 9_000)),
    { path: strict },
  ),
  post("JSON nested 10,001 deep", 400, () => unknownValue(nested("[", "", "]", 10_001))),
  post("JSON nested a million deep", 400, () => unknownValue(nested("[", "", "]", 1_000_000))),
  post("a ConfigMap of 200,000 empty values", [201, 413, 500], () =>
    filled(`${named("empty-values")}"data":{`, (i) => `"k${i}":""`, "}}"),
  ),
  post("a ConfigMap of keys as large as the store takes", [201, 413, 500], () =>
    filled(`${named("fits")}"data":{`, (i) => `"k${i}":""`, "}}", { bytesMax: 600_000 }),
  ),
  post("a ConfigMap of nulls", [201, 413], () =>
    filled(`${named("nulls")}"data":{`, (i) => `"k${i}":null`, "}}"),
  ),
  post("a ConfigMap of wrong keys", [422, 413], () =>
    filled(`${named("wrong")}"data":{`, (i) => `"/${i}":""`, "}}"),
  ),
  post(
    "a ConfigMap of 3 MB in one value",
    [413, 500],
    () => `${named("one")}"data":{"k":"${"x".repeat(bodyBytesMax - 100)}"}}`,
  ),
  post(
    "a ConfigMap of 1 MB in one value",
    201,
    () => `${named("one-mb")}"data":{"k":"${"é".repeat(500_000)}"}}`,
  ),
  post("many labels", [201, 422, 413], () =>
    filled(`{"metadata":{"name":"labels","labels":{`, (i) => `"l${i}":""`, "}}}"),
  ),
  post("many annotations", [201, 422, 413], () =>
    filled(`{"metadata":{"name":"annotations","annotations":{`, (i) => `"l${i}":""`, "}}}"),
  ),
  post("many owner references", [201, 422, 413], () =>
    filled(`{"metadata":{"name":"owners","ownerReferences":[`, () => "{}", "]}}"),
  ),
  post("many finalizers", [201, 422, 413], () =>
    filled(`{"metadata":{"name":"finalizers","finalizers":[`, (i) => `"a${i}"`, "]}}"),
  ),
  post("managedFields of many keys", [201, 400, 413, 422], () =>
    filled(
      `{"metadata":{"name":"managed","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{`,
      (i) => `"f:${i}":{}`,
      "}}}]}}",
    ),
  ),
  post(
    "Strict findings with long paths",
    [400, 413],
    () =>
      unknownValue(
        nested(
          `{"${"a".repeat(200)}":`,
          filled("{", (i) => `"k":${i % 9}`, "}", { bytesMax: 10_000 }),
          "}",
          9_000,
        ),
      ),
    { path: strict },
  ),
];

const pods = "/api/v1/namespaces/default/pods";
const podAttacks: readonly Attack[] = [
  post(
    "a pod of many containers",
    [422, 413],
    () => filled(`${named("containers")}"spec":{"containers":[`, () => "{}", "]}}"),
    { path: pods },
  ),
  post(
    "a pod of many environment variables",
    [422, 413],
    () =>
      filled(
        `${named("env")}"spec":{"containers":[{"name":"c","image":"i","env":[`,
        (i) => `{"name":"e${i}"}`,
        "]}]}}",
      ),
    { path: pods },
  ),
  post(
    "a pod of many volumes",
    [422, 413],
    () =>
      filled(
        `${named("volumes")}"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[`,
        (i) => `{"name":"v${i}"}`,
        "]}}",
      ),
    { path: pods },
  ),
  post(
    "a pod of many tolerations",
    [201, 422, 413],
    () =>
      filled(
        `${named("tolerations")}"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[`,
        () => "{}",
        "]}}",
      ),
    { path: pods },
  ),
  post(
    "a pod of quantities",
    [422, 413],
    () =>
      filled(
        `${named("quantities")}"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{`,
        (i) => `"a.b/c${i}":"1e3"`,
        "}}}]}}",
      ),
    { path: pods },
  ),
  post(
    "a quantity of a million digits",
    [400, 422, 413],
    () =>
      `${named("digits")}"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"${"9".repeat(3_000_000)}"}}}]}}`,
    { path: pods },
  ),
  post(
    "a quantity of an exponent of a million digits",
    [400, 422, 413],
    () =>
      `${named("exponent")}"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1e${"9".repeat(3_000_000)}"}}}]}}`,
    { path: pods },
  ),
  post(
    "an EndpointSlice of many endpoints",
    [201, 422, 413],
    () =>
      filled(
        `${named("slice")}"addressType":"IPv4","ports":[],"endpoints":[`,
        () => `{"addresses":["1.1.1.1"]}`,
        "]}",
      ),
    { path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices" },
  ),
  post(
    "Endpoints of many addresses",
    [201, 422, 413],
    () =>
      filled(
        `${named("endpoints")}"subsets":[{"ports":[{"port":1}],"addresses":[`,
        (i) => `{"ip":"10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}"}`,
        "]}]}",
      ),
    { path: "/api/v1/namespaces/default/endpoints" },
  ),
  post(
    "Endpoints of many subsets",
    [201, 422, 413],
    () =>
      filled(
        `${named("subsets")}"subsets":[`,
        (i) => `{"addresses":[{"ip":"1.1.1.1"}],"ports":[{"port":${i % 60_000}}]}`,
        "]}",
      ),
    { path: "/api/v1/namespaces/default/endpoints" },
  ),
  post(
    "a NetworkPolicy of many rules",
    [201, 422, 413],
    () => filled(`${named("rules")}"spec":{"podSelector":{},"ingress":[`, () => "{}", "]}}"),
    { path: "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies" },
  ),
  post(
    "an Ingress of many paths",
    [201, 422, 413],
    () =>
      filled(
        `${named("paths")}"spec":{"rules":[{"http":{"paths":[`,
        (i) =>
          `{"path":"/${i}","pathType":"Exact","backend":{"service":{"name":"a","port":{"number":1}}}}`,
        "]}}]}}",
      ),
    { path: "/apis/networking.k8s.io/v1/namespaces/default/ingresses" },
  ),
  post(
    "a Service of many ports",
    [201, 422, 413],
    () =>
      filled(
        `${named("ports")}"spec":{"ports":[`,
        (i) => `{"name":"p${i}","port":${1 + (i % 65_000)}}`,
        "]}}",
      ),
    { path: "/api/v1/namespaces/default/services" },
  ),
  post(
    "a Secret of many keys",
    [201, 422, 413, 500],
    () => filled(`${named("secret")}"data":{`, (i) => `"k${i}":""`, "}}"),
    { path: "/api/v1/namespaces/default/secrets" },
  ),
  post(
    "a Secret of one large value",
    [201, 422, 413, 500],
    () => `${named("secret-large")}"data":{"k":"${"QUJD".repeat(260_000)}"}}`,
    { path: "/api/v1/namespaces/default/secrets" },
  ),
  post(
    "a ControllerRevision of much data",
    [201, 413, 422, 500],
    () => filled(`${named("revision")}"revision":1,"data":{"x":[`, () => "{}", "]}}"),
    { path: "/apis/apps/v1/namespaces/default/controllerrevisions" },
  ),
  post(
    "a ControllerRevision nested 9,000 deep",
    [400, 422],
    () => `${named("deep")}"revision":1,"data":${nested('{"a":', "1", "}", 9_000)}}`,
    { path: "/apis/apps/v1/namespaces/default/controllerrevisions" },
  ),
  post(
    "a ControllerRevision nested 9,000 deep as YAML",
    400,
    () => `metadata: {name: deep}\nrevision: 1\ndata: ${nested("{a: ", "1", "}", 9_000)}\n`,
    { path: "/apis/apps/v1/namespaces/default/controllerrevisions", type: yaml },
  ),
];

const yamlAttacks: readonly Attack[] = [
  post(
    "YAML with 290,000 complex keys",
    [400, 413],
    () => filled("", (i) => `? [${i}]\n: 1\n`, "", { separator: "" }),
    { type: yaml },
  ),
  post(
    "YAML with many keys",
    [201, 413, 400],
    () => filled("metadata:\n  name: y\ndata:\n", (i) => `  k${i}: v\n`, "", { separator: "" }),
    { type: yaml },
  ),
  post(
    "YAML with many repeated keys",
    [400, 413],
    () => filled("metadata:\n  name: y\ndata:\n", () => `  k: v\n`, "", { separator: "" }),
    { type: yaml, path: strict },
  ),
  post("YAML of dashes", [400, 413], () => "- ".repeat(bodyBytesMax / 2), { type: yaml }),
  post("YAML of brackets", [400, 413], () => "[".repeat(bodyBytesMax), { type: yaml }),
  post(
    "YAML flow of brackets after a key",
    [400, 413],
    () => `a: ${"[".repeat(bodyBytesMax - 3)}`,
    { type: yaml },
  ),
  post("YAML of documents", [400, 413], () => "---\n".repeat(bodyBytesMax / 4), { type: yaml }),
  post(
    "YAML of anchors and aliases",
    [400, 413],
    () => filled("a: &a [x]\nb: [", () => "*a", "]\n"),
    { type: yaml },
  ),
  post(
    "YAML of a billion laughs",
    [400, 413],
    () =>
      Array.from(
        { length: 20 },
        (_, i) =>
          `a${i}: &a${i} [${
            i === 0
              ? "x"
              : Array(9)
                  .fill(`*a${i - 1}`)
                  .join(",")
          }]\n`,
      ).join(""),
    { type: yaml },
  ),
  post(
    "YAML of anchors",
    [400, 413],
    () => filled("", (i) => `&a${i} b${i}: 1\n`, "", { separator: "" }),
    { type: yaml },
  ),
  post(
    "YAML of many merge keys",
    [400, 413],
    () => filled("x: &x {a: b}\ny:\n", () => "  <<: *x\n", "", { separator: "" }),
    { type: yaml },
  ),
  post("YAML of comments", [400, 413], () => "#\n".repeat(bodyBytesMax / 2), { type: yaml }),
  post("YAML of one long plain scalar", [400, 413], () => "a ".repeat(bodyBytesMax / 2), {
    type: yaml,
  }),
  post(
    "YAML of one folded scalar",
    [201, 400, 413, 500],
    () =>
      filled("metadata: {name: folded}\ndata:\n  k: >\n", () => "    a\n\n", "", { separator: "" }),
    { type: yaml },
  ),
  post(
    "YAML of double quotes and escapes",
    [201, 400, 413, 500],
    () => `data: {k: "${String.raw`\x41`.repeat(bodyBytesMax / 4 - 10)}"}`,
    { type: yaml },
  ),
  post(
    "YAML of tags",
    [400, 413],
    () => filled("", (i) => `? !<tag:a${i}> b\n`, "", { separator: "" }),
    { type: yaml },
  ),
  post("YAML of tabs", [400, 413], () => "\t".repeat(bodyBytesMax), { type: yaml }),
  post("YAML of line breaks", [400, 413], () => "\n".repeat(bodyBytesMax), { type: yaml }),
  post(
    "YAML of digits that are numbers of base 60",
    [400, 413],
    () => `a: ${"1:".repeat(bodyBytesMax / 2 - 5)}1`,
    { type: yaml },
  ),
  post("YAML of underscores", [400, 413], () => `a: 1${"_".repeat(bodyBytesMax - 10)}`, {
    type: yaml,
  }),
  post(
    "JSON sent as YAML that breaks at its end",
    [400, 413],
    () => filled("[", (i) => `{"a${i}":1}`, ""),
    { type: yaml },
  ),
];

export const decodeAttacks: readonly Attack[] = [...jsonAttacks, ...podAttacks, ...yamlAttacks];

function repeated(value: string): string {
  return Array.from({ length: 60_000 }, () => value).join(",");
}
