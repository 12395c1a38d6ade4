/** Which calls the recovery budget paces, and what it learns from their answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { conflict, tooManyRequests } from "#api/status.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { budgetedClient } from "./budgeted-client.ts";
import type { Client } from "./client.ts";
import { RecoveryBudget } from "./recovery-budget.ts";
import { createFakeApi, type FakeApi } from "./testing/fake-api.ts";

const pods = { group: "", version: "v1", resource: "pods" };
const services = { group: "", version: "v1", resource: "services" };
const limits = { firstPerSecond: 10, leastPerSecond: 1, mostPerSecond: 100 };

interface Given {
  readonly clock: FakeClock;
  readonly api: FakeApi;
  readonly budget: RecoveryBudget;
  readonly client: Client;
}

function given(): Given {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  const budget = new RecoveryBudget(clock, { limits });
  return { clock, api, budget, client: budgetedClient(api, budget, clock) };
}

const named = (name: string) => ({ metadata: { name, namespace: "a" } });

test("creations of pods and bindings wait; other kinds, dry runs and reads do not", async () => {
  const { clock, api, budget, client } = given();
  for (const step of ["create", "bind"] as const) {
    assert.equal(budget.take(step, "a"), undefined);
    budget.unused(step);
  }
  const paced = [
    client.create(pods, "a", named("p")),
    client.createSub(pods, "a", "q", "binding", {}).catch(() => undefined),
  ];
  await client.create(services, "a", named("s"));
  await client.create(pods, "a", named("dry"), { dryRun: true });
  await client.list(pods, { namespace: "a" });
  assert.deepEqual([budget.waiting("create"), budget.waiting("bind")], [1, 1]);
  assert.equal(api.peek(pods, "a", "p"), undefined);
  await clock.advance(200);
  await Promise.all(paced);
  assert.notEqual(api.peek(pods, "a", "p"), undefined);
});

test("a refusal for load halves the rate, a conflict changes nothing, both reach the caller", async () => {
  const { clock, api, budget, client } = given();
  const aPod = { group: "", resource: "pods" };
  api.fail(({ verb }) => verb === "create", conflict(aPod, "p", "changed"), 1);
  await assert.rejects(client.create(pods, "a", named("p")), /changed/);
  assert.equal(budget.perSecond, 10);
  await clock.advance(1_000);
  api.fail(({ verb }) => verb === "create", tooManyRequests("slow down", 1), 1);
  await assert.rejects(client.create(pods, "a", named("p")), /slow down/);
  assert.equal(budget.perSecond, 5);
});
