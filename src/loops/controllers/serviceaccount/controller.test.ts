/** What every namespace has. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { given } from "#base/given.ts";
import type { ConfigMap } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, type World } from "../testing/world.ts";
import { serviceAccountController } from "./controller.ts";
import { rootCaPublisher } from "./root-ca-publisher.ts";

function namespace(world: World, name: string, deletionTimestamp?: string): void {
  const going = given({ deletionTimestamp });
  world.api.put(refs.namespaces, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, ...going },
  });
}

async function started(): Promise<World> {
  const world = createWorld();
  namespace(world, "a");
  await world.start(
    (deps) => serviceAccountController(deps),
    (deps) => rootCaPublisher(deps, { rootCa: "PEM" }),
  );
  return world;
}

test("a namespace has its default account and the authority, and gets them back", async () => {
  const world = await started();
  const has = (): boolean =>
    world.api.peek(refs.serviceaccounts, "a", "default") !== undefined &&
    world.api.peek<ConfigMap>(refs.configmaps, "a", "kube-root-ca.crt")?.data?.["ca.crt"] === "PEM";
  assert.ok(has());
  world.api.drop(refs.serviceaccounts, "a", "default");
  world.api.drop(refs.configmaps, "a", "kube-root-ca.crt");
  await world.rest();
  assert.ok(has());
  const map = world.api.peek<ConfigMap>(refs.configmaps, "a", "kube-root-ca.crt");
  world.api.put(refs.configmaps, { ...map, data: { "ca.crt": "forged" } });
  await world.rest();
  assert.ok(has());
  await world.stop();
  world.forgetCalls();
  await world.start(
    (deps) => serviceAccountController(deps),
    (deps) => rootCaPublisher(deps, { rootCa: "PEM" }),
  );
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a new namespace gets them, one that is going does not", async () => {
  const world = await started();
  namespace(world, "b");
  namespace(world, "old", world.now());
  await world.rest();
  const accounts = world.api.peekAll(refs.serviceaccounts).map((one) => one.metadata?.namespace);
  assert.deepEqual(accounts, ["a", "b"]);
  await world.stop();
});
