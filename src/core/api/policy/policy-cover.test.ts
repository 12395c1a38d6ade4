/** Boxes and indexes of rules say what going through all parts and all rules says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { uncoveredParts } from "./policy-cover.ts";
import { RuleIndex } from "./policy-index.ts";
import { describeRules, ruleAllows, urlMatches } from "./policy-rules.ts";
import type { PolicyQuestion, PolicyRule } from "./policy-rules.ts";

const noLimits = { stepsMax: Number.POSITIVE_INFINITY, missingMax: Number.POSITIVE_INFINITY };

/** Every part against every owned rule. */
function everyPart(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(partsOf).filter((part) => !owned.some((rule) => covers(rule, part)));
}

function partsOf(rule: PolicyRule): PolicyRule[] {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = rule;
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  const parts = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) =>
        names.map((name) => ({
          apiGroups: [group],
          resources: [resource],
          verbs: [verb],
          ...(name === undefined ? {} : { resourceNames: [name] }),
        })),
      ),
    ),
  );
  const urls = nonResourceURLs.flatMap((url) =>
    verbs.map((verb) => ({ nonResourceURLs: [url], verbs: [verb] })),
  );
  return [...parts, ...urls];
}

function covers(rule: PolicyRule, part: PolicyRule): boolean {
  const has = (list: readonly string[] | undefined, word: string): boolean =>
    list?.some((own) => own === "*" || own === word) === true;
  const hasResource = (resource: string): boolean => {
    const slash = resource.indexOf("/");
    const anySub = slash < 0 ? resource : `*${resource.slice(slash)}`;
    return has(rule.resources, resource) || rule.resources?.includes(anySub) === true;
  };
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs } = part;
  const own = rule.resourceNames ?? [];
  const named =
    own.length === 0 || (resourceNames.length > 0 && resourceNames.every((n) => own.includes(n)));
  return (
    named &&
    verbs.every((verb) => has(rule.verbs, verb)) &&
    apiGroups.every((group) => has(rule.apiGroups, group)) &&
    resources.every(hasResource) &&
    nonResourceURLs.every((url) => (rule.nonResourceURLs ?? []).some((p) => urlMatches(p, url)))
  );
}

const some = (...words: string[]): fc.Arbitrary<string[]> =>
  fc.uniqueArray(fc.constantFrom(...words), { maxLength: 4 });
const rule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    verbs: some("get", "list", "watch", "*"),
    apiGroups: some("", "apps", "*"),
    resources: some("pods", "pods/log", "*/log", "*"),
    resourceNames: some("a", "b"),
    nonResourceURLs: some("/a", "/a/*", "/a/b", "*"),
  },
  { requiredKeys: ["verbs"], noNullPrototype: true },
);
const rules = fc.array(rule, { maxLength: 12 });

test("boxes miss the same parts as all parts one by one", () => {
  fc.assert(
    fc.property(rules, rules, (owned, wanted) => {
      const { missing, complete } = uncoveredParts(owned, wanted, noLimits);
      assert.ok(complete);
      assert.deepEqual(describeRules(missing), describeRules(everyPart(owned, wanted)));
    }),
    { numRuns: 2000 },
  );
});

test("an index allows what one of its rules allows", () => {
  const question: fc.Arbitrary<PolicyQuestion> = fc.record({
    isResourceRequest: fc.boolean(),
    verb: fc.constantFrom("get", "list", "delete"),
    path: fc.constantFrom("/a", "/a/b", "/c"),
    group: fc.constantFrom("", "apps", "batch"),
    resource: fc.constantFrom("pods", "jobs"),
    subresource: fc.constantFrom("", "log"),
    name: fc.constantFrom("", "a", "c"),
  });
  const long = rule.map((one) => ({
    ...one,
    verbs: [...one.verbs, ...Array.from({ length: 30 }, (_, i) => `v${i}`)],
  }));
  const many = fc.array(fc.oneof(rule, long), { maxLength: 30 });
  fc.assert(
    fc.property(many, question, (all, asked) => {
      const allowed = all.some((one) => ruleAllows(one, asked));
      assert.equal(new RuleIndex(all).allows(asked), allowed);
    }),
    { numRuns: 2000 },
  );
});

test("a bound that was met is told, and what is missing so far", () => {
  const words = Array.from({ length: 200 }, (_, index) => `w${index}`);
  const cube = { apiGroups: words, resources: words, verbs: words };
  const few = uncoveredParts([], [cube], { stepsMax: 1_000_000, missingMax: 10 });
  assert.equal(few.missing.length, 10);
  assert.equal(few.complete, false);
  const short = uncoveredParts([cube], [cube], { stepsMax: 10, missingMax: 10 });
  assert.equal(short.complete, false);
  assert.deepEqual(uncoveredParts([cube], [cube], { stepsMax: 100_000, missingMax: 10 }), {
    missing: [],
    complete: true,
  });
});

test("a pattern of stars matches by what stands before its last stars", () => {
  assert.ok(urlMatches("/a***", "/ab"));
  assert.ok(!urlMatches("/a*b*", "/ab"));
  assert.ok(!urlMatches(`/${"*".repeat(1_000_000)}a*`, "/ab"));
});
