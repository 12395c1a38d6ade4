/**
 * Properties of server-side apply over random histories, with few labels, containers and fields, so that
 * managers use the same ones.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import fc from "fast-check";
import type { AnyObject } from "../object.ts";
import { ApiError } from "../status.ts";
import { applyPatch, trackUpdate } from "./field-manager.ts";
import { Server, deployment, deployments, second, t0, withContainers } from "./testing/server.ts";

const labels = fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("1", "2"), {
  maxKeys: 2,
  noNullPrototype: true,
});
const containerArb = fc.record(
  { name: fc.constantFrom("x", "y", "z"), image: fc.constantFrom("i", "j"), tty: fc.boolean() },
  { requiredKeys: ["name"], noNullPrototype: true },
);
const configArb = fc
  .record({
    labels,
    replicas: fc.option(fc.nat(3), { nil: undefined }),
    containers: fc.uniqueArray(containerArb, { selector: (c) => c.name, maxLength: 3 }),
  })
  .map(({ labels: l, replicas, containers }) =>
    deployment({
      metadata: Object.keys(l).length === 0 ? {} : { labels: l },
      spec: {
        ...given({ replicas }),
        ...(containers.length === 0 ? {} : withContainers(...containers)),
      },
    }),
  );
const stepArb = fc.record({
  manager: fc.constantFrom("one", "two"),
  config: configArb,
  how: fc.constantFrom("apply", "force", "update"),
});

function run(steps: readonly { manager: string; config: AnyObject; how: string }[]): Server {
  const server = new Server(deployments);
  for (const { manager, config, how } of steps) {
    server.tick();
    try {
      if (how === "update") server.update(manager, config);
      else server.apply(manager, config, how === "force");
    } catch (error) {
      assert.ok(error instanceof ApiError && error.code === 409, String(error));
    }
  }
  return server;
}

test("after a forced apply the object holds the configuration, and again is a no-op", () => {
  fc.assert(
    fc.property(fc.array(stepArb, { maxLength: 5 }), configArb, (steps, config) => {
      const server = run(steps);
      const applied = server.apply("one", config, true);
      const again = applyPatch(deployments, {
        live: applied,
        applied: config,
        manager: "one",
        force: false,
        nowMs: t0 + 3600 * second,
      });
      assert.equal(again.changed, false);
      assert.deepEqual(again.object, applied);
    }),
    { numRuns: 300 },
  );
});

test("a lone applier's object is exactly its last configuration", () => {
  fc.assert(
    fc.property(fc.array(configArb, { minLength: 1, maxLength: 4 }), (configs) => {
      const server = new Server(deployments);
      for (const config of configs) server.apply("one", config);
      const fresh = new Server(deployments);
      fresh.apply("one", configs.at(-1) ?? {});
      const content = ({ object }: Server): unknown => {
        const { managedFields: _, ...metadata } = object?.metadata ?? {};
        const bare = object?.["spec"] ?? {};
        return { metadata, spec: Object.keys(bare).length === 0 ? {} : bare };
      };
      assert.deepEqual(content(server), content(fresh));
      assert.deepEqual(server.entry("one")?.fieldsV1, fresh.entry("one")?.fieldsV1);
    }),
    { numRuns: 300 },
  );
});

test("no step ever changes the object it was given, and managed fields stay canonical", () => {
  fc.assert(
    fc.property(fc.array(stepArb, { minLength: 1, maxLength: 6 }), (steps) => {
      const before = JSON.stringify(steps);
      const server = run(steps);
      assert.equal(JSON.stringify(steps), before);
      const live = server.object;
      if (live?.metadata?.managedFields === undefined) return;
      const untouched = trackUpdate(deployments, {
        live,
        next: structuredClone(live),
        manager: "z",
        nowMs: t0,
      });
      assert.deepEqual(untouched, live);
    }),
    { numRuns: 300 },
  );
});
