/**
 * Pod-level resources: the requests of a pod as a whole default to the requests of its containers, or
 * else to the pod's own limits (upstream defaultPodRequests, KEP-2837).
 */
import { dictionary, ownEntry } from "#base/own.ts";
import type { Quantity } from "../values/quantity.ts";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  tryParseQuantity,
  zeroQuantity,
} from "../values/quantity.ts";
import type { Fields } from "../validation/fields.ts";
import { has, hasEntries, items, maybe, part, text } from "../validation/fields.ts";
import { set } from "./rules.ts";

/** Whether the resource may be requested for a whole pod. */
export function isPodLevelResource(name: string): boolean {
  return name === "cpu" || name === "memory" || name.startsWith("hugepages-");
}

type Amounts = Record<string, Quantity>;

/**
 * Sums the requests or limits of a pod's containers: regular and sidecar containers run at once, plain
 * init containers one by one beside the sidecars before them.
 * @param list `requests` or `limits`
 */
export function aggregateContainers(spec: Fields, list: "requests" | "limits"): Amounts {
  const running: Amounts = {};
  for (const container of items(spec, "containers")) add(running, amountsOf(container, list));
  const sidecars: Amounts = {};
  const starting: Amounts = {};
  for (const container of items(spec, "initContainers")) {
    const own = amountsOf(container, list);
    if (text(container, "restartPolicy") === "Always") {
      add(sidecars, own);
      raise(starting, sidecars);
    } else {
      const together = { ...sidecars };
      add(together, own);
      raise(starting, together);
    }
  }
  add(running, sidecars);
  raise(running, starting);
  return running;
}

function amountsOf(container: Fields, list: "requests" | "limits"): Amounts {
  const amounts: Amounts = dictionary();
  for (const [name, value] of Object.entries(part(part(container, "resources"), list))) {
    const quantity = typeof value === "string" ? tryParseQuantity(value) : undefined;
    if (quantity !== undefined) amounts[name] = quantity;
  }
  return amounts;
}

function add(total: Amounts, more: Amounts): void {
  for (const [name, amount] of Object.entries(more)) {
    total[name] = addQuantities(ownEntry(total, name) ?? zeroQuantity, amount);
  }
}

function raise(total: Amounts, floor: Amounts): void {
  for (const [name, amount] of Object.entries(floor)) {
    const current = ownEntry(total, name);
    if (current === undefined || compareQuantities(current, amount) < 0) total[name] = amount;
  }
}

/** Runs after the containers have their own defaults. */
export function podLevelRequests(spec: Fields): Fields {
  const resources = maybe(spec, "resources");
  if (resources === undefined || !hasEntries(resources, "limits")) return spec;
  const requests: Record<string, unknown> = { ...part(resources, "requests") };
  for (const [name, amount] of Object.entries(aggregateContainers(spec, "requests"))) {
    if (has(requests, name) || (name !== "cpu" && name !== "memory")) continue;
    requests[name] = formatQuantity(amount);
  }
  for (const [name, limit] of Object.entries(part(resources, "limits"))) {
    if (!has(requests, name) && isPodLevelResource(name)) requests[name] = limit;
  }
  const before = part(resources, "requests");
  if (Object.keys(requests).length === Object.keys(before).length) return spec;
  return set(spec, "resources", { ...resources, requests });
}
