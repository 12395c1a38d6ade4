/**
 * Devices of hollow nodes: what a driver of GPUs would publish, from a short description. Pure.
 *
 *   gpus × (the whole device + partitions that share its memory as counters), dealt over NVLink domains
 *
 * Every device has the attributes `index`, `profile` ("whole", or the partition's name) and `nvlink`, those that
 * are asked for, and the capacity `memory`.
 */
import type { Device, DeviceAttribute, DeviceClass, Node, ResourceSlice } from "#api/gen/types.ts";

export interface HollowDevices {
  readonly driver: string;
  /** The name of the DeviceClass. */
  readonly className: string;
  readonly perNode: number;
  /** Quantity, of one device. */
  readonly memory: string;
  readonly attributes: Readonly<Record<string, DeviceAttribute>>;
  /** Of a node; at most as many as devices. */
  readonly nvlinkDomains: number;
  /** `count` of them fill a device. */
  readonly partitions: readonly { readonly name: string; readonly count: number }[];
  /** What preparing says when it fails; absent: it succeeds. */
  readonly prepareError?: string;
}

/** What the memory of one device is, in counters. */
const memoryShares = 840;

export function deviceClassOf({ className, driver }: HollowDevices): DeviceClass {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceClass",
    metadata: { name: className },
    spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
  };
}

/** One pool, named after the node: its devices, and what they share when there are partitions. */
export function slicesOf(devices: HollowDevices, node: Node): readonly ResourceSlice[] {
  const { name = "", uid = "" } = node.metadata ?? {};
  const hasPartitions = devices.partitions.length > 0;
  const pool = { name, generation: 1, resourceSliceCount: hasPartitions ? 2 : 1 };
  const made = (part: string, spec: object): ResourceSlice => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: {
      name: `${name}-${devices.driver}-${part}`,
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid, controller: true }],
    },
    spec: { driver: devices.driver, nodeName: name, pool, ...spec },
  });
  const all = Array.from({ length: devices.perNode }, (_, at) => devicesAt(devices, at)).flat();
  if (!hasPartitions) return [made("devices", { devices: all })];
  return [
    made("devices", { devices: all }),
    made("counters", { sharedCounters: Array.from({ length: devices.perNode }, counterSet) }),
  ];
}

function counterSet(_: unknown, at: number) {
  return { name: `gpu-${at}`, counters: { memory: { value: String(memoryShares) } } };
}

function devicesAt(devices: HollowDevices, at: number): readonly Device[] {
  const domain = Math.floor((at * devices.nvlinkDomains) / devices.perNode);
  const make = (name: string, profile: string, parts: number): Device => ({
    name,
    attributes: {
      ...devices.attributes,
      index: { int: at },
      nvlink: { int: domain },
      profile: { string: profile },
    },
    capacity: { memory: { value: shareOf(devices.memory, parts) } },
    ...(devices.partitions.length === 0 ? {} : { consumesCounters: [consumption(at, parts)] }),
  });
  const parts = devices.partitions.flatMap(({ name, count }) =>
    Array.from({ length: count }, (_, i) => make(`gpu-${at}-${name}-${i}`, name, count)),
  );
  return [make(`gpu-${at}`, "whole", 1), ...parts];
}

function consumption(at: number, parts: number) {
  const value = String(Math.floor(memoryShares / parts));
  return { counterSet: `gpu-${at}`, counters: { memory: { value } } };
}

/** `80Gi` in 4 parts is `20Gi`; what does not divide is rounded down. */
function shareOf(memory: string, parts: number): string {
  const [, amount = "0", suffix = ""] = /^([0-9]+)(.*)$/.exec(memory) ?? [];
  const whole = Number(amount);
  if (whole % parts === 0) return `${whole / parts}${suffix}`;
  return suffix === "Gi"
    ? `${Math.floor((whole * 1_024) / parts)}Mi`
    : `${Math.floor(whole / parts)}${suffix}`;
}
