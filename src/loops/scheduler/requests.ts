/**
 * What a Pod asks of a node, as upstream counts it: the sum of its containers and restartable init
 * containers, or more where a plain init container needs more, or what the Pod says as a whole;
 * plus overhead.
 */
import type { Container, PodSpec } from "#api/gen/types.ts";
import { amountOf } from "./amounts.ts";

export interface Requests {
  /** Thousandths of a core. */
  readonly cpu: number;
  readonly memory: number;
  readonly ephemeral: number;
  /** Other resources by name, sorted; all > 0. */
  readonly scalars: readonly (readonly [name: string, amount: number])[];
  /** For scoring: containers that ask for nothing count as 100m and 200 MiB. */
  readonly scoredCpu: number;
  readonly scoredMemory: number;
}

type Amounts = Map<string, number>;

const assumedCpu = 100;
const assumedMemory = 200 * 1024 * 1024;

export function podRequests(spec: PodSpec): Requests {
  const real = podAmounts(spec, false);
  const scored = podAmounts(spec, true);
  const scalars: [string, number][] = [];
  for (const [name, amount] of real) {
    const first = name === "cpu" || name === "memory" || name === "ephemeral-storage";
    if (!first && amount > 0) scalars.push([name, amount]);
  }
  return {
    cpu: real.get("cpu") ?? 0,
    memory: real.get("memory") ?? 0,
    ephemeral: real.get("ephemeral-storage") ?? 0,
    scalars: scalars.sort(([a], [b]) => (a < b ? -1 : 1)),
    scoredCpu: scored.get("cpu") ?? 0,
    scoredMemory: scored.get("memory") ?? 0,
  };
}

function podAmounts(spec: PodSpec, assumed: boolean): Amounts {
  const total: Amounts = new Map();
  for (const container of spec.containers) addTo(total, containerAmounts(container, assumed));
  const peak: Amounts = new Map();
  const sidecars: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const amounts = containerAmounts(container, assumed);
    if (container.restartPolicy === "Always") {
      addTo(total, amounts);
      addTo(sidecars, amounts);
      raiseTo(peak, sidecars);
    } else {
      addTo(amounts, sidecars);
      raiseTo(peak, amounts);
    }
  }
  raiseTo(total, peak);
  for (const [name, text] of Object.entries(spec.resources?.requests ?? {})) {
    total.set(name, amountOf(name, text));
  }
  for (const [name, text] of Object.entries(spec.overhead ?? {})) {
    total.set(name, (total.get(name) ?? 0) + amountOf(name, text));
  }
  return total;
}

function containerAmounts(container: Container, assumed: boolean): Amounts {
  const amounts: Amounts = new Map();
  const requests = container.resources?.requests;
  if (requests !== undefined) {
    for (const name in requests) amounts.set(name, amountOf(name, requests[name] ?? "0"));
  }
  if (!assumed) return amounts;
  if (!amounts.has("cpu")) amounts.set("cpu", assumedCpu);
  if (!amounts.has("memory")) amounts.set("memory", assumedMemory);
  return amounts;
}

function addTo(total: Amounts, part: Amounts): void {
  for (const [name, amount] of part) total.set(name, (total.get(name) ?? 0) + amount);
}

function raiseTo(total: Amounts, floor: Amounts): void {
  for (const [name, amount] of floor) {
    if (amount > (total.get(name) ?? 0)) total.set(name, amount);
  }
}
