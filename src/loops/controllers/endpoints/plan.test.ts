/** All writes of slices for a Service: per family, and what is left of others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointSlice, Node, Pod, Service } from "#api/gen/types.ts";
import { pod } from "../testing/world.ts";
import { isManaged, planService, type ServicePlan } from "./plan.ts";

const node: Node = { metadata: { name: "n1" } };
const service: Service = {
  metadata: { name: "web", namespace: "default", uid: "uid-web" },
  spec: { ports: [{ port: 80 }], ipFamilies: ["IPv6", "IPv4"], clusterIP: "10.1.0.1" },
};

function endpointPod(nodeName: string): Pod {
  const podIPs = [{ ip: "10.0.0.1" }, { ip: "fd00::1" }];
  const spec = { containers: [], nodeName };
  return pod("p", { spec, status: { phase: "Running", podIP: "10.0.0.1", podIPs } });
}

function plan(
  existing: readonly EndpointSlice[],
  { of = service, on = "n1" }: { readonly of?: Service; readonly on?: string } = {},
): ServicePlan {
  const nodeOf = (name: string): Node | undefined => (name === "n1" ? node : undefined);
  return planService({ service: of, pods: [endpointPod(on)], existing, nodeOf });
}

/** The slices after the plan was carried out. */
function made(): readonly EndpointSlice[] {
  return plan([]).families.flatMap(({ create }) => create);
}

test("each family has its slices, the first one is that of Endpoints, and a second plan is empty", () => {
  const slices = made();
  assert.deepEqual(
    slices.map((slice) => [slice.addressType, slice.endpoints?.[0]?.addresses]),
    [
      ["IPv6", ["fd00::1"]],
      ["IPv4", ["10.0.0.1"]],
    ],
  );
  assert.ok(slices.every(isManaged));
  const again = plan(slices);
  assert.deepEqual(again.families, Array(2).fill({ create: [], update: [], remove: [] }));
  assert.deepEqual(again.strangers, []);
  const [primary] = again.primary;
  assert.deepEqual([...(primary?.endpoints.values() ?? [])][0]?.addresses, ["fd00::1"]);
});

test("slices of a family that is gone, or of an earlier Service of the name, are removed", () => {
  const slices = made();
  const single: Service = { ...service, spec: { ...service.spec, ipFamilies: ["IPv4"] } };
  const strangers = plan(slices, { of: single }).strangers.map((slice) => slice.addressType);
  assert.deepEqual(strangers, ["IPv6"]);
  const later: Service = { ...service, metadata: { ...service.metadata, uid: "uid-later" } };
  const anew = plan(slices, { of: later });
  assert.deepEqual(anew.strangers, slices);
  assert.deepEqual(
    anew.families.map(({ create }) => create.length),
    [1, 1],
  );
});

test("a pod on a node that is not known makes the plan incomplete", () => {
  assert.equal(plan([]).isIncomplete, false);
  assert.equal(plan([], { on: "unknown" }).isIncomplete, true);
});
