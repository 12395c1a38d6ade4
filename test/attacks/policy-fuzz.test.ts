/** Random policies, and writes under those that were accepted: each gets an answer of the contract in bounded time. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import {
  bindingOf,
  bindings,
  openPolicyWorld,
  policies,
  policy,
  type PolicyWorld,
} from "../conformance/policy-world.ts";
import { configMap } from "../conformance/webhook-world.ts";

const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 1);
const maps = "/api/v1/namespaces/default/configmaps?dryRun=All";

const word = fc.constantFrom(
  "object",
  "oldObject",
  "request",
  "params",
  "variables.v",
  "namespaceObject",
  "authorizer",
  ".data",
  ".metadata",
  ".name",
  "['a']",
  "[0]",
  ".map(x, x)",
  ".all(k, k != '')",
  ".matches('^(a+)+$')",
  "has(object.data)",
  "'a'",
  "1",
  "1u",
  "1.5",
  "true",
  "null",
  "[",
  "]",
  "{",
  "}",
  "(",
  ")",
  " + ",
  " == ",
  " && ",
  " || ",
  " ? ",
  " : ",
  " in ",
  "-",
  "!",
  "Object{",
  "metadata: ",
  "JSONPatch{op: 'add'",
  "quantity('1Ki')",
  "dyn(object)",
  "\n",
  "é",
  "\u0000",
);
const expression = fc.oneof(
  { weight: 3, arbitrary: fc.array(word, { maxLength: 8 }).map((words) => words.join("")) },
  fc.constantFrom(
    "object.data.a == 'b'",
    "variables.v == 1",
    "[1, 2].all(x, x > 1)",
    "dyn(1) == 'a'",
  ),
  fc.string({ maxLength: 40 }),
  fc.nat(200).map((depth) => `${"(".repeat(depth)}true${")".repeat(depth)}`),
);
const condition = oftenValid(
  "object.data.a == 'b'",
  "[1, 2].all(x, x > 1)",
  "dyn(1) == 'a'",
  "object.nothing.there",
  "1 / 0 == 1",
  "dyn(object).data.a.matches('^(a+)+$')",
  "request.name != ''",
  "authorizer.path('/x').check('get').allowed()",
);
const message = oftenValid("'a'", "string(object.data.a)", "string(object.nothing)", "'x\\ny'");
const jsonPatch = oftenValid(
  "[JSONPatch{op: 'add', path: '/data/b', value: 'c'}]",
  "[JSONPatch{op: 'test', path: '/data/a', value: 1}]",
  "[JSONPatch{op: 'remove', path: '/metadata/name'}]",
  "[JSONPatch{op: 'add', path: 'x', value: object}]",
);
const applied = oftenValid(
  "Object{data: {'b': 'c'}}",
  "Object{metadata: Object.metadata{name: 'other'}}",
  "Object{data: object.data}",
);

/** One in five is whatever the words make of it. */
function oftenValid(...texts: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...texts) }, expression);
}

const oneOrTwo = { minLength: 1, maxLength: 2 };
const failurePolicy = fc.constantFrom("Fail", "Ignore");
const validating = fc.record({
  failurePolicy,
  validations: fc.array(fc.record({ expression: condition, messageExpression: message }), oneOrTwo),
  matchConditions: fc.array(fc.record({ name: fc.constant("a"), expression: condition }), {
    maxLength: 1,
  }),
});
const mutating = fc.record({
  failurePolicy,
  mutations: fc.array(
    fc.oneof(
      fc.record({
        patchType: fc.constant("JSONPatch"),
        jsonPatch: fc.record({ expression: jsonPatch }),
      }),
      fc.record({
        patchType: fc.constant("ApplyConfiguration"),
        applyConfiguration: fc.record({ expression: applied }),
      }),
    ),
    oneOrTwo,
  ),
});

describe("random policies", () => {
  let world: PolicyWorld;
  before(async () => {
    world = await openPolicyWorld();
  });
  after(() => world.stop());

  for (const [type, spec] of [
    ["validating", validating],
    ["mutating", mutating],
  ] as const) {
    test(`${type}: written or refused with 422, and a write under an accepted one is answered`, async () => {
      let accepted = 0;
      const property = fc.asyncProperty(spec as fc.Arbitrary<object>, async (value) => {
        const made = await world.create(policies(type), policy(type, "random", value));
        assert.ok([201, 400, 422].includes(made.status), made.text);
        if (made.status !== 201) return;
        accepted++;
        await world.create(bindings(type), bindingOf(type, "random", {}));
        const answer = await world.create(maps, configMap("random", { a: "b" }));
        await world.remove(type, "random");
        assert.ok([201, 403, 422].includes(answer.status), answer.text);
        assert.ok(answer.text.length < 100_000, "an answer does not grow with what went wrong");
      });
      await fc.assert(property, { seed, numRuns: 200 });
      assert.ok(accepted >= 50, `only ${accepted} of 200 were accepted`);
    });
  }

  test("the plane goes on as before", async () => {
    assert.equal((await world.create(maps, configMap("after"))).status, 201);
  });
});
