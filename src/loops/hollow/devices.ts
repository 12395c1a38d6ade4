/**
 * Devices of hollow nodes: what a driver of GPUs would publish, from a short description. Pure.
 *
 *   gpus × (the whole device + partitions that share it by counters), dealt over NVLink domains
 *
 * Every device has the attributes `index`, `profile` ("whole", or the partition's name) and `nvlink` (its domain
 * on the node), beside those that are asked for, and the capacity that is asked for, in parts where it is a part.
 */
import type {
  CounterSet,
  Device,
  DeviceAttribute,
  DeviceClass,
  Node,
  ResourceSlice,
} from "#api/gen/types.ts";
import { canonicalQuantity } from "#api/values/quantity.ts";

export interface HollowDevices {
  readonly driver: string;
  /** Name of the DeviceClass. */
  readonly className: string;
  readonly perNode: number;
  /** Capacity of one whole device: integers with a suffix, such as `80Gi`. */
  readonly capacity: Readonly<Record<string, string>>;
  readonly attributes: Readonly<Record<string, DeviceAttribute>>;
  /** Number of a node's devices that share an NVLink domain: consecutive devices from the first one. */
  readonly nvlinkDomainSize: number;
  /** Kinds of partitions; `count` of them fill a device. */
  readonly partitions: readonly { readonly name: string; readonly count: number }[];
  /** Time that the preparation takes. */
  readonly prepareMs: number;
  /** Error message of the preparation. Absent: it succeeds. */
  readonly prepareError?: string;
}

/** Number of shares of one device; divisible by 2 to 8, among others, so that such parts are integers. */
const deviceShares = 840;
/** Upstream's limits for one slice: devices, devices that consume counters, and counter sets. */
const devicesMax = 128;
const consumersMax = 64;
const counterSetsMax = 8;

export function deviceClassOf({ className, driver }: HollowDevices): DeviceClass {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceClass",
    metadata: { name: className },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
  };
}

/** Returns the slices of one pool, named after the node: its devices and, with partitions, their shared counters. */
export function slicesOf(
  devices: HollowDevices,
  node: Node,
  generation = 1,
): readonly ResourceSlice[] {
  const { name = "", uid = "" } = node.metadata ?? {};
  const { driver } = devices;
  const contents = contentsOf(devices);
  const pool = { name, generation, resourceSliceCount: contents.length };
  return contents.map((content, at) => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: {
      name: `${name}-${driver}-${at}`,
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid, controller: true }],
    },
    spec: { driver, nodeName: name, pool, ...content },
  }));
}

/** Returns the contents of the slices; a slice has either devices or counters. */
function contentsOf(
  devices: HollowDevices,
): readonly { devices?: Device[]; sharedCounters?: CounterSet[] }[] {
  const indexes = Array.from({ length: devices.perNode }, (_, at) => at);
  const all = indexes.flatMap((at) => devicesAt(devices, at));
  if (devices.partitions.length === 0) {
    return chunks(all, devicesMax).map((some) => ({ devices: some }));
  }
  return [
    ...chunks(all, consumersMax).map((some) => ({ devices: some })),
    ...chunks(indexes.map(counterSet), counterSetsMax).map((some) => ({ sharedCounters: some })),
  ];
}

function chunks<T>(all: readonly T[], most: number): T[][] {
  const count = Math.ceil(all.length / most);
  return Array.from({ length: count }, (_, at) => all.slice(at * most, (at + 1) * most));
}

function counterSet(at: number): CounterSet {
  return { name: `gpu-${at}`, counters: { shares: { value: String(deviceShares) } } };
}

function devicesAt(devices: HollowDevices, at: number): readonly Device[] {
  const domain = Math.floor(at / devices.nvlinkDomainSize);
  const make = (name: string, profile: string, parts: number): Device => ({
    name,
    attributes: {
      ...devices.attributes,
      index: { int: at },
      nvlink: { int: domain },
      profile: { string: profile },
    },
    capacity: capacityOf(devices, parts),
    ...(devices.partitions.length === 0 ? {} : { consumesCounters: [consumption(at, parts)] }),
  });
  const parts = devices.partitions.flatMap(({ name, count }) =>
    Array.from({ length: count }, (_, i) => make(`gpu-${at}-${name}-${i}`, name, count)),
  );
  return [make(`gpu-${at}`, "whole", 1), ...parts];
}

function consumption(at: number, parts: number) {
  const value = String(Math.floor(deviceShares / parts));
  return { counterSet: `gpu-${at}`, counters: { shares: { value } } };
}

function capacityOf({ capacity }: HollowDevices, parts: number) {
  const entries = Object.entries(capacity);
  return Object.fromEntries(
    entries.map(([name, whole]) => [name, { value: partOf(whole, parts) }]),
  );
}

const smaller = new Map([
  ["Ti", "Gi"],
  ["Gi", "Mi"],
  ["Mi", "Ki"],
  ["Ki", ""],
]);

/** Divides a quantity: `80Gi` in 4 parts is `20Gi`. An indivisible one uses the next smaller unit, rounded down. */
function partOf(quantity: string, parts: number): string {
  const [, amount = "0", suffix = ""] = /^([0-9]+)(.*)$/.exec(quantity) ?? [];
  const whole = Number(amount);
  if (whole % parts === 0) return canonicalQuantity(`${whole / parts}${suffix}`);
  const next = smaller.get(suffix);
  if (next === undefined) return canonicalQuantity(`${Math.floor(whole / parts)}${suffix}`);
  return canonicalQuantity(`${Math.floor((whole * 1_024) / parts)}${next}`);
}
