/** Names per resource, and generated ones. */
import { test } from "node:test";
import assert from "node:assert/strict";
import { generateName, nameValidatorFor } from "./names.ts";

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const cases: readonly (readonly [string, string, string, readonly string[]])[] = [
  ["", "pods", "web.1", []],
  ["", "pods", "Web", [subdomain]],
  ["", "pods", "a".repeat(254), ["must be no more than 253 characters"]],
  ["", "namespaces", "team-1", []],
  ["", "namespaces", "team.1", ["must not contain dots"]],
  ["", "namespaces", "Team", [label]],
  ["", "namespaces", "a".repeat(64), ["must be no more than 63 characters"]],
  ["", "services", "1st", []],
  ["rbac.authorization.k8s.io", "roles", "system:node", []],
  ["rbac.authorization.k8s.io", "roles", "a/b%", ["may not contain '/'", "may not contain '%'"]],
  ["rbac.authorization.k8s.io", "roles", "..", ["may not be '..'"]],
];

for (const [group, resource, name, expected] of cases) {
  const shown = name.length > 20 ? `${name.length} letters` : JSON.stringify(name);
  test(`${shown} as a name of ${resource} is answered as upstream does`, () => {
    assert.deepEqual(nameValidatorFor(group, resource)(name, false), expected);
  });
}

test("A dash at the end is fine where a suffix follows", () => {
  assert.deepEqual(nameValidatorFor("", "pods")("web-", true), []);
  assert.notDeepEqual(nameValidatorFor("", "pods")("web-", false), []);
});

test("A generated name is its base, cut to 58, and five letters that spell nothing", () => {
  let next = 0;
  const random = { below: (bound: number) => (next++ * 7) % bound };
  assert.equal(generateName("web-", random), "web-bks4c");
  assert.equal(generateName("a".repeat(70), random).length, 63);
});
