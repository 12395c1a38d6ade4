/** Every kind once, and what could not be read is said. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { documents } from "../testing/discovery.ts";
import { createWorld } from "../testing/world.ts";
import { discover } from "./discovery.ts";

test("each resource once, in the preferred version where that has it, without subresources", async () => {
  const { resources, failed } = await discover(createWorld(documents).api);
  const apps = resources.filter(({ ref }) => ref.group === "apps");
  assert.deepEqual(
    apps.map(({ ref }) => `${ref.version}/${ref.resource}`),
    ["v1/replicasets", "v1beta1/controllerrevisions"],
  );
  assert.ok(resources.every(({ ref }) => !ref.resource.includes("/")));
  assert.deepEqual(failed, []);
});

test("a version that does not answer is named, and hides no other", async () => {
  const { "/apis/apps/v1": _gone, ...rest } = documents;
  const { resources, failed } = await discover(createWorld(rest).api);
  assert.deepEqual(failed, ["apps/v1"]);
  assert.ok(resources.some(({ ref }) => ref.resource === "controllerrevisions"));
});

test("without the list of groups nothing is known", async () => {
  await assert.rejects(discover(createWorld({}).api), /no document at \/apis/);
});
