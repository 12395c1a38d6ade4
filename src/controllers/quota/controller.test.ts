/** status.used is what is there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceQuota } from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { documents } from "../testing/discovery.ts";
import { createWorld, pod, type World } from "../testing/world.ts";
import { ResourceQuotaController } from "./controller.ts";
import { quotaStatus, sameQuotaStatus } from "./status.ts";

type Hard = Readonly<Record<string, string>>;

function quota(world: World, hard: Hard, status: ResourceQuota["status"] = {}): void {
  const metadata = { name: "q", namespace: "default" };
  world.api.put<ResourceQuota>(refs.resourcequotas, {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata,
    spec: { hard },
    status,
  });
}

function asking(name: string, cpu: string, fields: Partial<Pod> = {}): Pod {
  const containers = [{ name: "c", resources: { requests: { cpu } } }];
  return pod(name, { spec: { containers }, status: { phase: "Running" }, ...fields });
}

function used(world: World): unknown {
  return world.api.peek<ResourceQuota>(refs.resourcequotas, "default", "q")?.status?.used;
}

test("a quota counts what is there, falls when it goes or ends, and a second run writes nothing", async () => {
  const world = createWorld(documents);
  quota(world, { pods: "10", "requests.cpu": "4", "count/configmaps": "5" });
  world.api.put(refs.pods, asking("a", "500m"));
  world.api.put(refs.pods, asking("b", "1"));
  world.api.put(refs.pods, asking("far", "1", { metadata: { namespace: "other" } }));
  world.api.put(refs.configmaps, { metadata: { name: "c", namespace: "default" } });
  await world.start((deps) => new ResourceQuotaController(deps));
  await world.advance(2_000);
  assert.deepEqual(used(world), { pods: "2", "requests.cpu": "1500m", "count/configmaps": "1" });
  world.api.drop(refs.configmaps, "default", "c");
  world.setPod("b", { phase: "Succeeded" });
  await world.rest();
  assert.deepEqual(used(world), { pods: "1", "requests.cpu": "500m", "count/configmaps": "0" });
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new ResourceQuotaController(deps));
  await world.advance(2_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("what admission charged in vain is found within five minutes", async () => {
  const world = createWorld(documents);
  quota(world, { pods: "10" });
  await world.start((deps) => new ResourceQuotaController(deps));
  await world.advance(2_000);
  quota(world, { pods: "10" }, { hard: { pods: "10" }, used: { pods: "7" } });
  await world.advance(60_000);
  assert.deepEqual(used(world), { pods: "7" });
  await world.advance(5 * 60_000);
  assert.deepEqual(used(world), { pods: "0" });
  await world.stop();
});

test("names that nobody counts keep what was said of them", () => {
  const given: ResourceQuota = {
    spec: { hard: { pods: "1", odd: "3" } },
    status: { used: { odd: "2", gone: "1" } },
  };
  assert.deepEqual(quotaStatus(given, {}), { hard: { pods: "1", odd: "3" }, used: { odd: "2" } });
});

test("equal amounts are equal however they are written", () => {
  const a = { hard: { "requests.cpu": "2" }, used: { "requests.cpu": "1" } };
  assert.equal(sameQuotaStatus({ hard: a.hard, used: { "requests.cpu": "1000m" } }, a), true);
  assert.equal(sameQuotaStatus({ hard: a.hard, used: { "requests.cpu": "1001m" } }, a), false);
  assert.equal(sameQuotaStatus({ hard: a.hard }, a), false);
});
