/**
 * What the admitted pods of a node take: resources, pods, host ports.
 *
 * Holds  the sums are those of the demands added and not removed; amounts are exact (billionths).
 */
import { aggregateContainers, isPodLevelResource } from "#api/defaults/pod-resources.ts";
import type { PodSpec } from "#api/gen/types.ts";
import { tryParseQuantity } from "#api/values/quantity.ts";
import type { Fields } from "#api/validation/fields.ts";
import { assert } from "#base/assert.ts";

interface HostPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

/** Resources and host ports that one pod needs. */
export interface Demand {
  readonly amounts: ReadonlyMap<string, bigint>;
  readonly ports: readonly HostPort[];
}

const noPorts: readonly HostPort[] = [];
const noAmounts: ReadonlyMap<string, bigint> = new Map();

export function demandOf(spec: PodSpec | undefined): Demand {
  if (spec === undefined) return { amounts: noAmounts, ports: noPorts };
  return { amounts: amountsOf(spec), ports: hostPorts(spec) };
}

function amountsOf(spec: PodSpec): ReadonlyMap<string, bigint> {
  const amounts = new Map<string, bigint>();
  // The aggregation takes a spec as an untyped record of fields.
  const asked = aggregateContainers(spec as unknown as Fields, "requests");
  for (const [name, { nanos }] of Object.entries(asked)) amounts.set(name, nanos);
  for (const [name, text] of Object.entries(spec.resources?.requests ?? {})) {
    const quantity = tryParseQuantity(text);
    if (quantity !== undefined && isPodLevelResource(name)) amounts.set(name, quantity.nanos);
  }
  for (const [name, text] of Object.entries(spec.overhead ?? {})) {
    const nanos = tryParseQuantity(text)?.nanos ?? 0n;
    amounts.set(name, (amounts.get(name) ?? 0n) + nanos);
  }
  return amounts.size === 0 ? noAmounts : amounts;
}

function hostPorts(spec: PodSpec): readonly HostPort[] {
  const sidecars = (spec.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  const ports: HostPort[] = [];
  for (const container of [...spec.containers, ...sidecars]) {
    for (const { hostPort = 0, hostIP = "", protocol = "TCP" } of container.ports ?? []) {
      if (hostPort <= 0) continue;
      const ip = hostIP === "" ? "0.0.0.0" : hostIP;
      ports.push({ ip, port: hostPort, protocol: protocol === "" ? "TCP" : protocol });
    }
  }
  return ports.length === 0 ? noPorts : ports;
}

export class NodeUsage {
  #pods = 0;
  readonly #amounts = new Map<string, bigint>();
  #ports: readonly HostPort[] = noPorts;

  get pods(): number {
    return this.#pods;
  }

  amount(name: string): bigint {
    return this.#amounts.get(name) ?? 0n;
  }

  /** Whether a held port has the same port and protocol on a common address. */
  isPortTaken(port: HostPort): boolean {
    return this.#ports.some(
      (held) =>
        held.port === port.port &&
        held.protocol === port.protocol &&
        (held.ip === port.ip || held.ip === "0.0.0.0" || port.ip === "0.0.0.0"),
    );
  }

  add(demand: Demand): void {
    this.#pods++;
    this.#change(demand, 1n);
    if (demand.ports.length > 0) this.#ports = [...this.#ports, ...demand.ports];
  }

  /** @param demand the object that was added. */
  remove(demand: Demand): void {
    this.#pods--;
    assert(this.#pods >= 0, "more demands removed from a node than were added");
    this.#change(demand, -1n);
    if (demand.ports.length === 0) return;
    const gone = new Set(demand.ports);
    this.#ports = this.#ports.filter((port) => !gone.has(port));
  }

  #change({ amounts }: Demand, sign: bigint): void {
    for (const [name, amount] of amounts) {
      const next = this.amount(name) + sign * amount;
      if (next === 0n) this.#amounts.delete(name);
      else this.#amounts.set(name, next);
    }
  }
}
