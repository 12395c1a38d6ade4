/**
 * Cluster addresses of Services: each is an IPAddress object, and creating that object reserves the address. So any
 * number of servers over one storage, including stock ones, never assign the same address twice.
 *
 * Holds  an address is assigned only after `AddressObjects.create` has made its object. An existing name means that the
 *        address is taken.
 * Ranges the IPv4 CIDRs of all ServiceCIDRs that are ready and not being deleted; the configured one while there
 *        is no ServiceCIDR `kubernetes`.
 * Cost   an object per address. Detecting a full range takes a walk over one cached object per address.
 * After  k/k pkg/registry/core/service/ipallocator: MetaAllocator and its random walk above the reserved band.
 */
import type { ServiceCIDR } from "#api/gen/types.ts";
import { ipv4Text, parseIpv4 } from "#api/values/ipv4.ts";
import type { Lister } from "#api/lister.ts";
import type { Random } from "#platform/random.ts";

/** The Service to which an address belongs. */
export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** Access to stored IPAddress objects. */
export interface AddressObjects {
  /** Throws ApiError when the storage refuses. */
  create(address: string, service: ServiceName): Promise<"created" | "exists">;
  /** Deletes the object if it refers to `service`. Never rejects: a leftover is repaired later. */
  release(address: string, service: ServiceName): Promise<void>;
}

interface AddressRangesDeps {
  readonly lookup: Lister;
  readonly random: Random;
  readonly addresses: AddressObjects;
}

interface AddressClaim {
  readonly service: ServiceName;
  /** Checks without allocating. */
  readonly dryRun: boolean;
}

interface AddressRange {
  readonly first: number;
  readonly last: number;
  /** Number of addresses at the start that are allocated only when the rest is full. */
  readonly reservedCount: number;
}

const addressResource = { group: "networking.k8s.io", resource: "ipaddresses" };
const cidrResource = { group: "networking.k8s.io", resource: "servicecidrs" };
const defaultCidr = "kubernetes";
/** Number of random attempts before the range is searched in order. */
const picksMax = 32;

export class AddressRanges {
  readonly #deps: AddressRangesDeps;
  readonly #configured: string;

  /** `configured`: such as `10.96.0.0/16`. */
  constructor(deps: AddressRangesDeps, configured: string) {
    this.#deps = deps;
    this.#configured = configured;
  }

  contains(number: number): boolean {
    return this.#ranges().some(({ first, last }) => number >= first && number <= last);
  }

  async reserve(address: string, { service, dryRun }: AddressClaim): Promise<"reserved" | "taken"> {
    if (dryRun) return this.#isTaken(address) ? "taken" : "reserved";
    const made = await this.#deps.addresses.create(address, service);
    return made === "created" ? "reserved" : "taken";
  }

  /** Any free address; undefined when every range is full. */
  async next(claim: AddressClaim): Promise<string | undefined> {
    for (const { first, last, reservedCount } of this.#ranges()) {
      const middle = first + reservedCount;
      const found =
        (await this.#nextIn(middle, last, claim)) ?? (await this.#nextIn(first, middle - 1, claim));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #nextIn(first: number, last: number, claim: AddressClaim): Promise<string | undefined> {
    for (const number of this.#candidates(first, last)) {
      const address = ipv4Text(number);
      if (this.#isTaken(address)) continue;
      if ((await this.reserve(address, claim)) === "reserved") return address;
    }
    return undefined;
  }

  /** Some random candidates, then all. */
  *#candidates(first: number, last: number): Generator<number> {
    const count = last - first + 1;
    if (count <= 0) return;
    const { random } = this.#deps;
    for (let i = 0; i < picksMax; i++) yield first + random.below(count);
    const start = random.below(count);
    for (let i = 0; i < count; i++) yield first + ((start + i) % count);
  }

  #isTaken(address: string): boolean {
    return this.#deps.lookup.get(addressResource, "", address) !== undefined;
  }

  #ranges(): readonly AddressRange[] {
    const { lookup } = this.#deps;
    const known = lookup.get(cidrResource, "", defaultCidr) !== undefined;
    const cidrs = (lookup.list(cidrResource, "") as readonly ServiceCIDR[])
      .filter(isReady)
      .toSorted((a, b) => Number(isDefault(b)) - Number(isDefault(a)))
      .flatMap(({ spec }) => spec?.cidrs ?? []);
    return (known ? cidrs : [this.#configured, ...cidrs])
      .map(parseRange)
      .filter((range): range is AddressRange => range !== undefined);
  }
}

function isDefault({ metadata }: ServiceCIDR): boolean {
  return metadata?.name === defaultCidr;
}

function isReady({ metadata, status }: ServiceCIDR): boolean {
  if (metadata?.deletionTimestamp !== undefined) return false;
  return (status?.conditions ?? []).some(
    ({ type, status: state }) => type === "Ready" && state === "True",
  );
}

/** Without network and broadcast address. Undefined: not IPv4, or no address is left. */
function parseRange(cidr: string): AddressRange | undefined {
  const [text = "", bits = ""] = cidr.split("/");
  const network = parseIpv4(text);
  const prefix = Number(bits);
  if (network === undefined || !(prefix >= 0 && prefix <= 30)) return undefined;
  const count = 2 ** (32 - prefix) - 2;
  return { first: network + 1, last: network + count, reservedCount: reservedBand(count, 16, 256) };
}

/** Upstream's band at the start of a range, reserved for explicitly requested numbers. */
export function reservedBand(count: number, step: number, max: number): number {
  if (count <= 16) return 0;
  return Math.min(Math.max(16, Math.floor(count / step)), max);
}
