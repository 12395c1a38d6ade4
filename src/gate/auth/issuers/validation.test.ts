/** AuthenticationConfiguration: what is refused, in upstream's words. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readAuthentication } from "../configuration/authentication.ts";
import { ConfigurationError } from "../configuration/shape.ts";
import { compileAuthentication } from "./validation.ts";

const head = {
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthenticationConfiguration",
};
const username = { claim: "sub", prefix: "" };
const issuer = { url: "https://x.example", audiences: ["a"] };
const good = { issuer, claimMappings: { username } };

function faultOf(file: unknown, disallowed: readonly string[] = []): string | undefined {
  try {
    compileAuthentication(readAuthentication(file), disallowed);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}

const invalid = "invalid authentication configuration: ";
const files: readonly (readonly [what: string, file: unknown, fault: string | undefined])[] = [
  ["nothing in it", head, undefined],
  ["v1beta1", { ...head, apiVersion: "apiserver.config.k8s.io/v1beta1", jwt: [good] }, undefined],
  ["v1alpha1", { ...head, apiVersion: "apiserver.config.k8s.io/v1alpha1", jwt: [good] }, undefined],
  [
    "a version that nobody has",
    { ...head, apiVersion: "apiserver.config.k8s.io/v9" },
    'no kind "AuthenticationConfiguration" is registered for version "apiserver.config.k8s.io/v9" in scheme "pkg/runtime/scheme.go:111"',
  ],
  [
    "another kind",
    { ...head, kind: "AuthorizationConfiguration" },
    "expected AuthenticationConfiguration, got *apiserver.AuthorizationConfiguration",
  ],
  [
    "no kind",
    { apiVersion: head.apiVersion },
    `Object 'Kind' is missing in '{"apiVersion":"apiserver.config.k8s.io/v1"}'`,
  ],
  [
    "a list",
    ["a"],
    `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
  ],
  [
    "unknown fields",
    { ...head, foo: "bar", jwt: [{ ...good, issuer: { ...issuer, urll: "x" } }] },
    'strict decoding error: unknown field "foo", unknown field "jwt[0].issuer.urll"',
  ],
  [
    "a number as an audience",
    { ...head, jwt: [{ ...good, issuer: { ...issuer, audiences: [1] } }] },
    "json: cannot unmarshal number into Go struct field Issuer.jwt.issuer.audiences of type string",
  ],
  [
    "a text as audiences",
    { ...head, jwt: [{ ...good, issuer: { ...issuer, audiences: "a" } }] },
    "json: cannot unmarshal string into Go struct field Issuer.jwt.issuer.audiences of type []string",
  ],
  [
    "an object as a URL",
    { ...head, jwt: [{ ...good, issuer: { ...issuer, url: { a: "b" } } }] },
    "json: cannot unmarshal object into Go struct field Issuer.jwt.issuer.url of type string",
  ],
  [
    "the same issuer twice",
    { ...head, jwt: [good, good] },
    `${invalid}jwt[1].issuer.url: Duplicate value: "https://x.example"`,
  ],
  [
    "too many issuers",
    { ...head, jwt: Array.from({ length: 65 }, () => good) },
    `${invalid}jwt: Too many: 65: must have at most 64 items`,
  ],
  [
    "an issuer's URL with more than host and path",
    { ...head, jwt: [{ ...good, issuer: { ...issuer, url: "https://u:p@x.example/a?b=c#d" } }] },
    `${invalid}[jwt[0].issuer.url: Invalid value: "https://u:p@x.example/a?b=c#d": URL must not contain a username or password, jwt[0].issuer.url: Invalid value: "https://u:p@x.example/a?b=c#d": URL must not contain a query, jwt[0].issuer.url: Invalid value: "https://u:p@x.example/a?b=c#d": URL must not contain a fragment]`,
  ],
  [
    "an egress selector",
    { ...head, jwt: [{ ...good, issuer: { ...issuer, egressSelectorType: "cluster" } }] },
    `${invalid}jwt[0].issuer.egressSelectorType: Invalid value: "cluster": egress selectors are not served here: issuers are reached over this server's own network`,
  ],
  [
    "several audiences without a policy",
    { ...head, jwt: [{ ...good, issuer: { ...issuer, audiences: ["a", "b", "a", ""] } }] },
    `${invalid}[jwt[0].issuer.audiences[2]: Duplicate value: "a", jwt[0].issuer.audiences[3]: Required value, jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences]`,
  ],
  [
    "an unverified e-mail address as the name",
    {
      ...head,
      jwt: [{ issuer, claimMappings: { username: { expression: "claims.?email.orValue('')" } } }],
    },
    `${invalid}jwt[0].claimMappings.username.expression: Invalid value: "claims.?email.orValue('')": claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression`,
  ],
  [
    "an e-mail address whose check a rule asks for",
    {
      ...head,
      jwt: [
        {
          issuer,
          claimMappings: { username: { expression: "claims.email" } },
          claimValidationRules: [{ expression: "claims.?email_verified.orValue(true) == true" }],
        },
      ],
    },
    undefined,
  ],
];

for (const [what, file, fault] of files) {
  test(`AuthenticationConfiguration: ${what}`, () => assert.equal(faultOf(file), fault));
}

test("the server's own issuer is refused", () => {
  const own = "https://x.example";
  assert.equal(
    faultOf({ ...head, jwt: [good] }, [own]),
    `${invalid}jwt[0].issuer.url: Invalid value: "https://x.example": URL must not overlap with disallowed issuers: [https://x.example]`,
  );
});

/** Recorded from a stock kube-apiserver 1.36.3 that was started with this file. */
test("all findings of a file come at once, in upstream's order and words", () => {
  const file = {
    ...head,
    jwt: [
      {
        issuer: {
          url: "http://x",
          discoveryURL: ":bad",
          audiences: [],
          certificateAuthority: "junk",
          egressSelectorType: "foo",
        },
        claimMappings: {
          username: { claim: "sub" },
          groups: { claim: "a", expression: "claims.b" },
          uid: { claim: "a", expression: "b" },
          extra: [
            { key: "foo", valueExpression: "claims.x" },
            { key: "Kubernetes.io/A", valueExpression: "1" },
          ],
        },
        claimValidationRules: [
          { claim: "a", requiredValue: "b", message: "c" },
          {},
          { expression: "claims.foo +", message: "m" },
          { expression: "'a'" },
        ],
        userValidationRules: [
          { expression: "user.foo" },
          { expression: "user.username == 'a'" },
          { expression: "user.username == 'a'" },
        ],
      },
    ],
    anonymous: { enabled: false, conditions: [{ path: "/a" }] },
  };
  const expected = [
    'jwt[0].issuer.url: Invalid value: "http://x": URL scheme must be https',
    'jwt[0].issuer.discoveryURL: Invalid value: ":bad": parse ":bad": missing protocol scheme',
    "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
    'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates',
    'jwt[0].issuer.egressSelectorType: Invalid value: "foo": egress selector must be either controlplane or cluster',
    'jwt[0].claimValidationRules[0].message: Invalid value: "c": may not be specified when claim is set',
    "jwt[0].claimValidationRules[1]: Required value: claim or expression is required",
    `jwt[0].claimValidationRules[2].expression: Invalid value: "claims.foo +": compilation failed: ERROR: <input>:1:13: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | claims.foo +\n | ............^`,
    `jwt[0].claimValidationRules[3].expression: Invalid value: "'a'": must evaluate to bool`,
    "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing",
    `jwt[0].claimMappings.groups: Invalid value: "": claim and expression can't both be set`,
    `jwt[0].claimMappings.uid: Invalid value: "": claim and expression can't both be set`,
    'jwt[0].claimMappings.extra[0].key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")',
    `jwt[0].claimMappings.extra[1].key: Invalid value: "Kubernetes.io": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    'jwt[0].claimMappings.extra[1].key: Invalid value: "Kubernetes.io/A": must be lowercase',
    `jwt[0].userValidationRules[0].expression: Invalid value: "user.foo": compilation failed: ERROR: <input>:1:5: undefined field 'foo'\n | user.foo\n | ....^`,
    `jwt[0].userValidationRules[2].expression: Duplicate value: "user.username == 'a'"`,
    'anonymous.conditions: Invalid value: [{"Path":"/a"}]: enabled should be set to true when conditions are defined',
  ];
  assert.equal(faultOf(file), `${invalid}[${expected.join(", ")}]`);
});
