/** Memory after churn: what caches keep for long must not hold the store's blocks it once lay in. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  configMap,
  newWorld,
  plainWrite,
  put,
  RecordingSink,
  type World,
} from "./testing/fixture.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const kept = 24;
const churnBytes = 60_000;
/** More than a block of the store between two objects that stay. */
const churnsBetween = 20;
const periodMs = 300_000;

/** The second collection waits for what the first one left to be swept. */
function heldBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** Long-lived objects, far from each other in the store, each of them read once. */
async function churn({ resource }: World): Promise<void> {
  const maps = resource("configmaps");
  await maps.create("default", configMap("churn"), plainWrite);
  for (let at = 0; at < kept; at++) {
    const made = await maps.create("default", configMap(`kept-${at}`), plainWrite);
    assert.equal(made.object.metadata?.name, `kept-${at}`);
    await maps.create("default", configMap(`gone-${at}`), plainWrite);
    const { object } = await maps.delete("default", `gone-${at}`, {}, plainWrite);
    assert.equal(object.object.metadata?.name, `gone-${at}`);
    for (let i = 0; i < churnsBetween; i++) {
      const data = { text: `${at} ${i} `.padEnd(churnBytes, "x") };
      await put(maps, "default/churn", (current) => ({ ...current, data }));
    }
  }
}

/** Four, for the first only takes note of the revision, and the second forgets up to it. */
async function periods({ clock }: World): Promise<void> {
  for (let i = 0; i < 4; i++) await clock.advance(periodMs);
}

test("objects that stay do not hold the blocks of those that came and went beside them", async () => {
  const before = heldBytes();
  const world = await newWorld({ compactPeriodMs: periodMs, ringItemsMax: 8 });
  await churn(world);
  const churned = heldBytes() - before;
  assert.ok(churned > kept * 2 ** 20, `${churned} bytes: there was too little churn`);
  await periods(world);
  const after = heldBytes() - before;
  assert.ok(
    after < 10 * 2 ** 20,
    `${Math.round(after / 2 ** 20)} MiB are held for ${kept} objects`,
  );
  for (let at = 0; at < kept; at++) {
    const found = await world.resource("configmaps").get("default", `kept-${at}`, {});
    assert.equal(found.object.metadata?.name, `kept-${at}`);
  }
});

test("a watch that resumes in the recent past is told the same once the past has moved", async () => {
  const world = await newWorld({ compactPeriodMs: periodMs });
  const maps = world.resource("configmaps");
  for (let i = 0; i < 6; i++) await maps.create("default", configMap(`m${i}`), plainWrite);
  const from = String(world.registry.revision);
  for (let i = 0; i < 6; i++) {
    await put(maps, `default/m${i}`, (current) => ({ ...current, data: { i: `${i}` } }));
    if (i % 2 === 0) await maps.delete("default", `m${i}`, {}, plainWrite);
  }
  const told = async (): Promise<readonly string[]> => {
    const sink = new RecordingSink();
    await maps.watch("", { allowBookmarks: false, resourceVersion: from }, sink);
    const text = (object?: { readonly json: Uint8Array }): string =>
      Buffer.from(object?.json ?? []).toString();
    return sink.items.map(({ type, object }) => `${type} ${text(object)}`);
  };
  const before = await told();
  assert.equal(before.length, 9);
  await periods(world);
  assert.deepEqual(await told(), before);
});
