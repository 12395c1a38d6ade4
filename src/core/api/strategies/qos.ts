/** The QoS class of a pod, computed from the requests and limits of its containers. */
import type { Quantity } from "../values/quantity.ts";
import {
  addQuantities,
  compareQuantities,
  tryParseQuantity,
  zeroQuantity,
} from "../values/quantity.ts";
import type { Fields } from "../validation/fields.ts";
import { items, maybe, part } from "../validation/fields.ts";

type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const counted = ["cpu", "memory"] as const;
type Amounts = Partial<Record<(typeof counted)[number], Quantity>>;

/**
 * Guaranteed: every container limits CPU and memory and requests exactly that. BestEffort: no container requests
 * or limits either. Resources of the pod as a whole, even empty ones, count instead of the containers'.
 */
export function podQosClass(spec: Fields): QosClass {
  const whole = maybe(spec, "resources");
  if (whole !== undefined) return classOf([whole]);
  const containers = [...items(spec, "containers"), ...items(spec, "initContainers")];
  return classOf(containers.map((container) => part(container, "resources")));
}

function classOf(resources: readonly Fields[]): QosClass {
  const requests: Amounts = {};
  const limits: Amounts = {};
  let everyLimit = true;
  for (const each of resources) {
    add(requests, part(each, "requests"));
    const limited = add(limits, part(each, "limits"));
    if (limited < counted.length) everyLimit = false;
  }
  if (size(requests) === 0 && size(limits) === 0) return "BestEffort";
  const guaranteed = everyLimit && size(requests) === size(limits) && agree(requests, limits);
  return guaranteed ? "Guaranteed" : "Burstable";
}

/** @returns the number of counted resources in the list with an amount above zero. */
function add(total: Amounts, list: Fields): number {
  let found = 0;
  for (const name of counted) {
    const value = list[name];
    if (typeof value !== "string" && typeof value !== "number") continue;
    const amount = tryParseQuantity(value);
    if (amount === undefined || amount.nanos <= 0n) continue;
    total[name] = addQuantities(total[name] ?? zeroQuantity, amount);
    found += 1;
  }
  return found;
}

function size(amounts: Amounts): number {
  return Object.keys(amounts).length;
}

function agree(requests: Amounts, limits: Amounts): boolean {
  return counted.every((name) => {
    const request = requests[name];
    const limit = limits[name];
    if (request === undefined) return true;
    return limit !== undefined && compareQuantities(request, limit) === 0;
  });
}
