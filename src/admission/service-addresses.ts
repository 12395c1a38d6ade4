/**
 * Addresses and node ports of services: one IPv4 range, one range of ports, SingleStack.
 *
 * In     services on their way in, after all other mutating plugins. Out: the same with clusterIP,
 *        clusterIPs, ipFamilies, ipFamilyPolicy, nodePort and healthCheckNodePort filled as upstream does.
 * Holds  no two services of this process have the same address or port (see number-pool.ts); at start
 *        the ranges are filled from the cache.
 * Absent IPAddress and ServiceCIDR objects: several API servers over one store are not coordinated here.
 */
import type { Service, ServicePort, ServiceSpec } from "#api/gen/types.ts";
import { ipv4Text, parseIpv4 } from "#api/ipv4.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError, internalError, invalid } from "#api/status.ts";
import type { FieldError } from "#api/status.ts";
import { needsHealthCheckPort, needsNodePort, services } from "#api/strategies/service.ts";
import { invalidValue } from "#api/validation/errors.ts";
import { assert } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import { NumberPool } from "./number-pool.ts";
import type { Claim, Owner } from "./number-pool.ts";
import { isCore, withSpec } from "./request.ts";

export interface ServiceAddressOptions {
  /** `10.96.0.0/16`; IPv4, prefix 8 to 28. */
  readonly range: string;
  readonly firstNodePort: number;
  readonly lastNodePort: number;
}

interface ServiceAddressDeps {
  readonly lookup: Lister;
  readonly clock: Clock;
  readonly random: Random;
}

const servicesResource = { group: "", resource: "services" };
const none = "None";

export function serviceAddresses(
  deps: ServiceAddressDeps,
  options: ServiceAddressOptions,
): AdmissionPlugin {
  const ranges = new ServiceRanges(deps, options);
  return {
    name: "ServiceAddresses",
    mutate(request: AdmissionRequest): AnyObject {
      const object = request.object ?? {};
      if (!isCore(request, "services")) return object;
      if (request.operation === "CREATE") return ranges.create(request, object);
      if (request.operation === "UPDATE") return ranges.update(request, object);
      return object;
    },
    validate(request: AdmissionRequest): void {
      // Once it is deleted its numbers are free at once.
      if (isCore(request, "services") && request.operation === "DELETE") ranges.settle(request);
    },
    unreserve: (request) => ranges.abandon(request),
  };
}

interface Taken {
  readonly addresses: number[];
  readonly ports: number[];
}

class ServiceRanges {
  readonly #lookup: Lister;
  readonly #range: string;
  readonly #validPorts: string;
  readonly #addresses: NumberPool;
  readonly #ports: NumberPool;
  readonly #taken = new WeakMap<object, Taken>();
  #filled = false;

  constructor(deps: ServiceAddressDeps, options: ServiceAddressOptions) {
    this.#lookup = deps.lookup;
    this.#range = options.range;
    const { firstNodePort, lastNodePort } = options;
    this.#validPorts = `${firstNodePort}-${lastNodePort}`;
    const { first, last } = parseRange(options.range);
    const pool = (
      numbersOf: (service: Service) => readonly number[],
      start: number,
      end: number,
      reservedCount: number,
    ): NumberPool =>
      new NumberPool(
        { ...deps, holds: (owner, number) => this.#shows(owner, number, numbersOf) },
        { first: start, last: end, reservedCount },
      );
    // Upstream's bands: a sixteenth of the addresses, a thirty-second of the ports, within bounds.
    this.#addresses = pool(addressesOf, first, last, band(last - first + 3, 16, 256));
    const portCount = lastNodePort - firstNodePort + 1;
    this.#ports = pool(portsOf, firstNodePort, lastNodePort, band(portCount, 32, 128));
  }

  create(request: AdmissionRequest, object: AnyObject): AnyObject {
    return this.#guarded(request, (claim) => {
      const spec = (object as Service).spec ?? {};
      const addressed = this.#withAddress(request, withFamilies(request, spec), claim);
      const ported = this.#withPorts(request, addressed, undefined, claim);
      return withSpec(object, this.#withHealthPort(ported, undefined, claim));
    });
  }

