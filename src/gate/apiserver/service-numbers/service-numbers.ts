/**
 * Manages the cluster addresses and node ports of all servers over one storage: the allocators for admission, the
 * release for a deleted Service, and the repair of both.
 */
import {
  addressesOf,
  portsOf,
  type ServiceAddressOptions,
  type ServiceNumbers,
} from "#admission/service-addresses.ts";
import { AddressRanges } from "#admission/address-ranges.ts";
import type { PortChangeOptions, PortRange, SharedPorts } from "#admission/port-set.ts";
import { PortSet } from "#admission/port-set.ts";
import type { Service } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { RangeAllocation } from "#registry/range-allocation.ts";
import type { OpenRegistry } from "#registry/registry.ts";
import { IpAddresses } from "./ip-addresses.ts";
import { Repair } from "./repair.ts";
import { RepairEvents } from "./repair-events.ts";

interface ServiceNumbersDeps {
  readonly registry: Pick<OpenRegistry, "store" | "onRelease">;
  readonly lookup: Lister;
  readonly allocation: RangeAllocation;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface OpenServiceNumbers extends ServiceNumbers {
  readonly addresses: IpAddresses;
  readonly repair: Repair;
}

export function openServiceNumbers(
  deps: ServiceNumbersDeps,
  options: ServiceAddressOptions,
): OpenServiceNumbers {
  const range = { first: options.firstNodePort, last: options.lastNodePort };
  const addresses = new IpAddresses(deps);
  const ports = new StoredPorts(deps, range);
  deps.registry.onRelease({ group: "", resource: "services" }, (old, kept) =>
    release({ addresses, ports }, old, kept),
  );
  const cidrs = new AddressRanges({ ...deps, addresses }, options.range);
  const isInRange = (address: number): boolean => cidrs.contains(address);
  const events = new RepairEvents(deps);
  const repair = new Repair({ ...deps, addresses, events, isInRange }, { range });
  return { addresses, ports, repair };
}

/** Releases the numbers that a stored service no longer has. */
async function release(
  { addresses, ports }: ServiceNumbers,
  old: Service,
  kept: Service | undefined,
): Promise<void> {
  const { namespace = "", name = "" } = old.metadata ?? {};
  const keptAddresses = new Set(addressesOf(kept?.spec));
  const keptPorts = new Set(portsOf(kept?.spec));
  const freed = portsOf(old.spec).filter((port) => !keptPorts.has(port));
  await Promise.all(
    addressesOf(old.spec)
      .filter((address) => !keptAddresses.has(address))
      .map((address) => addresses.release(address, { namespace, name })),
  );
  if (freed.length > 0) await ports.release(freed);
}

class StoredPorts implements SharedPorts {
  readonly #allocation: RangeAllocation;
  readonly #log: Log;
  readonly #range: PortRange;

  constructor({ allocation, log }: ServiceNumbersDeps, range: PortRange) {
    this.#allocation = allocation;
    this.#log = log;
    this.#range = range;
  }

  async change<T>(change: (ports: PortSet) => T, { dryRun, taken }: PortChangeOptions): Promise<T> {
    let made: { readonly result: T; readonly fresh: readonly number[] } | undefined;
    const apply = (data: Uint8Array): Uint8Array => {
      const ports = PortSet.fromBytes(this.#range, data);
      const before = new Set(ports.ports);
      const result = change(ports);
      made = { result, fresh: [...ports.ports].filter((port) => !before.has(port)) };
      return ports.toBytes();
    };
    if (dryRun) apply(this.#allocation.data ?? new Uint8Array());
    else await this.#allocation.change(apply);
    const { result, fresh } = must(made, "a change that was accepted has run");
    if (!dryRun) for (const port of fresh) taken.add(port);
    return result;
  }

  async release(released: readonly number[]): Promise<void> {
    try {
      await this.#allocation.change((data) => {
        const ports = PortSet.fromBytes(this.#range, data);
        for (const port of released) ports.free(port);
        return ports.toBytes();
      });
    } catch (error) {
      this.#log.warn("node ports were not released", { ports: released, error: String(error) });
    }
  }
}
