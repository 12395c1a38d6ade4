/**
 * The rows of a join kept up to date, against a join of everything: whatever the order in which objects come, change and
 * go, and however rows are made in portions. Bugs planted in the plan are found.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AnyObject } from "#api/object.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { standardOptions } from "#skipper/options.ts";
import { printRoute } from "#skipper/eskip-print.ts";
import { naiveRoutes } from "#skipper/testing/naive-routes.ts";
import { relayLimits } from "../../limits.ts";
import { type Choice, chosenKey, chosenObject } from "../../testing/routed-objects.ts";
import type { JoinPlan, Lookup } from "./join-plan.ts";
import { JoinTable } from "./join-table.ts";
import { skipperPlan } from "./skipper-plan.ts";

type Step =
  | { readonly do: "put" | "delete"; readonly choice: Choice }
  | { readonly do: "settle"; readonly max: number };

const choice = fc.record({
  kind: fc.integer({ min: 0, max: 3 }),
  which: fc.integer({ min: 0, max: 4 }),
  variant: fc.integer({ min: 0, max: 5 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant("put" as const), choice }), weight: 6 },
  { arbitrary: fc.record({ do: fc.constant("delete" as const), choice }), weight: 2 },
  {
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      max: fc.integer({ min: 1, max: 5 }),
    }),
    weight: 3,
  },
);
const numRuns = Number(process.env["PILOTHOUSE_RUNS"] ?? 60);
const options = { ...standardOptions, httpsRedirect: true };

function cached(object: AnyObject): CachedObject {
  const { namespace = "", name = "", labels = {} } = object.metadata ?? {};
  return { namespace, name, labels, object } as unknown as CachedObject;
}

/** Shown rows as a client adds them up from changes alone. */
function property(plan: () => JoinPlan) {
  return fc.property(fc.array(step, { minLength: 20, maxLength: 120, size: "max" }), (steps) => {
    const table = new JoinTable(plan(), relayLimits);
    const objects = new Map<string, AnyObject>();
    const shown = new Map<string, string>();
    const settle = (max: number): void => {
      const changes = table.settle(max);
      for (const { id, before, after } of changes ?? []) {
        assert.equal(shown.get(id), before?.text, "a change begins with what was shown");
        if (after === undefined) shown.delete(id);
        else shown.set(id, after.text);
      }
      if (changes !== undefined) check();
    };
    const check = (): void => {
      const routes = naiveRoutes([...objects.values()], options);
      const lines = routes.map((route) => printRoute(route, { zones: false }));
      assert.deepEqual([...shown.values()].sort(), lines.sort());
      assert.deepEqual([...table.rows.values()].map(({ text }) => text).sort(), lines);
    };
    for (const one of steps) {
      if (one.do === "settle") {
        settle(one.max);
        continue;
      }
      const key = chosenKey(one.choice);
      const object = one.do === "put" ? chosenObject(one.choice) : undefined;
      const id = `${one.choice.kind} ${key}`;
      if (object === undefined) objects.delete(id);
      else objects.set(id, object);
      table.put(one.choice.kind, key, object && cached(object));
    }
    settle(Number.POSITIVE_INFINITY);
  });
}

const planted: Readonly<Record<string, (plan: JoinPlan) => JoinPlan>> = {
  "a look that is not noted": (plan) => {
    const seen = new Map<string, readonly unknown[]>();
    const around = (lookup: Lookup): Lookup => ({
      find(input, index, key) {
        const found = seen.get(`${input} ${key}`) ?? lookup.find(input, index, key);
        seen.set(`${input} ${key}`, found);
        return found;
      },
    });
    return { ...plan, make: (input, value, lookup) => plan.make(input, value, around(lookup)) };
  },
  "an object that keeps its old keys": (plan) => {
    const keys = new Map<string, readonly (readonly string[])[]>();
    return {
      ...plan,
      inputs: plan.inputs.map((input) => ({
        ...input,
        project: (object: CachedObject) => {
          const made = input.project(object);
          if (made === undefined) return undefined;
          const first = keys.get(`${object.namespace}/${object.name}`) ?? made.keys;
          if (made.keys.length > 0) keys.set(`${object.namespace}/${object.name}`, first);
          return made.keys.length === 0 ? made : { ...made, keys: first };
        },
      })),
    };
  },
  "a host of one Ingress alone": (plan) => ({
    ...plan,
    group: (group, shares) => plan.group(group, shares.slice(0, 1)),
  }),
  "makers of a resource that are forgotten": (plan) => ({
    ...plan,
    makers: plan.makers.slice(0, 1),
  }),
};

void describe("a join kept up to date", () => {
  const plan = (): JoinPlan => skipperPlan(options, { endpointZones: false }, true);

  void it("has the rows of a join of everything, after any order of changes", () => {
    fc.assert(property(plan), { numRuns });
  });

  for (const [bug, plant] of Object.entries(planted)) {
    void it(`would be found wrong with a bug: ${bug}`, () => {
      const { failed } = fc.check(
        property(() => plant(plan())),
        { numRuns: 300, endOnFailure: true },
      );
      assert.ok(failed, "the model has not found it");
    });
  }
});
