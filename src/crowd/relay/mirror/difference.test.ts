/** Examples of what a list tells of what is held. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allSteps } from "#base/steps.ts";
import { CacheState } from "#watch/cache-state.ts";
import { encodeObject } from "#forms/object-bytes.ts";
import { SharedObject } from "#forms/shared-object.ts";
import { testSource } from "#watch/testing/feed.ts";
import { diffSteps, findMissing } from "./difference.ts";

function pod(name: string, revision: number, uid = name): SharedObject {
  const metadata = { name, namespace: "ns", uid };
  const bytes = encodeObject({ apiVersion: "v1", kind: "Pod", metadata });
  return new SharedObject(testSource, name, bytes, revision);
}

function holding(revision: number, ...objects: SharedObject[]): CacheState {
  const options = { ringItemsMax: 10, ringBytesMax: 1_000, pinnedMax: 1 };
  return new CacheState({ objects, revision }, options);
}

/** As `position: key revision` and `position: key gone`. */
function told(held: CacheState, listed: readonly SharedObject[], revision: number): string[] {
  const { objects, timeline } = allSteps(diffSteps(held.snapshot(), listed, revision));
  assert.deepEqual(
    objects.map(({ key, revision: at }) => `${key} ${at}`),
    listed.map(({ key, revision: at }) => `${key} ${at}`),
  );
  const unchanged = objects.filter((object) => held.get(object.key)?.revision === object.revision);
  assert.ok(
    unchanged.every((object) => held.get(object.key) === object || !listed.includes(object)),
    "what did not change stays the object held",
  );
  return [...timeline]
    .sort(([a], [b]) => a - b)
    .flatMap(([at, changes]) =>
      changes.map(({ key, next }) => `${at}: ${key} ${next?.revision ?? "gone"}`),
    );
}

void describe("the difference between what is held and a list", () => {
  void it("is nothing for what did not change", () => {
    const held = holding(9, pod("a", 3), pod("b", 9));
    assert.deepEqual(told(held, [pod("a", 3), pod("b", 9)], 20), []);
  });

  void it("tells a change at its object's revision, what is gone at the list's", () => {
    const held = holding(9, pod("a", 3), pod("b", 4), pod("c", 5));
    const listed = [pod("b", 14), pod("c", 5), pod("d", 12)];
    assert.deepEqual(told(held, listed, 20), ["12: d 12", "14: b 14", "20: a gone"]);
  });

  void it("ends an object before another of its name begins, which came later", () => {
    const held = holding(9, pod("a", 3));
    assert.deepEqual(told(held, [pod("a", 14, "another")], 20), ["13: a gone", "14: a 14"]);
  });

  void it("stands nowhere before what is held, in the order it must have had there", () => {
    const held = holding(9, pod("a", 3));
    const listed = [pod("a", 9, "another"), pod("b", 8)];
    assert.deepEqual(told(held, listed, 9), ["9: a gone", "9: a 9", "9: b 8"]);
  });

  void it("counts what a list lacks by name", () => {
    const held = holding(9, pod("a", 3), pod("b", 4));
    assert.deepEqual(
      findMissing(held, [pod("b", 12)]).map(({ key }) => key),
      ["a"],
    );
  });
});
