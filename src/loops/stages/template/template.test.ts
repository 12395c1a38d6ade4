/** Templates as Go's text/template runs them, with kwok's and sprig's functions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { TemplateError } from "./budget.ts";
import { hasStageFunction, type StageFacts, stageFunctions } from "./functions.ts";
import { parseTemplate } from "./parser.ts";
import { runTemplate } from "./run.ts";

const facts: StageFacts = {
  nowMs: 0,
  startMs: 0,
  version: "v1",
  nodeIp: () => "10.0.0.1",
  nodeName: () => "node-0",
  nodePort: () => 10_250,
  nodeIpWith: (name) => `ip-of-${name}`,
  podIpWith: (name, isHostNetwork, uid) => `${name}/${isHostNetwork}/${uid}`,
};
const limits = { stepsMax: 1_000, charsMax: 10_000 };

function run(text: string, data: unknown = {}): string {
  return runTemplate(parseTemplate(text, hasStageFunction), data, stageFunctions(facts), limits);
}

const pod = {
  metadata: { name: "web", labels: { b: "2", a: "1" }, constructor: "own" },
  spec: { containers: [{ name: "c1" }, { name: "c2" }], replicas: 3 },
};

const cases: readonly (readonly [text: string, output: string])[] = [
  ["a {{ .metadata.name }} b", "a web b"],
  ["a  {{- .metadata.name -}}  b", "awebb"],
  ["{{/* nothing */}}x{{- /* nothing */ -}} y", "xy"],
  ["{{ .absent }}{{ .absent.below }}", "<no value><no value>"],
  ["{{ if .absent }}1{{ else if .metadata }}2{{ else }}3{{ end }}", "2"],
  ["{{ with .metadata.name }}{{ . }}{{ else }}none{{ end }}", "web"],
  ["{{ with .absent }}{{ . }}{{ else }}none{{ end }}", "none"],
  ["{{ range .spec.containers }}{{ .name }},{{ end }}", "c1,c2,"],
  ["{{ range $i, $c := .spec.containers }}{{ $i }}={{ $c.name }};{{ end }}", "0=c1;1=c2;"],
  ["{{ range $k, $v := .metadata.labels }}{{ $k }}{{ $v }}{{ end }}", "a1b2"],
  ["{{ range .absent }}x{{ else }}empty{{ end }}", "empty"],
  [
    "{{ range 5 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}",
    "02",
  ],
  ["{{ $n := 1 }}{{ if true }}{{ $n = 2 }}{{ end }}{{ $n }}", "2"],
  ["{{ $root := . }}{{ range .spec.containers }}{{ $root.metadata.name }}{{ end }}", "webweb"],
  ["{{ (index .spec.containers 1).name }}", "c2"],
  ['{{ index .metadata.labels "a" }}{{ index .metadata "labels" "b" }}', "12"],
  ['{{ or .absent "" "x" }}{{ and true "y" }}{{ not 0 }}', "xytrue"],
  ["{{ or .metadata.name (index .spec.containers 9) }}", "web"],
  [
    '{{ printf "%s-%05d-%q-%v" "a" 42 "b" .spec.containers }}',
    'a-00042-"b"-[map[name:c1] map[name:c2]]',
  ],
  [
    '{{ define "x" }}<{{ . }}>{{ end }}{{ template "x" .metadata.name }}{{ template "x" 1 }}',
    "<web><1>",
  ],
  ['{{ block "y" .metadata }}{{ .name }}{{ end }}', "web"],
  [
    "{{ 'a' }} {{ 0x10 }} {{ -3 }} {{ 1.5 }} {{ `raw\\n` }} {{ \"\\u00e9\\n\" }}",
    "97 16 -3 1.5 raw\\n é\n",
  ],
  ['{{ eq 1 2 1 }}{{ ne 1 2 }}{{ lt 1 2 }}{{ ge "b" "a" }}', "truetruetruetrue"],
  ['{{ len .spec.containers }}{{ len "é" }}', "22"],
  ["{{ .spec.replicas | add 1 | mul 2 }}", "8"],
  ['{{ "a,b" | splitList "," | join "-" | upper | quote }}', '"A-B"'],
  ['{{ default "d" .absent }}{{ ternary 1 2 true }}{{ coalesce "" "c" }}', "d1c"],
  [
    '{{ $d := dict "k" "v" "__proto__" 1 }}{{ $d.k }}{{ get $d "__proto__" }}{{ hasKey $d "toString" }}',
    "v1false",
  ],
  ["{{ .metadata.constructor }}{{ .toString }}", "own<no value>"],
  ['{{ Quote "a\\"b" }}{{ Quote 5 }}{{ Quote .absent }}', '"a\\"b""5""null"'],
  [
    "{{ Now }} {{ Version }} {{ NodeIP }} {{ NodeName }} {{ NodePort }}",
    "1970-01-01T00:00:00.000Z v1 10.0.0.1 node-0 10250",
  ],
  ['{{ NodeIPWith "n" }} {{ PodIPWith "n" false "u" "p" "ns" }}', "ip-of-n n/false/u"],
  [
    "{{ range NodeConditions }}{{ .type }} {{ end }}",
    "Ready MemoryPressure DiskPressure PIDPressure NetworkUnavailable ",
  ],
  ["a:{{ YAML .spec 1 }}", "a:\n  containers:\n  - name: c1\n  - name: c2\n  replicas: 3\n  "],
  ['{{ toJson .metadata.labels }}{{ (fromJson `{"x":[1]}`).x }}', '{"b":"2","a":"1"}[1]'],
  [
    '{{ "x" | indent 2 }}{{ "a\\nb" | nindent 1 }}{{ trunc 2 "abc" }}{{ repeat 3 "z" }}',
    "  x\n a\n babzzz",
  ],
];

for (const [text, output] of cases) {
  test(`template ${text.slice(0, 90)}`, () => assert.equal(run(text, pod), output));
}

const refused: readonly (readonly [text: string, message: RegExp])[] = [
  ["{{ .a", /unclosed action/],
  ["{{ if .a }}", /without \{\{end\}\}/],
  ["{{ end }}", /unexpected \{\{end\}\}/],
  ["{{ nothing 1 }}", /function "nothing" not defined/],
  ["{{ $x }}", /undefined variable "\$x"/],
  ["{{ break }}", /outside \{\{range\}\}/],
  ["{{ .a 1 }}", /non-function/],
  ["{{ index .a 1 }}", /index of untyped nil/],
  ['{{ template "t" }}', /template "t" not defined/],
  ["{{ env `HOME` }}", /function "env" not defined/],
  ["{{ div 1 0 }}", /division by zero/],
  ["{{ fail `so` }}", /error calling fail: so/],
  [`${"{{ if true }}".repeat(101)}${"{{ end }}".repeat(101)}`, /nested deeper than 100/],
  [`{{ ${"(".repeat(101)}1${")".repeat(101)} }}`, /nested deeper than 100/],
];

for (const [text, message] of refused) {
  test(`template ${text.slice(0, 60)} is refused`, () => {
    assert.throws(
      () => run(text),
      (error) => error instanceof TemplateError && message.test(error.message),
    );
  });
}
