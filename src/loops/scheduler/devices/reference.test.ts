/**
 * Compares the allocator with a slow and simple oracle, which tries every assignment of devices to requests against the
 * documented rules, on small random pools. Also tests histories of allocations that are made and released in any order,
 * while the driver publishes other devices, attributes and taints.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  AllocationResult,
  Device,
  DeviceConstraint,
  DeviceRequest,
  ResourceClaim,
  ResourceSlice,
} from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { makeNode } from "../testing.ts";
import type { DeviceState } from "./device-state.ts";
import { claim, deviceState, driver, exactly, gpu, onlyIf, slice } from "./testing.ts";

const node = makeNode("n");
const runs = Number(process.env["REFERENCE_SEEDS"] ?? 400);
const counterMost = 8;
const capacityMost = 6;

interface World {
  readonly devices: readonly Device[];
  readonly slices: readonly ResourceSlice[];
}

function makeWorld(random: FakeRandom): World {
  const count = 1 + random.below(6);
  return worldOf(
    Array.from({ length: count }, (_, at) => makeDevice(random, at)),
    1,
  );
}

/** The driver publishes its pool anew: other attributes and taints, perhaps a device more or less. */
function changedWorld(random: FakeRandom, { devices }: World, generation: number): World {
  const others = devices.map((device, at): Device => {
    const { attributes, taints = [] } = makeDevice(random, at);
    return { ...device, taints, ...(attributes === undefined ? {} : { attributes }) };
  });
  const more = random.below(3);
  if (more === 0 && others.length < 6) others.push(makeDevice(random, others.length));
  if (more === 1) others.pop();
  return worldOf(others, generation);
}

function worldOf(devices: readonly Device[], generation: number): World {
  const pool = { name: "n", generation, resourceSliceCount: 2 };
  const sharedCounters = [{ name: "s", counters: { c: { value: String(counterMost) } } }];
  const sets = { ...slice("n", [], { pool, sharedCounters }), metadata: { name: "sets" } };
  return { devices, slices: [slice("n", devices, { pool }), sets] };
}

function makeDevice(random: FakeRandom, at: number): Device {
  const attributes = {
    kind: { string: "ab".charAt(random.below(2)) },
    ...(random.below(4) === 0 ? {} : { group: { int: random.below(2) } }),
  };
  const isPart = random.below(3) === 0;
  const counters = { c: { value: String(1 + random.below(6)) } };
  return gpu(`d${at}`, {
    attributes,
    ...(isPart ? { consumesCounters: [{ counterSet: "s", counters }] } : {}),
    ...(random.below(3) === 0
      ? { allowMultipleAllocations: true, capacity: { m: { value: String(capacityMost) } } }
      : {}),
    ...(random.below(6) === 0 ? { taints: [{ key: "t", effect: "NoSchedule" }] } : {}),
  });
}

function makeRequest(random: FakeRandom, name: string): DeviceRequest {
  const select = random.below(2) === 0 ? {} : onlyIf(`device.attributes["${driver}"].kind == "a"`);
  const count = 1 + random.below(2);
  if (random.below(3) > 0) {
    const tolerations = random.below(3) === 0 ? [{ key: "t", operator: "Exists" }] : [];
    return exactly(name, { count, ...select, tolerations });
  }
  const first = { name: "x", deviceClassName: "gpu", count: 2, ...select };
  return { name, firstAvailable: [first, { name: "y", deviceClassName: "gpu", count: 1 }] };
}

function makeClaim(random: FakeRandom, name: string): ResourceClaim {
  const requests = ["p", "q"].slice(random.below(2)).map((one) => makeRequest(random, one));
  const attribute = `${driver}/group`;
  const constraints: DeviceConstraint[] = [];
  if (random.below(3) === 0) constraints.push({ matchAttribute: attribute });
  if (random.below(4) === 0) constraints.push({ distinctAttribute: attribute });
  return claim(name, requests, constraints);
}

interface Slot {
  readonly isA: boolean;
  readonly tolerates: boolean;
}

/** Every way to choose one alternative for each request, as the devices that are then wanted. */
function choicesOf({ spec }: ResourceClaim): Slot[][] {
  let choices: Slot[][] = [[]];
  for (const { exactly: one, firstAvailable = [] } of spec.devices?.requests ?? []) {
    const alternatives = one === undefined ? firstAvailable : [one];
    choices = choices.flatMap((before) =>
      alternatives.map((each) => {
        const isA = (each.selectors ?? []).length > 0;
        const tolerates = (each.tolerations ?? []).length > 0;
        const slots = Array.from({ length: Number(each.count ?? 1) }, () => ({ isA, tolerates }));
        return [...before, ...slots];
      }),
    );
  }
  return choices;
}

