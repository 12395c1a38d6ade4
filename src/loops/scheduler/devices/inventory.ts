/** The inputs of an allocation, besides the node's pools and the claims. */
import type { DeviceClass } from "#api/gen/types.ts";
import type { AllocatedDevices } from "./allocated-devices.ts";
import type { DeviceSelectors } from "./device-selectors.ts";
import type { CountersLeft } from "./shared-counters.ts";

export interface Inventory {
  readonly selectors: DeviceSelectors;
  readonly allocated: AllocatedDevices;
  readonly counters: CountersLeft;
  classOf(name: string): DeviceClass | undefined;
}
