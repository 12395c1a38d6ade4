/** IPAddress objects of Services. They are created before their Service and deleted after it. */
import type { AddressObjects, ServiceName } from "#admission/address-ranges.ts";
import type { IPAddress } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { resourceByPath } from "#api/schema/resources.ts";
import { ApiError } from "#api/status.ts";
import { must } from "#base/assert.ts";
import type { Log } from "#platform/log.ts";
import type { Registry, ResourceStore } from "#registry/resource-store.ts";

const managedBy = "ipaddress.kubernetes.io/managed-by";
const familyLabel = "ipaddress.kubernetes.io/ip-family";
/** Upstream's name of the allocator; a stock server repairs the objects with this label. */
const allocator = "ipallocator.k8s.io";

interface IpAddressesDeps {
  readonly registry: Pick<Registry, "store">;
  readonly log: Log;
}

export class IpAddresses implements AddressObjects {
  readonly #store: ResourceStore;
  readonly #log: Log;

  constructor({ registry, log }: IpAddressesDeps) {
    const info = resourceByPath("networking.k8s.io", "v1", "ipaddresses");
    this.#store = registry.store(must(info, "addresses are built in"));
    this.#log = log;
  }

  get(address: string): IPAddress | undefined {
    return asAddress(this.#store.peek("", address)?.object);
  }

  list(): readonly IPAddress[] {
    return this.#store.peekList("").map(({ object }) => object as unknown as IPAddress);
  }

  async create(address: string, service: ServiceName): Promise<"created" | "exists"> {
    try {
      await this.#store.create("", addressObject(address, service), { dryRun: false });
      return "created";
    } catch (error) {
      if (isStatus(error, 409)) return "exists";
      throw error;
    }
  }

  async release(address: string, service: ServiceName): Promise<void> {
    const found = this.get(address);
    if (found === undefined || !isOf(found, service)) return;
    try {
      await this.delete(found);
    } catch (error) {
      this.#log.warn("an address was not released", { address, error: String(error) });
    }
  }

  /** Deletes exactly this object. Does nothing if it is gone or another has its name. */
  async delete({ metadata }: IPAddress): Promise<void> {
    const { name = "", uid = "" } = metadata ?? {};
    try {
      await this.#store.delete("", name, { preconditions: { uid } }, { dryRun: false });
    } catch (error) {
      if (!isStatus(error, 404) && !isStatus(error, 409)) throw error;
    }
  }
}

function asAddress(object: AnyObject | undefined): IPAddress | undefined {
  // This store has only IPAddress objects.
  return object as IPAddress | undefined;
}

function isStatus(error: unknown, code: number): boolean {
  return error instanceof ApiError && error.code === code;
}

function familyOf(address: string): string {
  return address.includes(":") ? "IPv6" : "IPv4";
}

function addressObject(address: string, { namespace, name }: ServiceName): AnyObject {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "IPAddress",
    metadata: {
      name: address,
      labels: { [familyLabel]: familyOf(address), [managedBy]: allocator },
    },
    spec: { parentRef: { resource: "services", namespace, name } },
  };
}

export function refersToService({ spec }: IPAddress): boolean {
  const parent = spec?.parentRef;
  return (parent?.group ?? "") === "" && parent?.resource === "services";
}

export function isOf(address: IPAddress, { namespace, name }: ServiceName): boolean {
  const parent = address.spec?.parentRef;
  return refersToService(address) && parent?.namespace === namespace && parent.name === name;
}

export function isManaged({ metadata }: IPAddress): boolean {
  return metadata?.labels?.[managedBy] === allocator;
}

export function hasAllocatorLabels({ metadata }: IPAddress): boolean {
  const labels = metadata?.labels ?? {};
  return labels[managedBy] === allocator && labels[familyLabel] === familyOf(metadata?.name ?? "");
}
