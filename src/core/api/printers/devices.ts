/** Dynamic resource allocation. */
import type { DeviceClass, ResourceClaim, ResourceSlice } from "../gen/types.ts";
import { age, ageColumn, nameColumn, nameOf, printer, text } from "./printer.ts";
import type { Printer } from "./printer.ts";

/** Device classes and claim templates have only these columns. */
export const nameAndAge: Printer = printer<DeviceClass>(
  [nameColumn, ageColumn],
  (object, nowMs) => [nameOf(object), age(object, nowMs)],
);

export const resourceClaims: Printer = printer<ResourceClaim>(
  [nameColumn, text("State", "Whether devices are allocated and reserved."), ageColumn],
  (object, nowMs) => [nameOf(object), claimState(object), age(object, nowMs)],
);

function claimState(object: ResourceClaim): string {
  const deleted = object.metadata?.deletionTimestamp !== undefined;
  if (object.status?.allocation === undefined) return deleted ? "deleted" : "pending";
  const reserved = (object.status.reservedFor ?? []).length > 0;
  return `${deleted ? "deleted," : ""}allocated${reserved ? ",reserved" : ""}`;
}

export const resourceSlices: Printer = printer<ResourceSlice>(
  [
    nameColumn,
    text("Node", "The node that has the devices."),
    text("Driver", "The driver that serves them."),
    text("Pool", "The pool they belong to."),
    ageColumn,
  ],
  (object, nowMs) => [
    nameOf(object),
    object.spec.nodeName ?? "",
    object.spec.driver,
    object.spec.pool.name,
    age(object, nowMs),
  ],
);
