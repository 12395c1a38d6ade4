/**
 * Computes the requests of a Pod as upstream does: the sum of its containers and restartable init containers, or more
 * where a plain init container needs more, or the Pod-level resources; plus overhead. During an in-place resize of a
 * container or the Pod, the maximum of desired, allocated and actual resources counts. A desired size that the node
 * refused as infeasible does not count.
 * After  k8s.io/component-helpers/resource helpers.go.
 */
import type { Container, Pod, PodSpec, PodStatus } from "#api/gen/types.ts";
import { ownEntry } from "#base/own.ts";
import { amountOf } from "./amounts.ts";

export interface Requests {
  /** Thousandths of a CPU core. */
  readonly cpu: number;
  readonly memory: number;
  readonly ephemeral: number;
  /** Other resources by name, sorted; all amounts are above 0. */
  readonly scalars: readonly (readonly [name: string, amount: number])[];
  /** For scoring: containers without requests count as 100m and 200 MiB. */
  readonly scoredCpu: number;
  readonly scoredMemory: number;
}

type Amounts = Map<string, number>;

const assumedCpu = 100;
const assumedMemory = 200 * 1024 * 1024;

export function podRequests(spec: PodSpec, status: PodStatus = {}): Requests {
  const resized = resizesOf(status);
  const real = podAmounts(spec, resized, false);
  const scored = podAmounts(spec, resized, true);
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

/** Whether both Pods request the same at run time: in-place resizes appear only in the status. */
export function haveSameResizes(a: Pod, b: Pod): boolean {
  if (a.status === b.status) return true;
  const [left, right] = [resizesOf(a.status ?? {}), resizesOf(b.status ?? {})];
  if (left === undefined || right === undefined) return left === right;
  return JSON.stringify(left) === JSON.stringify(right);
}

type Texts = Readonly<Record<string, string>>;

/** Resources in the status of a running Pod. */
interface Resizes {
  readonly isInfeasible: boolean;
  /** By container: resources in force and allocated resources. */
  readonly containers: Readonly<Record<string, readonly Texts[]>>;
  readonly pod: readonly Texts[] | undefined;
}

/** Undefined: the status has no resources, as for any Pod that is not placed. */
function resizesOf(status: PodStatus): Resizes | undefined {
  const containers: [string, readonly Texts[]][] = [];
  for (const one of [
    ...(status.containerStatuses ?? []),
    ...(status.initContainerStatuses ?? []),
  ]) {
    if (one.resources === undefined) continue;
    containers.push([one.name, [one.resources.requests ?? {}, one.allocatedResources ?? {}]]);
  }
  const { resources, allocatedResources = {} } = status;
  const pod = resources === undefined ? undefined : [resources.requests ?? {}, allocatedResources];
  if (containers.length === 0 && pod === undefined) return undefined;
  const pending = status.conditions?.find(({ type }) => type === "PodResizePending");
  const isInfeasible = pending?.reason === "Infeasible";
  return { isInfeasible, containers: Object.fromEntries(containers), pod };
}

function effective(
  wished: Texts,
  shown: readonly Texts[] | undefined,
  isInfeasible = false,
): Amounts {
  const amounts: Amounts = new Map();
  if (shown === undefined || !isInfeasible) raiseTo(amounts, amountsOf(wished));
  for (const texts of shown ?? []) raiseTo(amounts, amountsOf(texts));
  return amounts;
}

function amountsOf(texts: Texts): Amounts {
  const amounts: Amounts = new Map();
  for (const name in texts) amounts.set(name, amountOf(name, texts[name] ?? "0"));
  return amounts;
}

function podAmounts(spec: PodSpec, resized: Resizes | undefined, assumed: boolean): Amounts {
  const total: Amounts = new Map();
  for (const container of spec.containers) {
    addTo(total, containerAmounts(container, resized, assumed));
  }
  const peak: Amounts = new Map();
  const sidecars: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === "Always") {
      const amounts = containerAmounts(container, resized, assumed);
      addTo(total, amounts);
      addTo(sidecars, amounts);
      raiseTo(peak, sidecars);
    } else {
      const amounts = containerAmounts(container, undefined, assumed);
      addTo(amounts, sidecars);
      raiseTo(peak, amounts);
    }
  }
  raiseTo(total, peak);
  addPodLevel(total, spec, resized);
  addTo(total, amountsOf(spec.overhead ?? {}));
  return total;
}

/** Replaces the sum of the containers by the Pod-level requests. */
function addPodLevel(total: Amounts, spec: PodSpec, resized: Resizes | undefined): void {
  const wished = spec.resources?.requests;
  if (wished === undefined) return;
  const amounts = effective(wished, resized?.pod, resized?.isInfeasible);
  for (const name in wished) {
    const isPodLevel = name === "cpu" || name === "memory" || name.startsWith("hugepages-");
    if (isPodLevel) total.set(name, amounts.get(name) ?? 0);
  }
}

function containerAmounts(
  { name, resources }: Container,
  resized: Resizes | undefined,
  assumed: boolean,
): Amounts {
  const wished = resources?.requests ?? {};
  const shown = resized === undefined ? undefined : ownEntry(resized.containers, name);
  const amounts =
    shown === undefined ? amountsOf(wished) : effective(wished, shown, resized?.isInfeasible);
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