  update(request: AdmissionRequest, object: AnyObject): AnyObject {
    const oldObject = request.oldObject ?? {};
    // What the client left out is first taken over from the old object, so that only news is allocated.
    const kept = services.prepareForUpdate?.(object, oldObject) ?? object;
    const old = (oldObject as Service).spec ?? {};
    this.settle(request);
    return this.#guarded(request, (claim) => {
      const spec = (kept as Service).spec ?? {};
      const families = withFamilies(request, spec);
      const joins = old.type === "ExternalName";
      const addressed = joins ? this.#withAddress(request, families, claim) : families;
      const ported = this.#withPorts(request, addressed, old, claim);
      return withSpec(kept, this.#withHealthPort(ported, old, claim));
    });
  }

  /** The write that stored the old object is over. */
  settle({ oldObject = {} }: AdmissionRequest): void {
    const owner = ownerOf(oldObject);
    for (const number of addressesOf(oldObject)) this.#addresses.settle(number, owner);
    for (const number of portsOf(oldObject)) this.#ports.settle(number, owner);
  }

  abandon(request: AdmissionRequest): void {
    const attempt = request.attempt ?? request;
    const taken = this.#taken.get(attempt);
    if (taken === undefined) return;
    this.#taken.delete(attempt);
    for (const number of taken.addresses) this.#addresses.giveBack(number, attempt);
    for (const number of taken.ports) this.#ports.giveBack(number, attempt);
  }

  /** What a refused service had reserved so far is free again. */
  #guarded(request: AdmissionRequest, allocate: (claim: Claim) => AnyObject): AnyObject {
    this.#fill();
    const { namespace, name, dryRun } = request;
    const attempt = request.attempt ?? request;
    // Asked again for the same attempt: what it has may be taken again.
    this.abandon(request);
    this.#taken.set(attempt, { addresses: [], ports: [] });
    try {
      return allocate({ owner: { namespace, name }, attempt, dryRun });
    } catch (error) {
      this.abandon(request);
      throw error;
    }
  }

  #fill(): void {
    if (this.#filled) return;
    this.#filled = true;
    for (const service of this.#lookup.list(servicesResource, "")) {
      const owner = ownerOf(service);
      for (const number of addressesOf(service)) this.#addresses.note(number, owner);
      for (const number of portsOf(service)) this.#ports.note(number, owner);
    }
  }

  #shows(
    owner: Owner,
    number: number,
    numbersOf: (service: Service) => readonly number[],
  ): boolean {
    if (owner.name === "") {
      const all = this.#lookup.list(servicesResource, owner.namespace);
      return all.some((service) => numbersOf(service).includes(number));
    }
    const service = this.#lookup.get(servicesResource, owner.namespace, owner.name);
    return service !== undefined && numbersOf(service).includes(number);
  }

  #withAddress(request: AdmissionRequest, spec: ServiceSpec, claim: Claim): ServiceSpec {
    const asked = spec.clusterIP ?? "";
    const listed = spec.clusterIPs ?? [];
    if (spec.type === "ExternalName") return spec;
    if (asked === none) return { ...spec, clusterIPs: listed.length > 0 ? listed : [none] };
    if (asked === "") {
      // A list without its first address in clusterIP is validation's to refuse.
      if (listed.length > 0) return spec;
      const text = this.#nextAddress(request, claim);
      return { ...spec, clusterIP: text, clusterIPs: [text] };
    }
    const clusterIPs = listed.length > 0 ? listed : [asked];
    const number = parseIpv4(asked);
    if (number !== undefined) this.#takeAddress(request, number, clusterIPs, claim);
    return { ...spec, clusterIPs };
  }

  #nextAddress(request: AdmissionRequest, claim: Claim): string {
    const number = this.#addresses.next(claim);
    if (number === undefined) {
      const service = JSON.stringify(serviceName(request));
      throw internalError(`failed to allocate a serviceIP for Service ${service}: range is full`);
    }
    this.#taken.get(claim.attempt)?.addresses.push(number);
    return ipv4Text(number);
  }

  #takeAddress(
    request: AdmissionRequest,
    number: number,
    clusterIPs: readonly string[],
    claim: Claim,
  ): void {
    const text = ipv4Text(number);
    const fail = (why: string): ApiError =>
      refuse(request, [
        invalidValue("spec.clusterIPs", clusterIPs, `failed to allocate IP ${text}: ${why}`),
      ]);
    if (!this.#addresses.contains(number)) {
      const range = this.#range;
      throw fail(
        `the provided IP (${text}) is not in the valid range. The range of valid IPs is ${range}`,
      );
    }
    if (this.#addresses.reserve(number, claim) === "taken") {
      throw fail("provided IP is already allocated");
    }
    this.#taken.get(claim.attempt)?.addresses.push(number);
  }

  /** `old`: the spec before an update, whose ports may be kept. */
  #withPorts(
    request: AdmissionRequest,
    spec: ServiceSpec,
    old: ServiceSpec | undefined,
    claim: Claim,
  ): ServiceSpec {
    const ports = spec.ports;
    if (ports === undefined || !needsNodePort({ ...spec })) return spec;
    const kept = new Set((old?.ports ?? []).map((port) => port.nodePort ?? 0));
    const mine = new Set<number>();
    /** Ports of one number (TCP and UDP of 53, say) share their node port. */
    const shared = new Map<number, number>();
    const allocates = spec.type === "NodePort" || spec.allocateLoadBalancerNodePorts !== false;
    const next = ports.map((port, index) => {
      const own = (port.nodePort ?? 0) === 0 ? undefined : port.nodePort;
      if (own === undefined && !allocates) return port;
      const wanted = own ?? findRequestedNodePort(port, ports) ?? shared.get(port.port);
      const nodePort = wanted ?? this.#nextPort("a nodePort", claim);
      const fresh = nodePort === wanted && !kept.has(nodePort) && !mine.has(nodePort);
      if (fresh) this.#takePort(request, nodePort, index, claim);
      mine.add(nodePort);
      shared.set(port.port, nodePort);
      return port.nodePort === nodePort ? port : { ...port, nodePort };
    });
    return { ...spec, ports: next };
  }

  #nextPort(what: string, claim: Claim): number {
    const number = this.#ports.next(claim);
    if (number === undefined) throw internalError(`failed to allocate ${what}: range is full`);
    this.#taken.get(claim.attempt)?.ports.push(number);
    return number;
  }

  #takePort(request: AdmissionRequest, number: number, index: number, claim: Claim): void {
    const fault = this.#portFault(number, claim);
    if (fault === undefined) return;
    throw refuse(request, [invalidValue(`spec.ports[${index}].nodePort`, number, fault)]);
  }

  #portFault(number: number, claim: Claim): string | undefined {
    if (!this.#ports.contains(number)) {
      return `provided port is not in the valid range. The range of valid ports is ${this.#validPorts}`;
    }
    if (this.#ports.reserve(number, claim) === "taken") return "provided port is already allocated";
    this.#taken.get(claim.attempt)?.ports.push(number);
    return undefined;
  }

  #withHealthPort(spec: ServiceSpec, old: ServiceSpec | undefined, claim: Claim): ServiceSpec {
    const needed = old !== undefined && needsHealthCheckPort({ ...old });
    if (needed || !needsHealthCheckPort({ ...spec })) return spec;
    const asked = spec.healthCheckNodePort ?? 0;
    if (asked === 0) {
      return { ...spec, healthCheckNodePort: this.#nextPort("a HealthCheck NodePort 0", claim) };
    }
    const fault = this.#portFault(asked, claim);
    if (fault === undefined) return spec;
    throw internalError(`failed to allocate requested HealthCheck NodePort ${asked}: ${fault}`);
  }
}

