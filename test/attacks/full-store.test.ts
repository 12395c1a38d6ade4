/**
 * A store at its quota: a user who may only create Deployments fills it, in one request. What is created is refused
 * as stock refuses it at etcd's quota; what is there is updated and deleted; then there is room again.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../process/stock-apiserver.ts";
import { type Answered, type PromisedPlane, startPromised } from "./promised-plane.ts";

const keysMax = 1_000;
const maps = "/api/v1/namespaces/default/configmaps";
const deployments = "/apis/apps/v1/namespaces/default/deployments";

let promised: PromisedPlane;
before(async () => {
  const stateQuota = { keysMax, bytesMax: 64 * 2 ** 20 };
  promised = await startPromised({ withLoops: true, nodes: 1, stateQuota });
  await promised.plane.registered;
});
after(() => promised.stop());

function createMap(): Promise<Answered> {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "m-" } };
  return promised.ask("POST", maps, { body });
}

/** Each that is taken leaves less room, so this ends. */
async function fill(): Promise<Answered> {
  for (let count = 0; count <= keysMax; count++) {
    const answer = await createMap();
    if (answer.status !== 201) return answer;
  }
  return assert.fail("more objects than the quota has");
}

function deployment(replicas: number): object {
  const labels = { app: "many" };
  const spec = { containers: [{ name: "c", image: "i" }] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "many" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  };
}

async function figure(name: string): Promise<number> {
  const { text } = await promised.ask("GET", "/metrics");
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

test("a Deployment of 2,000,000,000 replicas fills the store to its quota, and nothing else", async () => {
  const made = await promised.ask("POST", deployments, { body: deployment(2_000_000_000) });
  assert.equal(made.status, 201);
  const refused = await fill();
  assert.equal(refused.status, 500);
  assert.deepEqual(refused.json, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "etcdserver: mvcc: database space exceeded",
    code: 500,
  });
  assert.equal(await figure("pilothouse_store_quota_keys"), keysMax);
  assert.ok((await figure("pilothouse_store_state_keys")) <= keysMax);
  for (const path of ["/livez", "/readyz"]) {
    assert.equal((await promised.ask("GET", path)).status, 200);
  }
});

test("what is there is updated and deleted, and then there is room again", async () => {
  const type = "application/merge-patch+json";
  const body = { spec: { replicas: 0 } };
  const scaled = await promised.ask("PATCH", `${deployments}/many`, { body, type });
  assert.equal(scaled.status, 200, scaled.text);
  assert.equal((await promised.ask("DELETE", maps)).status, 200);
  assert.equal((await promised.ask("DELETE", `${deployments}/many`)).status, 200);
  await until("a create is taken", async () => (await createMap()).status === 201);
});
