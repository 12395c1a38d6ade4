/** What a pod as a whole has: the amounts of its containers together, and its own above them. */
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

/** As a kubelet of 1.36 shows it in the status of every pod: with the overhead of the runtime. */
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
  // A spec read as a bag of fields, which is what the aggregation takes.
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
    // What is unlimited stays so.
    if (more === undefined || (list === "limits" && sum === undefined)) continue;
    sums.set(name, sum === undefined ? more : addQuantities(sum, more));
  }
  return Object.fromEntries([...sums].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}
