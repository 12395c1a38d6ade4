/**
 * Repairs cluster addresses and node ports, at the start and every three minutes. Numbers that a Service uses without a
 * reservation are reserved; reservations for a Service that was never created are freed.
 *
 * Grace  an address without a Service is a leak when it is older than the longest request; a port without a Service is
 *        a leak when three rounds have seen it.
 * Holds  objects that the allocator did not make are never deleted, except one with the address of a Service. Each
 *        error is an Event about the Service (repair-events.ts).
 * After  k/k pkg/registry/core/service/ipallocator/controller and portallocator/controller.
 */
import { addressesOf, portsOf } from "#admission/service-addresses.ts";
import type { ServiceName } from "#admission/address-ranges.ts";
import { type PortRange, PortSet } from "#admission/port-set.ts";
import type { IPAddress, Service } from "#api/gen/types.ts";
import { parseIpv4 } from "#api/values/ipv4.ts";
import type { Lister } from "#api/lister.ts";
import type { KubeObject } from "#api/object.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { RangeAllocation } from "#registry/range-allocation.ts";
import {
  hasAllocatorLabels,
  type IpAddresses,
  isManaged,
  isOf,
  refersToService,
} from "./ip-addresses.ts";
import type { Finding, RepairEvents } from "./repair-events.ts";

interface RepairDeps {
  readonly lookup: Lister;
  readonly addresses: IpAddresses;
  readonly allocation: RangeAllocation;
  readonly events: RepairEvents;
  /** Whether an IPv4 address, as a number, lies in one of the cluster's ranges. */
  readonly isInRange: (address: number) => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

const serviceResource = { group: "", resource: "services" };
const periodMs = 180_000;
/** Maximum time between the creation of an address and of its Service: kube-apiserver's request timeout. */
const graceMs = 60_000;
/** Grace if the Service exists without the address: a refused creation of that name releases it within this time. */
const refusedGraceMs = 5_000;
const leakRounds = 3;
/** Maximum number of concurrent writes. */
const batchMax = 64;

export class Repair {
  readonly #deps: RepairDeps;
  readonly #range: PortRange;
  /** Ports without a Service, with the number of rounds until they are freed. */
  #leaks = new Map<number, number>();
  #portFindings: Finding[] = [];
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(deps: RepairDeps, options: { readonly range: PortRange }) {
    this.#deps = deps;
    this.#range = options.range;
  }

  start(): void {
    this.#timer = this.#deps.clock.after("apiserver.services", periodMs, () => {
      this.#running = this.#round();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** Rejects when the storage refuses a write. */
  async run(): Promise<void> {
    const { lookup, addresses, allocation, events } = this.#deps;
    events.beginRound();
    const services = lookup.list(serviceResource, "") as readonly Service[];
    await inBatches(services, (service) => this.#repairService(service));
    await inBatches(addresses.list(), (address) => this.#repairAddress(address));
    await allocation.repair((data) => this.#rebuild(data));
    // Findings of the successful try: after a conflict, ports are counted again.
    await inBatches(this.#portFindings, (finding) => events.tell(finding));
  }

  /** Never rejects. */
  async #round(): Promise<void> {
    try {
      await this.run();
    } catch (error) {
      this.#deps.log.warn("service addresses were not repaired", { error: String(error) });
    }
    if (!this.#isClosed) this.start();
  }

  async #repairService(service: Service): Promise<void> {
    for (const address of addressesOf(service.spec)) {
      const number = parseIpv4(address);
      if (number !== undefined && !this.#deps.isInRange(number)) {
        const text = `Cluster IP ${shown(address)} is not within any configured Service CIDR; please recreate service`;
        await this.#tell(service, "ClusterIPOutOfRange", text);
      } else if (!(await this.#isReservedFor(address, service))) {
        await this.#reserve(address, service);
      }
    }
  }

  #tell(about: KubeObject, reason: string, message: string): Promise<void> {
    return this.#deps.events.tell({ about, kind: "address", reason, message });
  }

  async #isReservedFor(name: string, service: Service): Promise<boolean> {
    const { addresses } = this.#deps;
    const found = addresses.get(name);
    if (found === undefined) return false;
    const owner = nameOf(service);
    if (isOf(found, owner)) return hasAllocatorLabels(found);
    const parent = found.spec?.parentRef;
    const other = this.#service(parent?.namespace ?? "", parent?.name ?? "");
    if (!refersToService(found) || other === undefined) return false;
    const text = `Cluster IP [${familyOf(name)}]:${name} was assigned to multiple services; please recreate service`;
    await this.#tell(service, "ClusterIPAlreadyAllocated", text);
    return true;
  }

  async #reserve(address: string, service: Service): Promise<void> {
    const { addresses } = this.#deps;
    const owner = nameOf(service);
    const wrong = addresses.get(address);
    const text =
      wrong === undefined
        ? `Cluster IP ${shown(address)} is not allocated; repairing`
        : `the ClusterIP ${shown(address)} for Service ${owner.namespace}/${owner.name} has a wrong reference; repairing`;
    // Repairs without an event: labels, as upstream, and the first address of Service default/kubernetes.
    const isGiven = wrong === undefined && isKubernetes(owner);
    if (!isGiven && (wrong === undefined || !isOf(wrong, owner))) {
      await this.#tell(service, "ClusterIPNotAllocated", text);
    }
    if (wrong !== undefined) await addresses.delete(wrong);
    await addresses.create(address, owner);
  }

  async #repairAddress(address: IPAddress): Promise<void> {
    if (!isManaged(address) || !this.#isLeaked(address)) return;
    const { parentRef } = address.spec ?? {};
    const text = `IPAddress: ${address.metadata?.name} for Service ${parentRef?.namespace ?? ""}/${parentRef?.name ?? ""} appears to have leaked: cleaning up`;
    await this.#tell(address, "IPAddressNotAllocated", text);
    await this.#deps.addresses.delete(address);
  }

  #isLeaked(address: IPAddress): boolean {
    if (!refersToService(address)) return true;
    const { metadata, spec } = address;
    const ageMs = this.#deps.clock.nowMs() - Date.parse(metadata?.creationTimestamp ?? "");
    const service = this.#service(spec?.parentRef?.namespace ?? "", spec?.parentRef?.name ?? "");
    if (service === undefined) return ageMs > graceMs;
    if (addressesOf(service.spec).includes(metadata?.name ?? "")) return false;
    return ageMs > (service.spec?.type === "ExternalName" ? graceMs : refusedGraceMs);
  }

  #service(namespace: string, name: string): Service | undefined {
    return this.#deps.lookup.get(serviceResource, namespace, name) as Service | undefined;
  }

