/** Every endpoint in exactly one slice, by the fewest writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Endpoint, EndpointSlice } from "#api/gen/types.ts";
import { portKey, type PortGroup } from "./desired.ts";
import { endpointsMax, planSlices, type SlicePlan } from "./slices.ts";

const labels = { app: "web" };

function endpoint(uid: string, ready = true): Endpoint {
  return { addresses: [`10.0.0.${uid}`], conditions: { ready }, targetRef: { uid } };
}

function group(port: number, ...uids: readonly string[]): PortGroup {
  const endpoints = new Map(uids.map((uid) => [uid, endpoint(uid)]));
  return { ports: [{ name: "", port, protocol: "TCP" }], endpoints };
}

function slice(name: string, port: number, ...uids: readonly string[]): EndpointSlice {
  const { ports, endpoints } = group(port, ...uids);
  return {
    addressType: "IPv4",
    metadata: { name, labels },
    ports,
    endpoints: [...endpoints.values()],
  };
}

function range(from: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_one, at) => String(from + at));
}

/** What the plan makes of the slices, and the slices there are then. */
function applied(existing: readonly EndpointSlice[], plan: SlicePlan): readonly EndpointSlice[] {
  const gone = new Set(plan.remove);
  const kept = existing.filter((one) => !gone.has(one));
  const written = new Map(plan.update.map(({ slice: one, content }) => [one, content]));
  const updated = kept.map((one) => ({
    ...one,
    ...written.get(one),
    metadata: { ...one.metadata, labels },
  }));
  const made = plan.create.map((content, at) => ({
    addressType: "IPv4",
    metadata: { name: `made-${at}-${existing.length}`, labels },
    ...content,
  }));
  return [...updated, ...made];
}

const sizes = (
  slices: readonly { readonly endpoints?: readonly Endpoint[] }[],
): readonly number[] => slices.map((one) => one.endpoints?.length ?? 0);

test("no endpoints: one empty slice, made once and kept", () => {
  const plan = planSlices({ groups: [], existing: [], labels });
  assert.deepEqual(plan, { create: [{ ports: [], endpoints: [] }], update: [], remove: [] });
  const existing = applied([], plan);
  assert.deepEqual(planSlices({ groups: [], existing, labels }), {
    create: [],
    update: [],
    remove: [],
  });
});

test("the empty slice becomes the first real one, and a last real one the empty one", () => {
  const empty = { addressType: "IPv4", metadata: { name: "e", labels }, ports: [], endpoints: [] };
  const filled = planSlices({ groups: [group(80, "1")], existing: [empty], labels });
  assert.deepEqual([filled.create.length, filled.update.length, filled.remove.length], [0, 1, 0]);
  const emptied = planSlices({ groups: [], existing: [slice("a", 80, "1")], labels });
  assert.deepEqual(
    [emptied.create.length, emptied.update.length, emptied.remove.length],
    [0, 1, 0],
  );
  assert.deepEqual(emptied.update[0]?.content, { ports: [], endpoints: [] });
});

test("what does not change is not written", () => {
  const existing = [slice("a", 80, ...range(0, 60)), slice("b", 80, ...range(100, 60))];
  const groups = [group(80, ...range(0, 60), ...range(100, 60))];
  assert.deepEqual(planSlices({ groups, existing, labels }), {
    create: [],
    update: [],
    remove: [],
  });
});

test("new endpoints go into a slice that is written anyway, then the fullest with room, then a new one", () => {
  const existing = [slice("a", 80, ...range(0, 90)), slice("b", 80, ...range(100, 50))];
  const without = [...range(1, 89), ...range(100, 50)];
  const anyway = planSlices({ groups: [group(80, ...without, "500")], existing, labels });
  assert.deepEqual(
    anyway.update.map((one) => one.slice.metadata?.name),
    ["a"],
  );
  const all = [...range(0, 90), ...range(100, 50)];
  const fullest = planSlices({ groups: [group(80, ...all, ...range(500, 10))], existing, labels });
  assert.deepEqual(
    fullest.update.map((one) => one.slice.metadata?.name),
    ["a"],
  );
  const roomy = planSlices({ groups: [group(80, ...all, ...range(500, 40))], existing, labels });
  assert.deepEqual(
    roomy.update.map((one) => one.slice.metadata?.name),
    ["b"],
  );
  const many = planSlices({ groups: [group(80, ...all, ...range(500, 150))], existing, labels });
  assert.deepEqual(sizes(many.create), [100, 50]);
});

test("changed labels are written to every slice", () => {
  const existing = [slice("a", 80, "1")];
  const plan = planSlices({ groups: [group(80, "1")], existing, labels: { app: "other" } });
  assert.equal(plan.update.length, 1);
});

test("over any history: each endpoint once, no slice too big, ports never mixed, a second plan empty", () => {
  const wanted = fc.array(
    fc.record({
      port: fc.constantFrom(80, 443, 8080),
      from: fc.nat(300),
      count: fc.nat(230),
      ready: fc.boolean(),
    }),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(fc.array(wanted, { minLength: 1, maxLength: 6 }), (history) => {
      let existing: readonly EndpointSlice[] = [];
      for (const step of history) {
        const byPort = new Map<number, Map<string, Endpoint>>();
        const taken = new Set<string>();
        for (const { port, from, count, ready } of step) {
          const endpoints = byPort.get(port) ?? new Map<string, Endpoint>();
          for (const uid of range(from, count)) {
            if (taken.has(uid)) continue;
            taken.add(uid);
            endpoints.set(uid, endpoint(uid, ready));
          }
          if (endpoints.size > 0) byPort.set(port, endpoints);
        }
        const groups = [...byPort].map(([port, endpoints]) => ({ ...group(port), endpoints }));
        const plan = planSlices({ groups, existing, labels });
        existing = applied(existing, plan);
        assert.ok(existing.length > 0);
        for (const { ports, endpoints } of groups) {
          const same = existing.filter((one) => portKey(one.ports ?? []) === portKey(ports));
          const found = same.flatMap((one) => one.endpoints ?? []);
          const uids = found.map((one) => one.targetRef?.uid ?? "").toSorted();
          assert.deepEqual(uids, [...endpoints.keys()].toSorted());
          for (const one of found) {
            const uid = one.targetRef?.uid ?? "";
            assert.equal(one.conditions?.ready, endpoints.get(uid)?.conditions?.ready);
          }
        }
        const total = sizes(existing).reduce((sum, size) => sum + size, 0);
        assert.equal(total, taken.size);
        assert.ok(sizes(existing).every((size) => size <= endpointsMax));
        const again = planSlices({ groups, existing, labels });
        assert.deepEqual(again, { create: [], update: [], remove: [] });
      }
    }),
    { numRuns: 60 },
  );
});
