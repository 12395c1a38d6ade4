/** When pods must go because of taints of their devices: tolerations, generations of pools, claims that do not count. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  DeviceTaint,
  DeviceToleration,
  Pod,
  ResourceClaim,
  ResourceSlice,
} from "#api/gen/types.ts";
import { pod } from "../testing/world.ts";
import { evictingTaints, podDueMs } from "./tolerance.ts";

const addedMs = Date.parse("2026-01-01T00:00:00Z");
const broken: DeviceTaint = {
  key: "broken",
  value: "yes",
  effect: "NoExecute",
  timeAdded: "2026-01-01T00:00:00Z",
};
const sinceMs = addedMs + 5_000;

function slice(generation: number | bigint, taints: readonly DeviceTaint[]): ResourceSlice {
  const pool = { name: "n1", generation, resourceSliceCount: 1 };
  return { spec: { driver: "gpu.example.com", pool, devices: [{ name: "gpu-0", taints }] } };
}

function claim(tolerations: readonly DeviceToleration[], uid = "uid-p"): ResourceClaim {
  const device = { request: "r", driver: "gpu.example.com", pool: "n1", device: "gpu-0" };
  const allocation = { devices: { results: [{ ...device, tolerations }] } };
  const reservedFor = [{ resource: "pods", name: "p", uid }];
  return { metadata: { name: "c" }, spec: {}, status: { allocation, reservedFor } };
}

const user: Pod = pod("p", {
  spec: {
    containers: [],
    nodeName: "n1",
    resourceClaims: [{ name: "gpu", resourceClaimName: "c" }],
  },
});

/** Seconds from the time of the taint; undefined: never. */
function dueSeconds(
  tolerations: readonly DeviceToleration[],
  { taints = [broken], of = user }: { taints?: readonly DeviceTaint[]; of?: Pod } = {},
): number | undefined {
  const byDevice = evictingTaints([slice(1, taints)]);
  const view = {
    claim: () => claim(tolerations),
    taintsOf: ({ device }: { device: string }) => byDevice.get(device) ?? [],
  };
  const dueMs = podDueMs(of, view, sinceMs);
  return dueMs === undefined ? undefined : (dueMs - addedMs) / 1000;
}

const tolerating = (fields: DeviceToleration): DeviceToleration => ({
  key: "broken",
  operator: "Exists",
  effect: "NoExecute",
  ...fields,
});

test("a taint that nothing tolerates is due from its time on", () => {
  assert.equal(dueSeconds([]), 0);
  assert.equal(dueSeconds([tolerating({ key: "other" })]), 0);
  assert.equal(dueSeconds([tolerating({ operator: "Equal", value: "no" })]), 0);
  assert.equal(dueSeconds([tolerating({ operator: "Near" })]), 0);
  const { timeAdded: _, ...undated } = broken;
  assert.equal(dueSeconds([], { taints: [undated] }), 5);
  assert.equal(dueSeconds([tolerating({ tolerationSeconds: 7 })], { taints: [undated] }), 12);
});

test("a toleration without seconds tolerates for good, otherwise the shortest counts", () => {
  assert.equal(dueSeconds([tolerating({})]), undefined);
  assert.equal(dueSeconds([tolerating({ key: "" })]), undefined);
  assert.equal(dueSeconds([{ key: "broken", value: "yes", effect: "NoExecute" }]), undefined);
  const seconds = (...all: readonly (number | bigint)[]): DeviceToleration[] =>
    all.map((tolerationSeconds) => tolerating({ tolerationSeconds }));
  assert.equal(dueSeconds(seconds(60, 30, 90)), 30);
  assert.equal(dueSeconds(seconds(60, -30)), 0);
  assert.equal(dueSeconds([...seconds(30), tolerating({})]), undefined);
});

test("a toleration of all effects does not protect, as upstream", () => {
  assert.equal(dueSeconds([tolerating({ effect: "" })]), 0);
  assert.equal(dueSeconds([tolerating({ effect: "NoSchedule" })]), 0);
});

test("of several taints and claims the soonest counts; other effects do not", () => {
  const later = { ...broken, key: "later", timeAdded: "2026-01-01T00:00:40Z" };
  assert.equal(dueSeconds([], { taints: [later, broken] }), 0);
  assert.equal(dueSeconds([tolerating({})], { taints: [later, broken] }), 40);
  const harmless = ["NoSchedule", "None", "Odd"].map((effect) => ({ ...broken, effect }));
  assert.equal(dueSeconds([], { taints: harmless }), undefined);
});

test("a pod without a node, or whose claim is another's, is never due", () => {
  const spec = { ...user.spec, containers: [], nodeName: "" };
  assert.equal(dueSeconds([], { of: { ...user, spec } }), undefined);
  const namesake = { ...user, metadata: { ...user.metadata, uid: "uid-later" } };
  assert.equal(dueSeconds([], { of: namesake }), undefined);
  const fromTemplate = {
    ...user,
    spec: {
      containers: [],
      nodeName: "n1",
      resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "t" }],
    },
    status: { resourceClaimStatuses: [{ name: "gpu", resourceClaimName: "c" }] },
  };
  assert.equal(dueSeconds([], { of: fromTemplate }), undefined, "not its owner");
});

test("slices of an earlier generation of their pool do not count", () => {
  const known = (...slices: readonly ResourceSlice[]) => [...evictingTaints(slices).keys()];
  assert.deepEqual(known(slice(1, [broken])), ["gpu-0"]);
  assert.deepEqual(known(slice(1, [broken]), slice(2, [])), []);
  assert.deepEqual(known(slice(2, []), slice(2n ** 60n, [broken])), ["gpu-0"]);
  assert.deepEqual(known(), []);
});

test("a thousand taints with hostile keys, and seconds beyond what a number holds", () => {
  const keys = ["__proto__", "constructor", "toString", "\u0000", "a/".repeat(500), "ключ"];
  const taints = Array.from({ length: 1_000 }, (_, at) => {
    const key = `${keys[at % keys.length] ?? ""}${at < keys.length ? "" : at}`;
    return { ...broken, key };
  });
  assert.equal(dueSeconds([], { taints }), 0);
  const each = taints.map(({ key }) => tolerating({ key, tolerationSeconds: 2n ** 62n }));
  const due = dueSeconds(each, { taints }) ?? 0;
  assert.ok(due > 9e15 && Number.isFinite(due), String(due));
  assert.equal(dueSeconds(each.slice(1), { taints }), 0);
  const longest = tolerating({ key: "", tolerationSeconds: -(2n ** 63n) });
  assert.equal(dueSeconds([longest], { taints }), 0);
  const odd = ["", "yesterday", "+275761-01-01T00:00:00Z", "9".repeat(1_000)];
  for (const timeAdded of odd)
    assert.equal(dueSeconds([], { taints: [{ ...broken, timeAdded }] }), 5, timeAdded);
});
