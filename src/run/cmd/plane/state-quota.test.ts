/** How much a plane stores: from what its heap carries, unless flags say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stateQuota } from "./state-quota.ts";

const gigabyte = 2 ** 30;

test("a plane stores an object for 16 KiB of its heap, and an eighth of it in bytes", () => {
  assert.deepEqual(stateQuota({}, 4 * gigabyte), { keysMax: 262_144, bytesMax: gigabyte / 2 });
  assert.deepEqual(stateQuota({}, 2 ** 20), { keysMax: 2_000, bytesMax: 16 * 2 ** 20 });
});

test("flags say otherwise, each for itself", () => {
  const asked = stateQuota({ quotaObjects: 7 }, gigabyte);
  assert.deepEqual(asked, { keysMax: 7, bytesMax: gigabyte / 8 });
  const bytes = stateQuota({ quotaBackendBytes: 8 * gigabyte }, gigabyte);
  assert.deepEqual(bytes, { keysMax: 65_536, bytesMax: 8 * gigabyte });
});
