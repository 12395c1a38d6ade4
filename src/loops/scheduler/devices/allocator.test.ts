/** What claims get, feature by feature: devices as `request=device`, or upstream's reason for none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, ResourceClaim } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import { makeNode } from "../testing.ts";
import type { DeviceState } from "./device-state.ts";
import { celPerDecision, stepsPerDecision } from "./device-state.ts";
import { claim, deviceClass, deviceState, exactly, gpu, gpus, onlyIf, slice } from "./testing.ts";

const node = makeNode("n");

function outcome(state: DeviceState, claims: readonly ResourceClaim[], on: Node = node): string {
  try {
    const budget = { left: stepsPerDecision, celLeft: celPerDecision };
    const verdict = state.judge(on, claims, { shape: state.shapeOf(claims), budget });
    if (verdict.kind === "refused") return verdict.reason;
    const results = state.allocateOn(on, claims, () => "share");
    claims.forEach((one, i) => state.allocated.set(must(one.metadata?.uid, "uid"), results[i]));
    return results
      .map(({ devices }) =>
        (devices?.results ?? []).map((r) => `${r.request}=${r.device}`).join(" "),
      )
      .join(" | ");
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test("devices are given in order, each once, until none is left", () => {
  const state = deviceState(slice("n", gpus(3)));
  assert.equal(outcome(state, [claim("a", [exactly("r")])]), "r=gpu-0");
  assert.equal(outcome(state, [claim("b", [exactly("r", { count: 2 })])]), "r=gpu-1 r=gpu-2");
  assert.equal(outcome(state, [claim("c", [exactly("r")])]), "cannot allocate all claims");
  state.allocated.set("uid-a", undefined);
  assert.equal(outcome(state, [claim("c", [exactly("r")])]), "r=gpu-0");
});

test("selectors of class and request narrow, by attribute, capacity, version and driver", () => {
  const devices = gpus(4, (at) => ({
    attributes: {
      model: { string: at < 2 ? "a" : "b" },
      "other.example.com/v": { version: `1.${at}.0` },
    },
    capacity: { memory: { value: `${at}0Gi` } },
  }));
  const state = deviceState(slice("n", devices));
  state.setClass(deviceClass("b", onlyIf('device.attributes["gpu.example.com"].model == "b"')));
  const ask = (expression: string, deviceClassName = "gpu"): string =>
    outcome(deviceStateLike(state), [
      claim("c", [exactly("r", { deviceClassName, ...onlyIf(expression) })]),
    ]);
  const deviceStateLike = (one: DeviceState): DeviceState => {
    one.allocated.set("uid-c", undefined);
    return one;
  };
  assert.equal(ask("true", "b"), "r=gpu-2");
  assert.equal(
    ask('device.capacity["gpu.example.com"].memory.compareTo(quantity("15Gi")) > 0'),
    "r=gpu-2",
  );
  assert.equal(
    ask('device.attributes["other.example.com"].v.isGreaterThan(semver("1.2.9"))'),
    "r=gpu-3",
  );
  assert.equal(ask('device.driver == "x"'), "cannot allocate all claims");
  assert.equal(ask('"none.example.com" in device.attributes'), "cannot allocate all claims");
  assert.equal(
    ask('device.attributes["none.example.com"].x'),
    "claim a/c: selector #0: CEL runtime error: no such key: x",
  );
  assert.match(
    ask("device.nothing"),
    /^claim a\/c: selector #0: CEL compile error: compilation failed:/,
  );
  assert.match(ask('"text"'), /must evaluate to bool or the unknown type, not string$/);
});

test("the first alternative that can be had is taken, and scored by its rank", () => {
  const big = onlyIf('device.attributes["gpu.example.com"].big');
  const request = {
    name: "r",
    firstAvailable: [
      { name: "one-big", deviceClassName: "gpu", ...big },
      { name: "two-small", deviceClassName: "gpu", count: 2 },
    ],
  };
  const small = (): object => ({ attributes: { big: { bool: false } } });
  const devices = [...gpus(2, small), gpu("huge", { attributes: { big: { bool: true } } })];
  const state = deviceState(slice("n", devices));
  assert.equal(outcome(state, [claim("a", [request])]), "r/one-big=huge");
  assert.equal(outcome(state, [claim("b", [request])]), "r/two-small=gpu-0 r/two-small=gpu-1");
  const other = deviceState(slice("n", gpus(2, small)), slice("m", devices));
  const shape = other.shapeOf([claim("a", [request])]);
  const judge = (name: string) =>
    other.judge(makeNode(name), [claim("a", [request])], {
      shape,
      budget: { left: 1_000, celLeft: 1_000_000 },
    });
  assert.deepEqual(judge("n"), { kind: "fits", score: 7 });
  assert.deepEqual(judge("m"), { kind: "fits", score: 8 });
});

test("all devices: every one that is selected, and none when one of them is in use", () => {
  const all = { allocationMode: "All" };
  const state = deviceState(slice("n", gpus(3)));
  assert.equal(outcome(state, [claim("a", [exactly("r", all)])]), "r=gpu-0 r=gpu-1 r=gpu-2");
  assert.equal(outcome(state, [claim("b", [exactly("r", all)])]), "cannot allocate all claims");
  const none = claim("c", [exactly("r", { ...all, ...onlyIf("false") })]);
  assert.equal(outcome(state, [none]), "cannot allocate all claims");
  const many = deviceState(slice("n", gpus(33)));
  assert.equal(
    outcome(many, [claim("a", [exactly("r", all)])]),
    "claim a/a: number of requested devices 33 exceeds the claim limit of 32",
  );
});

const numa = (at: number) => ({ attributes: { numa: { int: at % 2 } } });

test("matchAttribute: all of one value, found by going back", () => {
  const devices = gpus(5, numa);
  const match = { matchAttribute: "gpu.example.com/numa" };
  const state = deviceState(slice("n", devices));
  const three = claim("a", [exactly("x", { count: 2 }), exactly("y")], [match]);
  assert.equal(outcome(state, [three]), "x=gpu-0 x=gpu-2 y=gpu-4");
  assert.equal(
    outcome(state, [claim("b", [exactly("x", { count: 3 })], [match])]),
    "cannot allocate all claims",
  );
  assert.equal(
    outcome(state, [claim("b", [exactly("x", { count: 2 })], [match])]),
    "x=gpu-1 x=gpu-3",
  );
  const without = deviceState(slice("n", gpus(2)));
  assert.equal(
    outcome(without, [claim("b", [exactly("x")], [match])]),
    "cannot allocate all claims",
  );
});

test("distinctAttribute: each with another value, over all devices of a request", () => {
  const distinct = { distinctAttribute: "gpu.example.com/numa" };
  const state = deviceState(slice("n", gpus(5, numa)));
  assert.equal(
    outcome(state, [claim("a", [exactly("x", { count: 2 })], [distinct])]),
    "x=gpu-0 x=gpu-1",
  );
  const three = claim("b", [exactly("x", { count: 3 })], [distinct]);
  assert.equal(outcome(state, [three]), "cannot allocate all claims");
});

test("a constraint on requests leaves the others alone", () => {
  const match = { matchAttribute: "gpu.example.com/numa", requests: ["x"] };
  const state = deviceState(slice("n", gpus(3, numa)));
  const two = claim("a", [exactly("x", { count: 2 }), exactly("y")], [match]);
  assert.equal(outcome(state, [two]), "x=gpu-0 x=gpu-2 y=gpu-1");
});

test("admin access sees devices in use, and takes none of them away", () => {
  const state = deviceState(slice("n", gpus(1)));
  assert.equal(outcome(state, [claim("a", [exactly("r")])]), "r=gpu-0");
  const admin = claim("b", [exactly("r", { adminAccess: true })]);
  assert.equal(outcome(state, [admin]), "r=gpu-0");
  state.allocated.set("uid-a", undefined);
  assert.equal(outcome(state, [claim("c", [exactly("r")])]), "r=gpu-0");
});

test("tainted devices need a toleration", () => {
  const taints = [{ key: "broken", value: "yes", effect: "NoSchedule" }];
  const devices = [gpu("bad", { taints }), gpu("meh", { taints: [{ key: "k", effect: "None" }] })];
  const state = deviceState(slice("n", devices));
  assert.equal(outcome(state, [claim("a", [exactly("r")])]), "r=meh");
  assert.equal(outcome(state, [claim("b", [exactly("r")])]), "cannot allocate all claims");
  const tolerations = [{ key: "broken", operator: "Exists" }];
  assert.equal(outcome(state, [claim("b", [exactly("r", { tolerations })])]), "r=bad");
});

const counters = (value: string) => ({ memory: { value } });

test("partitions take shared counters, of their pool and driver alone", () => {
  const part = (name: string, value: string) =>
    gpu(name, { consumesCounters: [{ counterSet: "gpu-0", counters: counters(value) }] });
  const pool = { name: "n", generation: 1, resourceSliceCount: 2 };
  const parts = slice(
    "n",
    [part("whole", "80Gi"), part("half-0", "40Gi"), part("half-1", "40Gi")],
    { pool },
  );
  const sets = {
    ...slice("n", [], { pool, sharedCounters: [{ name: "gpu-0", counters: counters("80Gi") }] }),
    metadata: { name: "n-counters" },
  };
  const state = deviceState(parts, sets);
  assert.equal(outcome(state, [claim("a", [exactly("r", { count: 2 })])]), "r=half-0 r=half-1");
  assert.equal(outcome(state, [claim("b", [exactly("r")])]), "cannot allocate all claims");
  state.allocated.set("uid-a", undefined);
  assert.equal(outcome(state, [claim("b", [exactly("r")])]), "r=whole");
  const wrong = deviceState(slice("n", [part("x", "1Gi")]));
  assert.equal(
    outcome(wrong, [claim("a", [exactly("r")])]),
    "invalid resource pools were encountered",
  );
});

test("consumable capacity: a device is shared until its capacity is used up, in steps of its policy", () => {
  const requestPolicy = { default: "10Gi", validRange: { min: "10Gi", step: "5Gi" } };
  const shared = gpu("shared", {
    allowMultipleAllocations: true,
    capacity: { memory: { value: "40Gi", requestPolicy } },
  });
  const state = deviceState(slice("n", [shared]));
  const wanting = (name: string, memory?: string): ResourceClaim =>
    claim(name, [exactly("r", memory === undefined ? {} : { capacity: { requests: { memory } } })]);
  assert.equal(outcome(state, [wanting("a", "11Gi")]), "r=shared");
  const [given] = state.allocateOn(node, [wanting("b")], () => "id");
  assert.deepEqual(given?.devices?.results, [
    {
      request: "r",
      driver: "gpu.example.com",
      pool: "n",
      device: "shared",
      shareID: "id",
      consumedCapacity: { memory: "10Gi" },
    },
  ]);
  assert.equal(outcome(state, [wanting("b", "25Gi")]), "r=shared");
  assert.equal(outcome(state, [wanting("c")]), "cannot allocate all claims");
  const unknown = claim("d", [exactly("r", { capacity: { requests: { cores: "1" } } })]);
  assert.equal(outcome(state, [unknown]), "cannot allocate all claims");
});

test("a pool gives devices only when all slices of its newest generation are there", () => {
  const pool = (generation: number, resourceSliceCount: number) => ({
    name: "n",
    generation,
    resourceSliceCount,
  });
  const state = deviceState(slice("n", gpus(1), { pool: pool(1, 2) }));
  assert.equal(outcome(state, [claim("a", [exactly("r")])]), "cannot allocate all claims");
  const all = claim("a", [exactly("r", { allocationMode: "All" })]);
  const changing = "is currently being updated";
  const where = "asks for all devices, but resource pool gpu.example.com/n";
  assert.equal(outcome(state, [all]), `claim a/a, request r: ${where} ${changing}`);
  state.pools.set({
    ...slice("n", [gpu("new")], { pool: pool(2, 1) }),
    metadata: { name: "second" },
  });
  assert.equal(outcome(state, [claim("a", [exactly("r")])]), "r=new");
  state.pools.delete({ ...slice("n", [], { pool: pool(2, 1) }), metadata: { name: "second" } });
  state.allocated.set("uid-a", undefined);
  assert.equal(outcome(state, [claim("a", [exactly("r")])]), "cannot allocate all claims");
});

test("pools of all nodes, of selected nodes, and devices that say their nodes themselves", () => {
  const zone = { key: "zone", operator: "In", values: ["z"] };
  const nodeSelector = { nodeSelectorTerms: [{ matchExpressions: [zone] }] };
  const here = makeNode("n", { labels: { zone: "z" } });
  const fabric = deviceState(slice("net", gpus(1), { nodeSelector }));
  const elsewhere = "cannot allocate all claims";
  assert.equal(outcome(fabric, [claim("a", [exactly("r")])], makeNode("m")), elsewhere);
  const [given] = fabric.allocateOn(here, [claim("a", [exactly("r")])], () => "");
  assert.deepEqual(given?.nodeSelector, nodeSelector);
  const everywhere = deviceState(slice("net", gpus(1), { allNodes: true }));
  assert.equal(
    everywhere.allocateOn(here, [claim("a", [exactly("r")])], () => "")[0]?.nodeSelector,
    undefined,
  );
  const own = [gpu("x", { nodeName: "m" }), gpu("y", { nodeSelector })];
  const spec = { perDeviceNodeSelection: true, allNodes: true };
  const { allNodes: _, ...perDevice } = slice("net", own, spec).spec;
  const mixed = deviceState({ ...slice("net", own, spec), spec: perDevice });
  assert.equal(outcome(mixed, [claim("a", [exactly("r")])], here), "r=y");
  assert.equal(outcome(mixed, [claim("b", [exactly("r")])], makeNode("m")), "r=x");
});

test("configuration of class and claim goes into the result, for the requests that it is about", () => {
  const opaque = { driver: "gpu.example.com", parameters: { a: 1 } };
  const state = deviceState(slice("n", gpus(3)));
  state.setClass(deviceClass("gpu", { config: [{ opaque }] }));
  const wanted = claim("a", [exactly("x"), exactly("y")]);
  const config = [{ opaque }, { opaque, requests: ["y"] }];
  const [given] = state.allocateOn(
    node,
    [{ ...wanted, spec: { devices: { ...wanted.spec.devices, config } } }],
    () => "",
  );
  assert.deepEqual(given?.devices?.config, [
    { opaque, source: "FromClass", requests: ["x", "y"] },
    { opaque, source: "FromClaim" },
    { opaque, source: "FromClaim", requests: ["y"] },
  ]);
  const named = { key: "metadata.name", operator: "In", values: ["n"] };
  assert.deepEqual(given?.nodeSelector, { nodeSelectorTerms: [{ matchFields: [named] }] });
});

test("several claims of a pod are allocated together or not at all", () => {
  const first = onlyIf('device.attributes["gpu.example.com"].numa == 0');
  const state = deviceState(slice("n", gpus(2, numa)));
  const both = [claim("a", [exactly("r")]), claim("b", [exactly("r", first)])];
  assert.equal(outcome(state, both), "r=gpu-1 | r=gpu-0");
});

test("a search that leads nowhere ends at its steps", () => {
  const state = deviceState(slice("n", gpus(40)));
  const odd = onlyIf('device.attributes["gpu.example.com"].none == 1 || true');
  const hard = claim("a", [
    exactly("x", { count: 16, ...odd }),
    exactly("y", { count: 16, ...onlyIf("false") }),
  ]);
  assert.equal(outcome(state, [hard]), "timed out trying to allocate devices");
});
