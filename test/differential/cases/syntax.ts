/** CEL expressions that do not parse: the texts, positions and caret lines of the commonest mistakes. */
import { type Case, post, type Suite } from "../exchange.ts";

/** Of a policy and of a rule alike; `object` of the first is `self` of the second. */
const wrong: readonly string[] = [
  // Brackets.
  "(1 == 1",
  "1 == 1)",
  "[1, 2",
  "[1, 2]]",
  "{'a': 1",
  "{'a': 1}}",
  "{'a' 1}",
  "{'a':}",
  "size('a'",
  "size('a', )",
  "size(, 'a')",
  "[1,, 2]",
  "[,]",
  "{,}",
  "()",
  "[1][0",
  "[1, 2,]",
  "'a'[",
  // Operands and operators.
  "1 ==",
  "== 1",
  "1 +",
  "* 2 == 4",
  "1 = 1",
  "1 === 1",
  "true &&",
  "&& true",
  "true || ",
  "true & true",
  "true | false",
  "true ?",
  "true ? 1",
  "true ? 1 :",
  "true : false",
  "1 <> 2",
  "1 == 1 == ",
  "2 ^ 3",
  "~1",
  "true and false",
  "not true",
  "1 2",
  "'a' 'b'",
  "x -> x",
  "a => b",
  "true;",
  "a := 1",
  "1 == 1 // comment\n +",
  // Names.
  "a in",
  "in a",
  "null.a.",
  "as",
  "break == 1",
  "for",
  "function",
  "let x = 1",
  "if",
  "namespace == 'a'",
  "return true",
  "package.x",
  "var",
  "void",
  "while",
  "import",
  "loop",
  "else",
  "const",
  "continue",
  // Members.
  "a.",
  ".a.",
  "a..b",
  "a.?",
  "a.?b.",
  "a[?",
  "a.1",
  "a.'b'",
  "a.b(",
  "a.b.c(.)",
  "[1].all(x)",
  "[1].all(x, )",
  "[1].all(1, true)",
  "[1].exists(x.y, true)",
  "[1].map(x, true, x, x)",
  "has(a)",
  "has(1)",
  "has()",
  "has(a.b, c)",
  "{?'a': 1}",
  "[?1]",
  "A{",
  "A{b}",
  "A{b:}",
  "A{b: 1,,}",
  "A{1: 1}",
  // Literals.
  "'a",
  '"a',
  "'a\\'",
  "1.",
  ".5.5",
  "1e",
  "0x",
  "0xg",
  "1u2",
  "1a",
  "9223372036854775808",
  "18446744073709551616u",
  "0x8000000000000000",
  "1e999",
  "1_000",
  "@",
  "#",
  "$x",
  "a \\ b",
  "'é' == \u00e9",
  "'\ud83d\ude00' +",
  "\n\n  1 +\n",
  "\t1 +",
  "a ?? b",
  "a?.b",
  "1 %",
  ",",
  ".",
  ":",
];

const inOneRequest = 10;

function chunks(): readonly (readonly string[])[] {
  const count = Math.ceil(wrong.length / inOneRequest);
  return Array.from({ length: count }, (_one, at) =>
    wrong.slice(at * inOneRequest, (at + 1) * inOneRequest),
  );
}

const rules = [
  { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] },
];

function policy(expressions: readonly string[]): object {
  const validations = expressions.map((expression) => ({ expression }));
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "syntax" },
    spec: { matchConstraints: { resourceRules: rules }, validations },
  };
}

function definition(expressions: readonly string[]): object {
  const rulesOf = expressions.map((rule) => ({ rule }));
  const openAPIV3Schema = { type: "object", "x-kubernetes-validations": rulesOf };
  const names = { plural: "syntaxes", singular: "syntax", kind: "Syntax" };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "syntaxes.diff.example.com" },
    spec: { group: "diff.example.com", scope: "Namespaced", names, versions },
  };
}

const ofPolicies: Case = {
  name: "expressions of policies that do not parse",
  steps: chunks().map((some) =>
    post(
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All",
      policy(some),
    ),
  ),
};

const ofRules: Case = {
  name: "rules of definitions that do not parse",
  steps: chunks().map((some) =>
    post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", definition(some)),
  ),
};

export const syntax: Suite = { name: "syntax", cases: [ofPolicies, ofRules] };
