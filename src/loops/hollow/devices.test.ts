/** What a hollow driver publishes of a node's devices. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { slicesOf, type HollowDevices } from "./devices.ts";
import { hollowGpus } from "./testing.ts";

const devices: HollowDevices = { ...hollowGpus, perNode: 4, nvlinkDomainSize: 2 };
const node = { metadata: { name: "n", uid: "u" } };

test("devices are dealt over NVLink domains, in one slice of a complete pool", () => {
  const [slice, none] = slicesOf(devices, node);
  assert.equal(none, undefined);
  assert.deepEqual(slice?.spec.pool, { name: "n", generation: 1, resourceSliceCount: 1 });
  const domains = slice?.spec.devices?.map(({ attributes }) => attributes?.["nvlink"]?.int);
  assert.deepEqual(domains, [0, 0, 1, 1]);
});

test("partitions share their device by counters, in a slice of their own", () => {
  const partitions = [{ name: "quarter", count: 4 }];
  const [slice, counters] = slicesOf({ ...devices, perNode: 1, partitions }, node);
  assert.equal(slice?.spec.pool.resourceSliceCount, 2);
  assert.equal(counters?.spec.sharedCounters?.[0]?.counters["shares"]?.value, "840");
  const [whole, quarter] = slice?.spec.devices ?? [];
  assert.equal(whole?.consumesCounters?.[0]?.counters["shares"]?.value, "840");
  assert.equal(quarter?.consumesCounters?.[0]?.counters["shares"]?.value, "210");
  assert.equal(quarter?.capacity?.["memory"]?.value, "20Gi");
});

test("no slice is larger than the API takes", () => {
  const partitions = [{ name: "seventh", count: 7 }];
  const slices = slicesOf({ ...devices, perNode: 16, partitions }, node, 3);
  const sizes = slices.map(({ spec }) => [spec.devices?.length, spec.sharedCounters?.length]);
  assert.deepEqual(sizes, [
    [64, undefined],
    [64, undefined],
    [undefined, 8],
    [undefined, 8],
  ]);
  const pools = new Set(slices.map(({ spec }) => JSON.stringify(spec.pool)));
  assert.deepEqual([...pools], ['{"name":"n","generation":3,"resourceSliceCount":4}']);
  const seventh = slices[0]?.spec.devices?.[1]?.capacity?.["memory"]?.value;
  assert.equal(seventh, "11702Mi");
});
