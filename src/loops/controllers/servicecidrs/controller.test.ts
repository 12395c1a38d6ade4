/** ServiceCIDRs become Ready, and go when no address needs them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceCIDR } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, names, type World } from "../testing/world.ts";
import { ServiceCidrsController } from "./controller.ts";

const ref = refs.servicecidrs;
const finalizer = "networking.k8s.io/service-cidr-finalizer";

function put(world: World, name: string, cidr: string): void {
  world.api.put<ServiceCIDR>(ref, { metadata: { name }, spec: { cidrs: [cidr] } });
}

function putAddress(world: World, name: string): void {
  const labels = { "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" };
  world.api.put(refs.ipaddresses, { metadata: { name, labels } });
}

async function started(): Promise<World> {
  const world = createWorld();
  put(world, "more", "10.97.0.0/24");
  await world.start((deps) => new ServiceCidrsController(deps));
  await world.rest();
  return world;
}

function ready(world: World): readonly (readonly [string, string | undefined])[] {
  const { status } = world.api.peek<ServiceCIDR>(ref, "", "more") ?? {};
  return (status?.conditions ?? []).map((one) => [one.status, one.reason]);
}

test("a new range gets its finalizer and becomes Ready, once", async () => {
  const world = await started();
  assert.deepEqual(world.api.peek(ref, "", "more")?.metadata?.finalizers, [finalizer]);
  assert.deepEqual(ready(world), [["True", ""]]);
  world.forgetCalls();
  await world.rest();
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("a deleted range stays while an address lies in it alone, and goes ten seconds after", async () => {
  const world = await started();
  putAddress(world, "10.97.0.9");
  await world.rest();
  await world.api.delete(ref, "", "more");
  await world.rest();
  assert.deepEqual(ready(world), [["False", "Terminating"]]);
  await world.api.delete(refs.ipaddresses, "", "10.97.0.9");
  await world.rest();
  assert.deepEqual(names(world.api, ref), ["more"]);
  await world.advance(11_000);
  assert.deepEqual(names(world.api, ref), []);
  await world.stop();
});

test("a deleted range goes when another one holds its addresses", async () => {
  const world = await started();
  putAddress(world, "10.97.0.9");
  put(world, "whole", "10.97.0.0/16");
  await world.rest();
  await world.api.delete(ref, "", "more");
  await world.rest();
  await world.advance(11_000);
  assert.deepEqual(names(world.api, ref), ["whole"]);
  await world.stop();
});
