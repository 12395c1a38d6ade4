/** A controller does not act on a cache that does not show its own last write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "#platform/testing/clock.ts";
import type { KubeObject } from "#api/object.ts";
import { Expectations } from "./expectations.ts";

type Step =
  | { readonly do: "create" | "delete"; readonly key: "a" | "b" }
  | { readonly do: "deliver"; readonly key: "" };

/** A server and a cache that sees its events late, in order. */
class Lagging {
  resourceVersion = "0";
  readonly #server = new Map<string, KubeObject>();
  readonly #cache = new Map<string, KubeObject>();
  readonly #events: (() => void)[] = [];
  #version = 0;

  getByKey(key: string): KubeObject | undefined {
    return this.#cache.get(key);
  }

  create(name: string): KubeObject {
    const resourceVersion = String(++this.#version);
    const metadata = { name, namespace: "ns", uid: `uid-${resourceVersion}`, resourceVersion };
    this.#server.set(`ns/${name}`, { metadata });
    this.#later(resourceVersion, () => this.#cache.set(`ns/${name}`, { metadata }));
    return { metadata };
  }

  delete(key: string): void {
    const resourceVersion = String(++this.#version);
    this.#server.delete(key);
    this.#later(resourceVersion, () => this.#cache.delete(key));
  }

  /** False when there is nothing left to see. */
  deliver(): boolean {
    const event = this.#events.shift();
    event?.();
    return event !== undefined;
  }

  isCurrent(prefix: string): boolean {
    const of = (map: ReadonlyMap<string, KubeObject>): unknown =>
      [...map].filter(([key]) => key.startsWith(prefix)).toSorted();
    return JSON.stringify(of(this.#server)) === JSON.stringify(of(this.#cache));
  }

  listed(prefix: string): readonly KubeObject[] {
    return [...this.#cache].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object);
  }

  #later(resourceVersion: string, change: () => void): void {
    this.#events.push(() => {
      change();
      this.resourceVersion = resourceVersion;
    });
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom("create" as const, "delete" as const),
    key: fc.constantFrom("a" as const, "b" as const),
  }),
  fc.constant<Step>({ do: "deliver", key: "" }),
);

test("a key is satisfied only when the cache shows all its writes, and always once it shows all", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const server = new Lagging();
      const expectations = new Expectations<KubeObject>(server, new FakeClock());
      let made = 0;
      for (const { do: act, key } of steps) {
        if (act === "deliver") server.deliver();
        // As a controller does: it acts for a key only when its expectations are satisfied.
        else if (expectations.isSatisfied(key)) {
          assert.ok(server.isCurrent(`ns/${key}`));
          const [first] = server.listed(`ns/${key}`);
          if (act === "create") expectations.expectWrite(key, server.create(`${key}${made++}`));
          else if (first !== undefined) {
            expectations.expectDeletion(key, first);
            server.delete(`ns/${first.metadata?.name}`);
          }
        }
      }
      while (server.deliver());
      assert.ok(expectations.isSatisfied("a") && expectations.isSatisfied("b"));
    }),
  );
});

test("a failed delete blocks nothing; a deletion that never shows blocks its key for five minutes", async () => {
  const clock = new FakeClock();
  const server = new Lagging();
  const expectations = new Expectations<KubeObject>(server, clock);
  const object = server.create("x");
  server.deliver();
  expectations.expectDeletion("a", object);
  assert.equal(expectations.isSatisfied("a"), false);
  expectations.cancelDeletion("a", object);
  assert.equal(expectations.isSatisfied("a"), true);
  expectations.expectDeletion("a", object);
  await clock.advance(5 * 60_000);
  assert.equal(expectations.isSatisfied("a"), false);
  await clock.advance(1);
  assert.equal(expectations.isSatisfied("a"), true);
});

test("an object that is terminating, or replaced by a namesake, counts as deleted", () => {
  const metadata = { name: "x", uid: "u" };
  for (const change of [{ deletionTimestamp: "t" }, { uid: "another" }]) {
    const held = { metadata: { ...metadata, ...change } };
    const cache = { resourceVersion: "9", getByKey: () => held };
    const expectations = new Expectations<KubeObject>(cache, new FakeClock());
    expectations.expectDeletion("a", { metadata });
    assert.equal(expectations.isSatisfied("a"), true);
  }
});
