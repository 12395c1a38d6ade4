/** A hundred regions of 10,000 nodes each, as their summaries: what the coordinator keeps and writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { mcsRefs, refs } from "../names.ts";
import { SummaryKeeper } from "../summary/region-summary.ts";
import { summaryProperties } from "../summary/summary-text.ts";
import { deployment, deployments, placement, RegionsWorld, system } from "../testing/world.ts";

function summaryOfTenThousand(): Readonly<Record<string, string>> {
  const random = new FakeRandom(5);
  const keeper = new SummaryKeeper({ podsMax: 1 });
  for (let i = 0; i < 10_000; i++) {
    const labels = { "node.kubernetes.io/instance-type": `type-${random.below(20)}.xlarge` };
    const node: Node = {
      metadata: { name: `n${i}`, labels },
      status: {
        allocatable: {
          cpu: `${1 + random.below(96)}`,
          memory: `${1 + random.below(500)}Gi`,
          pods: "110",
        },
        conditions: [{ type: "Ready", status: "True" }],
      },
    };
    keeper.setNode(node);
  }
  const properties = summaryProperties(keeper.summary());
  return Object.fromEntries(properties.map(({ name, value }) => [name, value]));
}

test("a million nodes in a hundred regions: 1 MB of state, no writes at rest, a change reaches every region in one round", async (t) => {
  const world = new RegionsWorld();
  world.put(refs.namespaces, { metadata: { name: "default", uid: "ns" } });
  const summary = summaryOfTenThousand();
  for (let i = 0; i < 100; i++) world.join(`r${String(i).padStart(2, "0")}`, { summary });
  world.put(deployments, deployment("web", 1_000));
  world.put(refs.placements, placement("web", { regions: { weights: "FreeCapacity" } }));
  await world.start();
  await world.advance(30_000);
  const profiles = world.home.peekAll(refs.profiles, system);
  const stored = [...profiles, ...world.home.peekAll(refs.placements)];
  const bytes = stored.reduce((all, object) => all + JSON.stringify(object).length, 0);
  world.forgetCalls();
  await world.advance(60_000);
  assert.deepEqual(world.writes(), [], "at rest nothing is written");
  const spec = deployment("web", 2_000)["spec"];
  const before = world.home.peek(deployments, "default", "web");
  world.put(deployments, { ...before, metadata: { ...before?.metadata, generation: 2 }, spec });
  const cpu = process.cpuUsage();
  await world.rest();
  const used = process.cpuUsage(cpu);
  const sum = [...world.replicas("web").matchAll(/=(\d+)/g)].reduce(
    (all, [, n]) => all + Number(n),
    0,
  );
  assert.equal(sum, 2_000, "a change reaches every region without a timer");
  const writes = world.writes();
  const home = writes.filter((write) => write.startsWith("home")).length;
  const ms = Math.round((used.user + used.system) / 1_000);
  t.diagnostic(
    `${bytes} bytes of profiles and placements; a change: ${writes.length - home} writes to regions, ${home} to home, ${ms} ms CPU with 100 API servers in memory`,
  );
  assert.ok(bytes <= 1_000_000, `${bytes} bytes`);
  assert.ok(home <= 12, `${home} writes to home`);
  await world.close();
});

test("an endpoint that changes in one of a hundred regions is one write to each of them, and none to home", async (t) => {
  const world = new RegionsWorld();
  world.put(refs.namespaces, { metadata: { name: "default", uid: "ns" } });
  for (let i = 0; i < 100; i++) world.join(`r${i}`, { hasServices: true });
  const { api } = world.regions.get("r0") ?? assert.fail();
  const metadata = { name: "web", namespace: "default", uid: "web" };
  const ports = [{ port: 80, protocol: "TCP" }];
  const showEndpoints = (addresses: readonly string[]): void =>
    void api.put<AnyObject>(refs.endpointSlices, {
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      ports,
      endpoints: addresses.map((address) => ({ addresses: [address] })),
    });
  api.put<AnyObject>(refs.services, { metadata, spec: { clusterIP: "10.0.0.1", ports } });
  showEndpoints(["10.1.0.1"]);
  api.put<AnyObject>(mcsRefs.exports, { metadata });
  await world.start();
  await world.advance(3_000, 500);
  world.forgetCalls();
  await world.advance(60_000, 20_000);
  assert.deepEqual(world.writes(), [], "at rest nothing is written");
  showEndpoints(["10.1.0.1", "10.1.0.2"]);
  const cpu = process.cpuUsage();
  await world.advance(1_000, 200);
  const used = process.cpuUsage(cpu);
  const writes = world.writes();
  const slices = writes.filter((write) => write.includes(" patch endpointslices "));
  assert.deepEqual([writes.length, slices.length], [100, 100]);
  const ms = Math.round((used.user + used.system) / 1_000);
  t.diagnostic(`${writes.length} writes to regions, ${ms} ms CPU with 100 API servers in memory`);
  await world.close();
});
