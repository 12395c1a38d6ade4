/** Claims of a token as a user, by names of claims and by expressions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ClaimError } from "./claim-expressions.ts";
import { userOfClaims } from "./claim-user.ts";
import { configured } from "./testing.ts";

const said = { sub: "jane", email: "jane@example.com", roles: ["dev", "ops"], org: { id: 7 } };

/** `fields` of the issuer's configuration; the user, or why there is none. */
function map(fields: object, claims: object = said): unknown {
  const [issuer] = configured(fields as Parameters<typeof configured>[0]);
  assert.ok(issuer !== undefined);
  try {
    return userOfClaims(issuer, claims as Record<string, unknown>);
  } catch (error) {
    if (error instanceof ClaimError) return error.message;
    throw error;
  }
}

const names = (username: object, more: object = {}) => ({ claimMappings: { username, ...more } });
const bySub = { claim: "sub", prefix: "" };
const jane = { name: "jane", groups: [] };

const cases: readonly (readonly [
  what: string,
  fields: object,
  claims: object,
  expected: unknown,
])[] = [
  ["a claim", names(bySub), said, jane],
  ["a prefix", names({ claim: "sub", prefix: "oidc:" }), said, { ...jane, name: "oidc:jane" }],
  [
    "a claim that is not there",
    names(bySub),
    {},
    'oidc: parse username claims "sub": claim not present',
  ],
  [
    "a claim of another type",
    names(bySub),
    { sub: 7 },
    'oidc: parse username claims "sub": json: cannot unmarshal number into Go value of type string',
  ],
  ["an empty name", names(bySub), { sub: "" }, "oidc: the username is empty"],
  [
    "an empty name behind a prefix",
    names({ claim: "sub", prefix: "x:" }),
    { sub: "" },
    "oidc: the username is empty",
  ],
  [
    "an e-mail address that says nothing of its check",
    names({ claim: "email", prefix: "" }),
    said,
    { name: "jane@example.com", groups: [] },
  ],
  [
    "one that was not checked",
    names({ claim: "email", prefix: "" }),
    { ...said, email_verified: false },
    "oidc: email not verified",
  ],
  [
    "one whose check is a text",
    names({ claim: "email", prefix: "" }),
    { ...said, email_verified: "true" },
    "oidc: parse 'email_verified' claim: it is no boolean",
  ],
  [
    "groups as a list",
    names(bySub, { groups: { claim: "roles", prefix: "g:" } }),
    said,
    { ...jane, groups: ["g:dev", "g:ops"] },
  ],
  [
    "groups as a text",
    names(bySub, { groups: { claim: "roles", prefix: "" } }),
    { sub: "jane", roles: "dev" },
    { ...jane, groups: ["dev"] },
  ],
  [
    "groups that are not there",
    names(bySub, { groups: { claim: "roles", prefix: "" } }),
    { sub: "jane" },
    jane,
  ],
  [
    "groups of another type",
    names(bySub, { groups: { claim: "roles", prefix: "" } }),
    { sub: "jane", roles: [1] },
    'oidc: parse groups claim "roles": json: cannot unmarshal array into Go value of type string',
  ],
  [
    "groups that stand at another server",
    names(bySub, { groups: { claim: "roles", prefix: "" } }),
    {
      sub: "jane",
      _claim_names: { roles: "src" },
      _claim_sources: { src: { endpoint: "https://x" } },
    },
    'oidc: could not expand distributed claims: the claim "roles" stands at another server, which is not asked here',
  ],
  [
    "expressions for everything",
    names(
      { expression: "claims.sub + '@' + string(claims.org.id)" },
      {
        groups: { expression: "claims.roles.filter(r, r != 'ops')" },
        uid: { expression: "string(claims.org.id)" },
        extra: [
          { key: "example.com/roles", valueExpression: "claims.roles" },
          { key: "example.com/none", valueExpression: "claims.?nothing.orValue('')" },
        ],
      },
    ),
    said,
    {
      name: "jane@7",
      groups: ["dev"],
      uid: "7",
      extra: { "example.com/roles": ["dev", "ops"] },
    },
  ],
  [
    "a name that is no text",
    names({ expression: "claims.org" }),
    said,
    "oidc: error evaluating username claim expression: username claim expression must return a string",
  ],
  [
    "an expression that fails",
    names({ expression: "claims.missing" }),
    said,
    "oidc: error evaluating username claim expression: expression 'claims.missing' resulted in error: no such key: missing",
  ],
  [
    "groups that are no texts",
    names(bySub, { groups: { expression: "[1]" } }),
    said,
    "oidc: error evaluating group claim expression: expression must return a string or a list of strings",
  ],
  [
    "an id of the token",
    names(bySub),
    { sub: "jane", jti: "7" },
    { ...jane, extra: { "authentication.kubernetes.io/credential-id": ["JTI=7"] } },
  ],
  ["null groups", names(bySub, { groups: { expression: "null" } }), said, jane],
  [
    "a required claim",
    { claimValidationRules: [{ claim: "hd", requiredValue: "example.com" }] },
    { ...said, hd: "example.com" },
    jane,
  ],
  [
    "a required claim that is not there",
    { claimValidationRules: [{ claim: "hd", requiredValue: "example.com" }] },
    said,
    "oidc: required claim hd not present in ID token",
  ],
  [
    "a required claim with another value",
    { claimValidationRules: [{ claim: "hd", requiredValue: "example.com" }] },
    { ...said, hd: "evil.com" },
    "oidc: required claim hd value does not match. Got = evil.com, want = example.com",
  ],
  [
    "a rule about claims",
    { claimValidationRules: [{ expression: "claims.org.id == 8", message: "wrong org" }] },
    said,
    "oidc: error evaluating claim validation expression: validation expression 'claims.org.id == 8' failed: wrong org",
  ],
  [
    "a rule about the user",
    {
      userValidationRules: [
        { expression: "!user.username.startsWith('system:')", message: "reserved" },
      ],
    },
    { sub: "system:admin" },
    "oidc: error evaluating user info validation rule: validation expression '!user.username.startsWith('system:')' failed: reserved",
  ],
  [
    "a rule about fields that the user does not have",
    {
      userValidationRules: [
        {
          expression: "user.uid == '' && user.groups.size() == 0 && user.extra.size() == 0",
          message: "",
        },
      ],
    },
    said,
    jane,
  ],
];

for (const [what, fields, claims, expected] of cases) {
  test(`claims: ${what}`, () => assert.deepEqual(map(fields, claims), expected));
}

test("an expression of unbounded cost ends at its limit", () => {
  const roles = Array.from({ length: 2_000 }, (_, at) => `role-${at}`);
  const expression =
    "claims.roles.all(a, claims.roles.all(b, claims.roles.all(c, a != b + c))) ? 'a' : 'b'";
  const why = map(names({ expression }), { roles });
  assert.match(String(why), /actual cost limit exceeded/);
});
