/** Legacy tokens that nobody uses are marked, and deleted a period later; all others stay. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConfigMap, Secret, ServiceAccount } from "#api/gen/types.ts";
import { formatTime } from "#api/values/time.ts";
import { refs } from "../framework/refs.ts";
import { createWorld, pod, type World } from "../testing/world.ts";
import { LegacyTokenCleaner } from "./cleaner.ts";
import { dayMs } from "./plan.ts";

const used = "kubernetes.io/legacy-token-last-used";
const invalid = "kubernetes.io/legacy-token-invalid-since";
const period = 30 * dayMs;

function day(world: World, daysAgo: number): string {
  return formatTime(world.clock.nowMs() - daysAgo * dayMs).slice(0, 10);
}

function put(world: World, name: string, labels: Record<string, string>, daysOld = 90): void {
  const creationTimestamp = formatTime(world.clock.nowMs() - daysOld * dayMs);
  const annotations = { "kubernetes.io/service-account.name": "default" };
  world.api.put<Secret>(refs.secrets, {
    metadata: { name, namespace: "default", labels, annotations, creationTimestamp },
    type: "kubernetes.io/service-account-token",
  });
}

function world(sinceDaysAgo: number, listed: readonly string[]): World {
  const made = createWorld();
  made.api.put<ConfigMap>(refs.configmaps, {
    metadata: {
      name: "kube-apiserver-legacy-service-account-token-tracking",
      namespace: "kube-system",
    },
    data: { since: day(made, sinceDaysAgo) },
  });
  made.api.put<ServiceAccount>(refs.serviceaccounts, {
    metadata: { name: "default", namespace: "default" },
    secrets: listed.map((name) => ({ name })),
  });
  return made;
}

async function start(made: World): Promise<void> {
  await made.start((deps) => new LegacyTokenCleaner(deps, period));
  await made.advance(10_000);
}

test("what is unused is marked; what was marked a period ago goes", async () => {
  const made = world(60, ["unused", "old", "fresh", "active", "broken", "mounted", "recent"]);
  put(made, "unused", {});
  put(made, "old", { [invalid]: day(made, 31), [used]: day(made, 70) });
  put(made, "fresh", { [invalid]: day(made, 5) });
  put(made, "active", { [used]: day(made, 2) });
  put(made, "broken", { [used]: "yesterday" });
  put(made, "mounted", {});
  put(made, "recent", {}, 3);
  put(made, "by-hand", {});
  const secret = { secretName: "mounted" };
  const spec = { containers: [], volumes: [{ name: "token", secret }] };
  made.api.put(refs.pods, pod("user", { spec }));
  await start(made);
  assert.deepEqual(made.writes(), ["delete secrets default/old", "patch secrets default/unused"]);
  const marked = made.api.peek<Secret>(refs.secrets, "default", "unused");
  assert.equal(marked?.metadata?.labels?.[invalid], day(made, 0));
  await made.stop();
});

const tracking = "kube-apiserver-legacy-service-account-token-tracking";

for (const [name, sinceDaysAgo, isNoted] of [
  ["before uses were noted for a period", 29, true],
  ["where nobody notes uses", 60, false],
] as const) {
  test(`nothing is touched ${name}`, async () => {
    const made = world(sinceDaysAgo, ["unused"]);
    put(made, "unused", {});
    if (!isNoted) made.api.drop(refs.configmaps, "kube-system", tracking);
    await start(made);
    assert.deepEqual(made.writes(), []);
    await made.stop();
  });
}
