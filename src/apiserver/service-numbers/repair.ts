/**
 * Repair of cluster addresses and node ports, at the start and every three minutes: what a Service has and nobody
 * reserved is reserved, what was reserved for a Service that never came is freed.
 *
 * Grace  an address without its Service is a leak when it is older than a request may last; a port without one when
 *        three rounds have seen it.
 * Holds  objects that the allocator did not make are never deleted, but for one under the address of a Service.
 * After  k/k pkg/registry/core/service/ipallocator/controller and portallocator/controller.
 */
import { addressesOf, portsOf } from "#admission/service-addresses.ts";
import { type PortRange, PortSet } from "#admission/port-set.ts";
import type { IPAddress, Service } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
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

interface RepairDeps {
  readonly lookup: Lister;
  readonly addresses: IpAddresses;
  readonly allocation: RangeAllocation;
  readonly clock: Clock;
  readonly log: Log;
}

const serviceResource = { group: "", resource: "services" };
const periodMs = 180_000;
/** Longest time between an address and its Service: kube-apiserver's request timeout. */
const graceMs = 60_000;
/** While the Service exists without the address: a refused creation of the same name takes it back within this. */
const refusedGraceMs = 5_000;
const leakRounds = 3;
/** Objects that are written at a time. */
const batchMax = 64;

export class Repair {
  readonly #deps: RepairDeps;
  readonly #range: PortRange;
  /** Ports without a Service, and the rounds that they have left. */
  #leaks = new Map<number, number>();
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

  /** Rejects when the storage refuses. */
  async run(): Promise<void> {
    const services = this.#deps.lookup.list(serviceResource, "") as readonly Service[];
    await inBatches(services, (service) => this.#repairService(service));
    await inBatches(this.#deps.addresses.list(), (address) => this.#repairAddress(address));
    await this.#deps.allocation.repair((data) => this.#rebuild(data));
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
      if (!this.#isReservedFor(address, service)) await this.#reserve(address, service);
    }
  }

  #isReservedFor(name: string, service: Service): boolean {
    const { addresses, log } = this.#deps;
    const found = addresses.get(name);
    if (found === undefined) return false;
    const owner = nameOf(service);
    if (isOf(found, owner)) return hasAllocatorLabels(found);
    const parent = found.spec?.parentRef;
    const other = this.#service(parent?.namespace ?? "", parent?.name ?? "");
    if (!refersToService(found) || other === undefined) return false;
    log.warn("a cluster address was assigned to several services", { address: name, ...owner });
    return true;
  }

  async #reserve(address: string, service: Service): Promise<void> {
    const { addresses, log } = this.#deps;
    const owner = nameOf(service);
    log.info("a cluster address is reserved for the service that has it", { address, ...owner });
    const wrong = addresses.get(address);
    if (wrong !== undefined) await addresses.delete(wrong);
    await addresses.create(address, owner);
  }

  async #repairAddress(address: IPAddress): Promise<void> {
    if (!isManaged(address) || !this.#isLeaked(address)) return;
    this.#deps.log.info("a cluster address without a service is freed", {
      address: address.metadata?.name,
    });
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

  /** Ports of all services, and those that may belong to one that is being written. */
  #rebuild(data: Uint8Array | undefined): Uint8Array {
    const rebuilt = new PortSet(this.#range);
    for (const service of this.#deps.lookup.list(serviceResource, "") as readonly Service[]) {
      for (const port of portsOf(service.spec)) {
        if (rebuilt.contains(port)) rebuilt.take(port);
      }
    }
    const leaks = new Map<number, number>();
    for (const port of PortSet.fromBytes(this.#range, data ?? new Uint8Array()).ports) {
      if (rebuilt.ports.has(port)) continue;
      const left = this.#leaks.get(port) ?? leakRounds;
      if (left > 0) leaks.set(port, left - 1);
    }
    for (const port of leaks.keys()) rebuilt.take(port);
    this.#leaks = leaks;
    return rebuilt.toBytes();
  }
}

function nameOf({ metadata }: Service): { readonly namespace: string; readonly name: string } {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "" };
}

async function inBatches<T>(all: readonly T[], f: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += batchMax) {
    await Promise.all(all.slice(at, at + batchMax).map(f));
  }
}