  /** Takes the ports of all services; faults are added to `#portFindings`. */
  #takeAll(stored: ReadonlySet<number>): PortSet {
    const rebuilt = new PortSet(this.#range);
    this.#portFindings = [];
    for (const service of this.#deps.lookup.list(serviceResource, "") as readonly Service[]) {
      // A Service may use one port for two protocols.
      for (const port of new Set(portsOf(service.spec))) {
        const wrong = this.#takePort(rebuilt, stored, port);
        if (wrong !== undefined)
          this.#portFindings.push({ about: service, kind: "port", ...wrong });
      }
    }
    return rebuilt;
  }

  #takePort(
    rebuilt: PortSet,
    stored: ReadonlySet<number>,
    port: number,
  ): { readonly reason: string; readonly message: string } | undefined {
    const { first, last } = this.#range;
    if (!rebuilt.contains(port)) {
      const message = `Port ${port} is not within the port range ${first}-${last}; please recreate service`;
      return { reason: "PortOutOfRange", message };
    }
    if (!rebuilt.take(port)) {
      const message = `Port ${port} was assigned to multiple services; please recreate service`;
      return { reason: "PortAlreadyAllocated", message };
    }
    if (stored.has(port)) return undefined;
    return { reason: "PortNotAllocated", message: `Port ${port} is not allocated; repairing` };
  }

  /** Returns the ports of all services, and those that may belong to a service being written. */
  #rebuild(data: Uint8Array | undefined): Uint8Array {
    const stored = PortSet.fromBytes(this.#range, data ?? new Uint8Array()).ports;
    const rebuilt = this.#takeAll(stored);
    const leaks = new Map<number, number>();
    for (const port of stored) {
      if (rebuilt.ports.has(port)) continue;
      const left = this.#leaks.get(port) ?? leakRounds;
      if (left > 0) leaks.set(port, left - 1);
    }
    for (const port of leaks.keys()) rebuilt.take(port);
    this.#leaks = leaks;
    return rebuilt.toBytes();
  }
}

function isKubernetes({ namespace, name }: ServiceName): boolean {
  return namespace === "default" && name === "kubernetes";
}

/** Text of an address as in most of upstream's events. */
function shown(address: string): string {
  return `[${familyOf(address)}]: ${address}`;
}

function familyOf(address: string): string {
  return address.includes(":") ? "IPv6" : "IPv4";
}

function nameOf({ metadata }: Service): { readonly namespace: string; readonly name: string } {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "" };
}

async function inBatches<T>(all: readonly T[], f: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += batchMax) {
    await Promise.all(all.slice(at, at + batchMax).map(f));
  }
}