function serviceName(request: AdmissionRequest): string {
  return request.object?.metadata?.name ?? request.name;
}

function refuse(request: AdmissionRequest, errors: readonly FieldError[]): ApiError {
  return invalid({ group: "", kind: "Service" }, serviceName(request), errors);
}

// ---- families

/** ipFamilies and ipFamilyPolicy of a cluster that has IPv4 alone; throws what such a cluster refuses. */
function withFamilies(request: AdmissionRequest, spec: ServiceSpec): ServiceSpec {
  if (spec.type === "ExternalName") return spec;
  const open = spec.clusterIP === none && Object.keys(spec.selector ?? {}).length === 0;
  const ipFamilyPolicy = spec.ipFamilyPolicy ?? (open ? "RequireDualStack" : "SingleStack");
  const given = spec.ipFamilies ?? [];
  if (open) {
    // Endpoints that are maintained by hand may use both families on any cluster.
    const families = given.length === 0 ? ["IPv4"] : given;
    const other = families[0] === "IPv4" ? "IPv6" : "IPv4";
    const both = ipFamilyPolicy !== "SingleStack" && families.length === 1;
    return { ...spec, ipFamilyPolicy, ipFamilies: both ? [...families, other] : families };
  }
  const errors = familyErrors({ ...spec, ipFamilyPolicy });
  if (errors.length > 0) throw refuse(request, errors);
  return { ...spec, ipFamilyPolicy, ipFamilies: given.length === 0 ? ["IPv4"] : given };
}

