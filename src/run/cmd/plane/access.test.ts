/** What is compiled from roles and flow schemas is made anew when they change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OpenRegistry } from "#registry/registry.ts";
import { changesOf } from "./access.ts";

void test("a change and a cache that began anew both give another number, and none comes twice", () => {
  const state = { changedAt: 0, resets: 0 };
  const registry = { cache: () => ({ state }) } as unknown as OpenRegistry;
  const changes = changesOf(registry, [{ group: "", resource: "a" }]);
  const seen = [changes()];
  for (const change of ["changedAt", "resets", "resets", "changedAt", "resets"] as const) {
    state[change]++;
    seen.push(changes());
  }
  assert.equal(new Set(seen).size, seen.length);
});
