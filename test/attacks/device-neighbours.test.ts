/**
 * Pods with hostile claims before a whole plane: selectors at the API's limit of cost, and searches that fit nowhere.
 * Pods of other people go on being placed meanwhile, with and without devices.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { until } from "../process/stock-apiserver.ts";
import { type PromisedPlane, startPromised } from "./promised-plane.ts";

const devices = {
  driver: "gpu.example.com",
  className: "gpu",
  perNode: 64,
  capacity: { memory: "80Gi" },
  attributes: { model: { string: "h100" } },
  nvlinkDomainSize: 8,
  partitions: [],
  prepareMs: 0,
};
const core = "/api/v1/namespaces/default/pods";
const group = "/apis/resource.k8s.io/v1";
const claims = `${group}/namespaces/default/resourceclaims`;
/** A decision may take a second on a slow machine; several hostile ones may stand before it. */
const placedMsMax = 30_000;

let promised: PromisedPlane;
before(async () => {
  promised = await startPromised({ withLoops: true, nodes: 3, devices });
  await promised.plane.registered;
  await until("the slices of three nodes", async () => {
    const { json } = await promised.ask("GET", `${group}/resourceslices`);
    return (json as { items?: readonly unknown[] }).items?.length === 3;
  });
});
after(() => promised.stop());

async function create(path: string, body: object): Promise<void> {
  const { status, text } = await promised.ask("POST", path, { body });
  assert.equal(status, 201, text);
}

async function claimant(name: string, spec: object): Promise<void> {
  const apiVersion = "resource.k8s.io/v1";
  await create(claims, { apiVersion, kind: "ResourceClaim", metadata: { name }, spec });
  await pod(name, { resourceClaims: [{ name: "r", resourceClaimName: name }] });
}

function pod(name: string, spec: object = {}): Promise<void> {
  const containers = [{ name: "c", image: "nginx:1" }];
  return create(core, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers, ...spec },
  });
}

async function placedIn(name: string): Promise<number> {
  const beganMs = performance.now();
  await until(`pod ${name} on a node`, async () => {
    const { text } = await promised.ask("GET", `${core}/${name}`);
    return (JSON.parse(text) as Pod).spec?.nodeName !== undefined;
  });
  return performance.now() - beganMs;
}

const numbers = `[${Array.from({ length: 30 }, (_, at) => at).join(",")}]`;
const costly = (at: number): string =>
  `${numbers}.all(a, ${numbers}.all(b, ${numbers}.all(c, a + b + c != ${-1 - at}))) && false`;

test("hostile claims wait, everybody else is placed", async () => {
  for (let at = 0; at < 8; at++) {
    const selectors = [{ cel: { expression: costly(at) } }];
    const exactly = { deviceClassName: "gpu", count: 32, selectors };
    await claimant(`costly-${at}`, { devices: { requests: [{ name: "r", exactly }] } });
  }
  const requests = Array.from({ length: 32 }, (_, at) => ({
    name: `r${at}`,
    exactly: { deviceClassName: "gpu" },
  }));
  const constraints = [
    { matchAttribute: "gpu.example.com/model" },
    { distinctAttribute: "gpu.example.com/nvlink" },
  ];
  for (let at = 0; at < 4; at++) {
    await claimant(`endless-${at}`, { devices: { requests, constraints } });
  }
  for (let at = 0; at < 5; at++) {
    await pod(`plain-${at}`);
    const one = { name: "r", exactly: { deviceClassName: "gpu" } };
    await claimant(`device-${at}`, { devices: { requests: [one] } });
    const tookMs = [await placedIn(`plain-${at}`), await placedIn(`device-${at}`)];
    assert.ok(
      tookMs.every((ms) => ms < placedMsMax),
      tookMs.join(" and "),
    );
  }
  const { json } = await promised.ask("GET", core);
  const { items } = json as unknown as { items: readonly Pod[] };
  const hostile = items.filter(({ metadata }) => /costly|endless/.test(metadata?.name ?? ""));
  assert.equal(hostile.length, 12);
  assert.ok(hostile.every(({ spec }) => spec?.nodeName === undefined));
});
