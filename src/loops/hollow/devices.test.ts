/** What a hollow driver publishes of a node's devices. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { slicesOf, type HollowDevices } from "./devices.ts";

const devices: HollowDevices = {
  driver: "gpu.example.com",
  className: "gpu",
  perNode: 4,
  memory: "80Gi",
  attributes: { model: { string: "a100" } },
  nvlinkDomains: 2,
  partitions: [],
};
const node = { metadata: { name: "n", uid: "u" } };

test("devices are dealt over NVLink domains, in one slice of a complete pool", () => {
  const [slice, none] = slicesOf(devices, node);
  assert.equal(none, undefined);
  assert.deepEqual(slice?.spec.pool, { name: "n", generation: 1, resourceSliceCount: 1 });
  const domains = slice?.spec.devices?.map(({ attributes }) => attributes?.["nvlink"]?.int);
  assert.deepEqual(domains, [0, 0, 1, 1]);
});

test("partitions share the memory of their device by counters, in a slice of their own", () => {
  const partitions = [{ name: "quarter", count: 4 }];
  const [slice, counters] = slicesOf({ ...devices, perNode: 1, partitions }, node);
  assert.equal(slice?.spec.pool.resourceSliceCount, 2);
  assert.equal(counters?.spec.sharedCounters?.[0]?.counters["memory"]?.value, "840");
  const [whole, quarter] = slice?.spec.devices ?? [];
  assert.equal(whole?.consumesCounters?.[0]?.counters["memory"]?.value, "840");
  assert.equal(quarter?.consumesCounters?.[0]?.counters["memory"]?.value, "210");
  assert.equal(quarter?.capacity?.["memory"]?.value, "20Gi");
});
