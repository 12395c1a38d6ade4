/** A fake API with hollow nodes on a fake clock, and pods to bind to them, for tests. */
import type { Event, Pod, PodCondition, PodSpec } from "#api/gen/types.ts";
import { assert } from "#base/assert.ts";
import { given } from "#base/given.ts";
import { eventsRef } from "#client/events.ts";
import type { FakeApi } from "#client/testing/fake-api.ts";
import { createFakeApi } from "#client/testing/fake-api.ts";
import { silentLog } from "#platform/log.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import type { HollowDevices } from "./devices.ts";
import { createHollowNodes } from "./hollow.ts";
import type { HollowOptions } from "./options.ts";
import { hollowDefaults } from "./options.ts";

export const podsRef = { group: "", version: "v1", resource: "pods" };
export const nodesRef = { group: "", version: "v1", resource: "nodes" };

export async function startRig(
  options: Partial<HollowOptions> = {},
  seed: (api: FakeApi) => void = () => {},
) {
  const clock = new FakeClock();
  const api = createFakeApi({ clock });
  seed(api);
  const deps = { client: api, clock, random: new FakeRandom(5), log: silentLog };
  const start = () => {
    const hollow = createHollowNodes(deps, { ...hollowDefaults, count: 2, ...options });
    const stop = new AbortController();
    const running = hollow.run(stop.signal);
    const end = async () => {
      stop.abort();
      await running;
    };
    return { hollow, end };
  };
  const first = start();
  await clock.advance(10);
  const pod = (name: string) => api.peek<Pod>(podsRef, "a", name);
  /** Updates the spec as the API does: the generation grows by one. */
  const edit = (name: string, change: Partial<PodSpec>) => {
    const old = pod(name);
    const { metadata, spec } = old ?? {};
    assert(old !== undefined && spec !== undefined, "no pod to edit");
    const generation = (metadata?.generation ?? 0) + 1;
    api.put(podsRef, {
      ...old,
      metadata: { ...metadata, generation },
      spec: { ...spec, ...change },
    });
  };
  const events = () =>
    api.peekAll<Event>(eventsRef).map((event) => `${event.reason}: ${event.message}`);
  const writes = () =>
    api.calls.filter((c) => c.resource === "pods" && (c.verb === "patch" || c.verb === "delete"));
  return { clock, api, start, pod, edit, events, writes, ...first };
}

interface Shape {
  readonly spec?: Partial<PodSpec>;
  readonly annotations?: Record<string, string>;
  readonly finalizers?: readonly string[];
}

export function bound(name: string, shape: Shape = {}, nodeName = "hollow-0"): Pod {
  const { spec, annotations, finalizers } = shape;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "a",
      generation: 1,
      ...given({ annotations, finalizers }),
    },
    spec: { nodeName, containers: [{ name: "c", image: "nginx:1" }], ...spec },
    status: { phase: "Pending", conditions: [{ type: "PodScheduled", status: "True" }] },
  };
}

export function conditionOf(pod: Pod | undefined, type: string): string | undefined {
  return wholeCondition(pod, type)?.status;
}

export function wholeCondition(pod: Pod | undefined, type: string): PodCondition | undefined {
  return pod?.status?.conditions?.find((condition) => condition.type === type);
}

export const hollowGpus: HollowDevices = {
  driver: "gpu.example.com",
  className: "gpu",
  perNode: 8,
  capacity: { memory: "80Gi" },
  attributes: { model: { string: "h100" } },
  nvlinkDomainSize: 8,
  partitions: [],
  prepareMs: 0,
};
