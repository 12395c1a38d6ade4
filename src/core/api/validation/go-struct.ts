/** How findings show a part of an object: as Go's encoding/json writes upstream's internal structs. */
import { ownEntry } from "#base/own.ts";
import type { Fields } from "./fields.ts";

const initialisms: Readonly<Record<string, string>> = {
  uid: "UID",
  apiVersion: "APIVersion",
  apiGroup: "APIGroup",
};

/**
 * Converts a value to Go's form of its struct. These structs have no JSON names, so Go's names are shown, for all
 * fields. `zeros`: the fields in Go's order, each with the value that is shown when the object has none.
 */
export function goStruct(
  value: Fields,
  zeros: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const entries = Object.entries(zeros).map(([field, zero]) => [
    ownEntry(initialisms, field) ?? field.slice(0, 1).toUpperCase() + field.slice(1),
    ownEntry(value, field) ?? zero,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}
