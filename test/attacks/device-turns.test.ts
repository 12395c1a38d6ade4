/**
 * Claims and devices made to be expensive, before the scheduler's decision alone: searches that fit nowhere, selectors
 * at the limit of their cost, broken attributes. One decision stays bounded, and what it learnt is kept.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Device, ResourceClaim } from "#api/gen/types.ts";
import { celPerDecision, DeviceState, stepsPerDecision } from "#scheduler/devices/device-state.ts";
import { cel, claim, deviceClass, exactly, gpu, gpus, slice } from "#scheduler/devices/testing.ts";
import type { Verdict } from "#scheduler/devices/verdict-columns.ts";
import { makeNode } from "#scheduler/testing.ts";

/** Upstream ends a decision after ten seconds; ours ends far earlier, with room for a machine with other work. */
const decisionMsMax = 5_000;
const timedOut = { kind: "refused", reason: "timed out trying to allocate devices" };

interface Decision {
  readonly verdicts: readonly Verdict[];
  readonly tookMs: number;
}

/** As the plugin does: all nodes, one budget. */
function decide(
  state: DeviceState,
  claims: readonly ResourceClaim[],
  nodes: readonly string[],
): Decision {
  const budget = { left: stepsPerDecision, celLeft: celPerDecision };
  const shape = state.shapeOf(claims);
  const beganMs = performance.now();
  const verdicts = nodes.map((name) => state.judge(makeNode(name), claims, { shape, budget }));
  return { verdicts, tookMs: performance.now() - beganMs };
}

function withPools(count: number, devices: readonly Device[]): DeviceState {
  const state = new DeviceState();
  state.setClass(deviceClass("gpu"));
  for (let at = 0; at < count; at++) state.pools.set(slice(`p${at}`, devices, { allNodes: true }));
  return state;
}

const nodes = Array.from({ length: 50 }, (_, at) => `n${at}`);

test("64 requests of devices of 100 pools of 32 that fit nowhere end a decision in time", () => {
  const attributes = (at: number) => ({
    attributes: { a: { int: at % 4 }, b: { string: `v${at}` } },
  });
  const state = withPools(100, gpus(32, attributes));
  const requests = Array.from({ length: 32 }, (_, at) => exactly(`r${at}`));
  const hostile = ["a", "b"].map((name) =>
    claim(name, requests, [
      { matchAttribute: "gpu.example.com/a" },
      { distinctAttribute: "gpu.example.com/b" },
    ]),
  );
  const { verdicts, tookMs } = decide(state, hostile, nodes);
  assert.ok(verdicts.every(({ kind }) => kind === "refused"));
  assert.ok(tookMs < decisionMsMax, `${tookMs} ms`);
  // Another Pod is decided upon at once.
  const other = decide(state, [claim("c", [exactly("r")])], nodes);
  assert.ok(other.verdicts.every(({ kind }) => kind === "fits"));
  assert.ok(other.tookMs < decisionMsMax, `${other.tookMs} ms`);
});

const numbers = `[${Array.from({ length: 40 }, (_, at) => at).join(",")}]`;
const costly = `${numbers}.all(a, ${numbers}.all(b, ${numbers}.all(c, a + b + c >= 0)))`;

test("selectors at their limit of cost are asked of a few devices a decision, and the next goes on", () => {
  const state = withPools(1, gpus(64));
  const hostile = [claim("a", [exactly("r", { count: 32, selectors: cel(costly) })])];
  const first = decide(state, hostile, nodes);
  assert.deepEqual(first.verdicts[0], timedOut);
  assert.ok(first.tookMs < decisionMsMax, `${first.tookMs} ms`);
  let isFound = false;
  for (let attempt = 0; attempt < 32 && !isFound; attempt++) {
    const next = decide(state, hostile, ["n0"]);
    assert.ok(next.tookMs < decisionMsMax, `${next.tookMs} ms`);
    isFound = next.verdicts[0]?.kind === "fits";
  }
  assert.ok(isFound, "what was answered is kept until all is");
});

test("more selectors than are kept cost a decision no more than their budget", () => {
  const state = withPools(1, gpus(64));
  const selectors = (request: number) =>
    Array.from({ length: 32 }, (_, at) => cel(`"${request}-${at}" != device.driver`)).flat();
  const firstAvailable = (request: number) =>
    Array.from({ length: 8 }, (_, at) => ({
      name: `s${at}`,
      deviceClassName: "gpu",
      selectors: selectors(request * 8 + at),
    }));
  const choices = Array.from({ length: 31 }, (_, at) => ({
    name: `r${at}`,
    firstAvailable: firstAvailable(at),
  }));
  const requests = [...choices, exactly("never", { selectors: cel("false") })];
  const { verdicts, tookMs } = decide(state, [claim("a", requests)], nodes);
  assert.ok(verdicts.every(({ kind }) => kind === "refused"));
  assert.ok(tookMs < decisionMsMax, `${tookMs} ms`);
});

test("broken attributes and versions fail the claims that ask for them, and no others", () => {
  const hostile = gpu("hostile", {
    attributes: {
      version: { version: `${"9".repeat(60)}.x.` },
      nothing: {},
      constructor: { string: "x".repeat(64) },
      ["__proto__"]: { string: "y" },
    },
  });
  const state = withPools(1, [hostile, ...gpus(1)]);
  const ask = (name: string, expression: string) => () =>
    decide(state, [claim(name, [exactly("r", { selectors: cel(expression) })])], ["n0"]);
  assert.throws(ask("a", 'device.attributes["gpu.example.com"].version == semver("1.0.0")'), {
    name: "AllocationError",
    message: /^claim a\/a: selector #0: CEL runtime error: /,
  });
  const plain = decide(state, [claim("b", [exactly("r", { count: 2 })])], ["n0"]);
  assert.equal(plain.verdicts[0]?.kind, "fits");
});