/** Uses of devices by claims that have them, and by the one in question: by index. */
function isAllowed(
  devices: readonly Device[],
  given: readonly number[],
  slots: readonly Slot[],
  chosen: readonly number[],
  constraints: readonly DeviceConstraint[],
): boolean {
  // Devices that are gone use nothing.
  const used = [...given.filter((at) => at < devices.length), ...chosen];
  for (const [at, device] of devices.entries()) {
    const users = used.filter((one) => one === at).length;
    const isShared = device.allowMultipleAllocations === true;
    // Without a policy a request takes the whole capacity.
    if (users > 1 || (isShared && users * capacityMost > capacityMost)) return false;
  }
  const amountOf = ({ consumesCounters = [] }: Device): number =>
    Number(consumesCounters[0]?.counters["c"]?.value ?? 0);
  const taken = [...new Set(used)].reduce((sum, at) => sum + amountOf(must(devices[at], "one")), 0);
  if (chosen.some((at) => amountOf(must(devices[at], "one")) > 0) && taken > counterMost)
    return false;
  const picked = chosen.map((at) => must(devices[at], "one"));
  const fits = picked.every(({ attributes, taints = [] }, i) => {
    const slot = must(slots[i], "as many");
    return (
      (!slot.isA || attributes?.["kind"]?.string === "a") && (slot.tolerates || taints.length === 0)
    );
  });
  return fits && constraints.every((one) => holds(one, picked));
}

function holds({ matchAttribute }: DeviceConstraint, picked: readonly Device[]): boolean {
  const values = picked.map(({ attributes }) => attributes?.["group"]?.int);
  if (values.includes(undefined)) return false;
  const different = new Set(values).size;
  return matchAttribute === undefined ? different === values.length : different <= 1;
}

function canBeSatisfied(
  { devices }: World,
  given: readonly number[],
  wanted: ResourceClaim,
): boolean {
  const constraints = wanted.spec.devices?.constraints ?? [];
  return choicesOf(wanted).some((slots) => {
    const tryFrom = (chosen: readonly number[]): boolean => {
      if (chosen.length === slots.length)
        return isAllowed(devices, given, slots, chosen, constraints);
      return devices.some((_, at) => tryFrom([...chosen, at]));
    };
    return tryFrom([]);
  });
}

function allocate(state: DeviceState, wanted: ResourceClaim): AllocationResult | undefined {
  const how = { shape: state.shapeOf([wanted]), budget: { left: 100_000, celLeft: 1e9 } };
  if (state.judge(node, [wanted], how).kind === "refused") return undefined;
  return state.allocateOn(node, [wanted], () => "share")[0];
}

function indexesOf(result: AllocationResult): readonly number[] {
  return (result.devices?.results ?? []).map(({ device }) => Number(device.slice(1)));
}

test("a claim gets devices exactly when some assignment satisfies it, through any history", () => {
  let found = 0;
  let refused = 0;
  for (let seed = 1; seed <= runs; seed++) {
    const random = new FakeRandom(seed);
    let world = makeWorld(random);
    const state = deviceState(...world.slices);
    const held = new Map<string, readonly number[]>();
    for (let step = 0; step < 12; step++) {
      if (random.below(5) === 0) {
        world = changedWorld(random, world, 2 + step);
        for (const one of world.slices) state.pools.set(one);
      }
      const [oldest] = held.keys();
      if (oldest !== undefined && random.below(3) === 0) {
        // Rolled back, or freed: to the allocator it is the same.
        state.allocated.set(oldest, undefined);
        held.delete(oldest);
        continue;
      }
      const wanted = makeClaim(random, `c${step}`);
      const given = [...held.values()].flat();
      const result = allocate(state, wanted);
      const where = `seed ${seed}, step ${step}: ${JSON.stringify({ world, wanted, given })}`;
      assert.equal(result !== undefined, canBeSatisfied(world, given, wanted), where);
      if (result === undefined) refused++;
      else {
        found++;
        const indexes = indexesOf(result);
        const all = [...given, ...indexes];
        assert.equal(new Set(all).size, all.length, `a device is given twice: ${where}`);
        state.allocated.set(`uid-c${step}`, result);
        held.set(`uid-c${step}`, indexes);
      }
    }
  }
  assert.ok(found > runs && refused > runs, `found ${found}, refused ${refused}`);
});
