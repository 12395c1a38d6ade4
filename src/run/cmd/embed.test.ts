/** A plane in this process: starts, serves, keeps its data with `dataDir`, and leaves nothing open. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startControlPlane } from "./embed.ts";

const nodes = { group: "", version: "v1", resource: "nodes" };
const configMaps = { group: "", version: "v1", resource: "configmaps" };

test("a plane in memory has its nodes when it is handed out, and stops at once", async () => {
  const plane = await startControlPlane({ nodes: 2 });
  const listed = await plane.client.list(nodes, {});
  assert.equal(listed.items.length, 2);
  assert.match(plane.kubeconfig, new RegExp(plane.url));
  await plane.stop();
});

test("two planes live side by side, and what one keeps is there when it comes back", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "pilothouse-embed-"));
  const object = { metadata: { name: "kept" } };
  const [first, other] = await Promise.all([
    startControlPlane({ dataDir, nodes: 0 }),
    startControlPlane({ nodes: 0 }),
  ]);
  await first.client.create(configMaps, "default", object);
  await assert.rejects(other.client.get(configMaps, "default", "kept"), /not found/);
  await Promise.all([first.stop(), other.stop()]);
  const again = await startControlPlane({ dataDir, nodes: 0 });
  const kept = await again.client.get(configMaps, "default", "kept");
  assert.equal(kept.metadata?.name, "kept");
  await again.stop();
  rmSync(dataDir, { recursive: true });
});

test("a start whose port is taken leaves its data directory free for the next one", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "pilothouse-embed-"));
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  await assert.rejects(startControlPlane({ dataDir, port, nodes: 0 }), /is already in use/);
  const plane = await startControlPlane({ dataDir, port: 0, nodes: 0 });
  await plane.stop();
  rmSync(dataDir, { recursive: true });
});

test("a start that fails in memory leaves no keys in the temporary folder", async (t) => {
  const former = process.env["TMPDIR"];
  const folder = mkdtempSync(join(tmpdir(), "pilothouse-embed-"));
  process.env["TMPDIR"] = folder;
  t.after(() => {
    if (former === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = former;
    rmSync(folder, { recursive: true });
  });
  await assert.rejects(startControlPlane({ host: "192.0.2.1", nodes: 0 }));
  assert.deepEqual(readdirSync(folder), []);
});
