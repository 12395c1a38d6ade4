/** Resources of a whole pod: the sum over its containers, or its own pod-level amounts. */
import { aggregateContainers, isPodLevelResource } from "#api/defaults/pod-resources.ts";
import type { PodSpec, ResourceRequirements } from "#api/gen/types.ts";
import {
  addQuantities,
  formatQuantity,
  type Quantity,
  tryParseQuantity,
} from "#api/values/quantity.ts";
import type { Fields } from "#api/validation/fields.ts";

type Amounts = Readonly<Record<string, string>>;

/** Returns the amounts that a kubelet of 1.36 writes into each pod's status, including the runtime's overhead. */
export function podAmounts(spec: PodSpec | undefined): ResourceRequirements {
  if (spec === undefined) return {};
  const requests = amounts(spec, "requests");
  const limits = amounts(spec, "limits");
  return {
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

function amounts(spec: PodSpec, list: "requests" | "limits"): Amounts {
  // The aggregation takes a spec as an untyped record of fields.
  const sums = new Map<string, Quantity>(
    Object.entries(aggregateContainers(spec as unknown as Fields, list)),
  );
  for (const [name, text] of Object.entries(spec.resources?.[list] ?? {})) {
    const quantity = tryParseQuantity(text);
    if (quantity !== undefined && isPodLevelResource(name)) sums.set(name, quantity);
  }
  for (const [name, text] of Object.entries(spec.overhead ?? {})) {
    const more = tryParseQuantity(text);
    const sum = sums.get(name);
    // A resource without a limit stays unlimited.
    if (more === undefined || (list === "limits" && sum === undefined)) continue;
    sums.set(name, sum === undefined ? more : addQuantities(sum, more));
  }
  return Object.fromEntries([...sums].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}
