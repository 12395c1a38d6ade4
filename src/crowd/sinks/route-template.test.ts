/** Routes by template: two objects never share one, and no name becomes more than a name. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import { parseRoute } from "./route-template.ts";

const ref = { group: "apps", version: "v1", resource: "deployments" };
const token = /[A-Za-z0-9_-]/;
const subject = parseRoute("k8s.{group}.{resource}.{namespace}.{name}", token);

function routeOf(namespace: string | undefined, name: string): string {
  return subject.of(ref, { metadata: { name, ...given({ namespace }) } });
}

test("parts stand as they are, others in hexadecimal, what is absent as _", () => {
  assert.equal(routeOf("shop", "web"), "k8s.apps.deployments.shop.web");
  assert.equal(routeOf(undefined, "web"), "k8s.apps.deployments._.web");
  assert.equal(routeOf("shop", "a.b"), "k8s.apps.deployments.shop.a%2Eb");
  assert.equal(subject.ofMarks(ref), "k8s.apps.deployments._._");
  assert.equal(parseRoute("fixed", token).of(ref, {}), "fixed");
});

test("no two objects share a route, and none has the marks'", () => {
  const names = ["a.b", "a%2Eb", "a_b", "a", "_", "%5F", ">", "*", "ø", "Ã¸", "a b", "{name}", ""];
  const routes = names.map((name) => routeOf("ns", name));
  assert.equal(new Set(routes).size, names.length);
  for (const name of names.slice(0, -1)) {
    const route = routeOf("_", name);
    assert.notEqual(route, subject.ofMarks(ref));
    assert.match(route, /^k8s(\.[A-Za-z0-9_%-]+){4}$/, name);
  }
});

test("a part that is not known is refused, and so is one that does not end", () => {
  assert.throws(() => parseRoute("k8s.{kind}", token), /\{kind\} is not known; known: group/);
  assert.throws(() => parseRoute("k8s.{name", token), SyntaxError);
  assert.throws(() => parseRoute("k8s.{}", token), SyntaxError);
});