function familyErrors(spec: ServiceSpec): readonly FieldError[] {
  const { ipFamilyPolicy, ipFamilies = [], clusterIPs = [] } = spec;
  const path = "spec.ipFamilyPolicy";
  const single = ipFamilyPolicy === "SingleStack";
  const several = (what: string): FieldError =>
    invalidValue(
      path,
      ipFamilyPolicy,
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`,
    );
  const first = [
    ...(single && clusterIPs.length === 2 ? [several("cluster IPs")] : []),
    ...(single && ipFamilies.length === 2 ? [several("IP families")] : []),
    ...clusterIPs.flatMap((ip, index) =>
      index >= ipFamilies.length && ip.includes(":")
        ? [
            invalidValue(
              `spec.clusterIPs[${index}]`,
              clusterIPs,
              "IPv6 is not configured on this cluster",
            ),
          ]
        : [],
    ),
  ];
  if (first.length > 0) return first;
  const dual = "this cluster is not configured for dual-stack services";
  return [
    ...(ipFamilyPolicy === "RequireDualStack" ? [invalidValue(path, ipFamilyPolicy, dual)] : []),
    ...ipFamilies.flatMap((family, index) =>
      family === "IPv6"
        ? [invalidValue(`spec.ipFamilies[${index}]`, family, "not configured on this cluster")]
        : [],
    ),
  ];
}

/** The node port another port of the same number asks for. */
function findRequestedNodePort(
  port: ServicePort,
  ports: readonly ServicePort[],
): number | undefined {
  return ports.find((other) => other.port === port.port && (other.nodePort ?? 0) !== 0)?.nodePort;
}

// ---- numbers

function ownerOf(service: Service): Owner {
  const { namespace = "", name = "" } = service.metadata ?? {};
  return { namespace, name };
}

function addressesOf(service: Service): readonly number[] {
  const { clusterIP = "", clusterIPs = [] } = service.spec ?? {};
  const numbers = [clusterIP, ...clusterIPs].map(parseIpv4);
  return numbers.filter((number): number is number => number !== undefined);
}

function portsOf(service: Service): readonly number[] {
  const { ports = [], healthCheckNodePort = 0 } = service.spec ?? {};
  const numbers = [...ports.map((port) => port.nodePort ?? 0), healthCheckNodePort];
  return numbers.filter((number) => number !== 0);
}

function band(count: number, step: number, max: number): number {
  if (count <= 16) return 0;
  return Math.min(Math.max(16, Math.floor(count / step)), max);
}

/** First and last usable address: without the network's and the broadcast's. */
function parseRange(range: string): { readonly first: number; readonly last: number } {
  const [text = "", bits = ""] = range.split("/");
  const network = parseIpv4(text);
  const prefix = Number(bits);
  assert(network !== undefined && prefix >= 8 && prefix <= 28, "an IPv4 service range", { range });
  const size = 2 ** (32 - prefix);
  assert(network % size === 0, "a service range starts at its network address", { range });
  return { first: network + 1, last: network + size - 2 };
}
