/**
 * Measures claims per second of the pure core: nodes with eight devices, one Pod and one claim at a time; every node is
 * examined and scored. Also measures pools that are made to be expensive. Run: node
 * src/loops/scheduler/devices/devices.bench.ts [nodes]
 */
import type { Device, ResourceClaim } from "#api/gen/types.ts";
import { must } from "#base/assert.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "../cache.ts";
import { defaultPlugins } from "../default-plugins.ts";
import { Nominations } from "../nominations.ts";
import { podInfo } from "../pod-info.ts";
import { ScheduleAlgorithm } from "../schedule-algorithm.ts";
import { makeNode, makePod, noVolumes } from "../testing.ts";
import type { DeviceState } from "./device-state.ts";
import type { DeviceLookup } from "./lookup.ts";
import { claim, deviceState, exactly, gpus, onlyIf, slice } from "./testing.ts";

const nodeCount = Number(process.argv[2] ?? 500);
const perNode = 8;

const attributes = (at: number): Partial<Device> => ({
  attributes: { model: { string: "a100" }, nvlink: { int: Math.floor(at / 4) } },
  capacity: { memory: { value: "80Gi" } },
});
const sameDomain = [{ matchAttribute: "gpu.example.com/nvlink" }];
const large = onlyIf(
  'device.attributes["gpu.example.com"].model == "a100" && ' +
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
);

const cases: Record<string, (at: number) => ResourceClaim> = {
  "one device": (at) => claim(`c${at}`, [exactly("r")]),
  "one, selected in CEL": (at) => claim(`c${at}`, [exactly("r", large)]),
  "four of one domain": (at) => claim(`c${at}`, [exactly("r", { count: 4 })], sameDomain),
};

function lookupOf(state: DeviceState, claims: ReadonlyMap<string, ResourceClaim>): DeviceLookup {
  const nothing = (): Promise<never> => Promise.reject(new Error("no server"));
  return {
    state,
    waiters: { until: nothing },
    claim: (_namespace, name) => claims.get(name),
    extendedClaimOf: () => undefined,
    newShareId: () => "share",
    now: () => 0,
    isInFlight: () => false,
    setInFlight: ({ metadata }, allocation) => {
      state.allocated.set(metadata?.uid ?? "", allocation);
    },
    endInFlight: () => undefined,
    assume: () => undefined,
    get: nothing,
    update: nothing,
    updateStatus: nothing,
    create: nothing,
    remove: nothing,
    noteExtended: nothing,
    removeReservation: nothing,
  };
}

function bench(name: string, make: (at: number) => ResourceClaim): void {
  const state = deviceState();
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  for (let i = 0; i < nodeCount; i++) {
    cache.setNode(makeNode(`n${i}`, { cpu: "64", memory: "256Gi" }));
    state.pools.set(slice(`n${i}`, gpus(perNode, attributes)));
  }
  const size = Number(make(0).spec.devices?.requests?.[0]?.exactly?.count ?? 1);
  const count = (nodeCount * perNode) / size;
  const claims = new Map(Array.from({ length: count }, (_, at) => [`c${at}`, make(at)]));
  const decider = new ScheduleAlgorithm({
    cache,
    random: new FakeRandom(1),
    namespaces,
    volumes: noVolumes,
    devices: lookupOf(state, claims),
    nominations: new Nominations(),
    plugins: defaultPlugins,
  });
  const beganMs = performance.now();
  let placed = 0;
  for (let at = 0; at < count; at++) {
    const resourceClaims = [{ name: "r", resourceClaimName: `c${at}` }];
    const pod = makePod(`p${at}`, { cpu: "100m", spec: { resourceClaims } });
    const info = podInfo({ ...pod, metadata: { ...pod.metadata, uid: `u${at}` } });
    const decision = decider.decide(info);
    if (decision.kind !== "node") continue;
    must(decider.reserve(info, decision.nodeName)[0], "devices are reserved");
    cache.assume(info, decision.nodeName);
    placed++;
  }
  const rate = Math.round((1_000 * count) / (performance.now() - beganMs));
  console.log(
    `${name.padEnd(24)} ${String(rate).padStart(8)} claims/s  placed ${placed} of ${count}`,
  );
}

console.log(`${nodeCount} nodes of ${perNode} devices`);
for (const [name, make] of Object.entries(cases)) bench(name, make);
