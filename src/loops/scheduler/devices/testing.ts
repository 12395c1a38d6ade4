/** Short constructors of devices, slices and claims, for tests. */
import type {
  Device,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceSlice,
  ResourceSliceSpec,
} from "#api/gen/types.ts";
import { DeviceState } from "./device-state.ts";

export const driver = "gpu.example.com";

export function gpu(name: string, fields: Partial<Device> = {}): Device {
  return { name, ...fields };
}

export function gpus(
  count: number,
  fields: (at: number) => Partial<Device> = () => ({}),
): Device[] {
  return Array.from({ length: count }, (_, at) => gpu(`gpu-${at}`, fields(at)));
}

/** Returns the only slice of a pool, on the node with the pool's name; `spec` overrides these defaults. */
export function slice(
  pool: string,
  devices: readonly Device[],
  spec: Partial<ResourceSliceSpec> = {},
): ResourceSlice {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: `${pool}-slice` },
    spec: {
      driver,
      pool: { name: pool, generation: 1, resourceSliceCount: 1 },
      ...(spec.allNodes === true || spec.nodeSelector !== undefined ? {} : { nodeName: pool }),
      devices,
      ...spec,
    },
  };
}

export function deviceClass(name: string, spec: DeviceClass["spec"] = {}): DeviceClass {
  return { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name }, spec };
}

export function exactly(name: string, fields: Partial<ExactDeviceRequest> = {}): DeviceRequest {
  return { name, exactly: { deviceClassName: "gpu", ...fields } };
}

export function cel(expression: string) {
  return [{ cel: { expression } }];
}

export function claim(
  name: string,
  requests: readonly DeviceRequest[],
  constraints: readonly DeviceConstraint[] = [],
): ResourceClaim {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name, namespace: "a", uid: `uid-${name}` },
    spec: { devices: { requests, ...(constraints.length === 0 ? {} : { constraints }) } },
  };
}

/** Returns a state with the slices and a class `gpu` that matches all devices. */
export function deviceState(...slices: readonly ResourceSlice[]): DeviceState {
  const state = new DeviceState();
  state.setClass(deviceClass("gpu"));
  for (const one of slices) state.pools.set(one);
  return state;
}

export const onlyIf = (expression: string) => ({ selectors: cel(expression) });
