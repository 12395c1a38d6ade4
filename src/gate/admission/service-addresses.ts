/**
 * Allocates addresses and node ports of services: IPv4, one range of ports, SingleStack.
 *
 * In     services after all other mutating plugins. Out: the same with clusterIP, clusterIPs, ipFamilies,
 *        ipFamilyPolicy, nodePort and healthCheckNodePort filled in as in upstream.
 * Holds  no two services of one storage get the same address or port, from any server: an address is reserved by its
 *        IPAddress object (address-ranges.ts), a port by its bit in the shared set (port-set.ts).
 * Ends   a refused write releases the reservations of its attempt. The storage frees the numbers of a stored service,
 *        because it sees the deletion.
 */
import type { Service, ServicePort, ServiceSpec } from "#api/gen/types.ts";
import { parseIpv4 } from "#api/values/ipv4.ts";
import type { Lister } from "#api/lister.ts";
import { generateName, pathSegmentName } from "#api/names.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError, internalError, invalid } from "#api/status.ts";
import type { FieldError } from "#api/status.ts";
import { needsHealthCheckPort, needsNodePort, services } from "#api/strategies/service.ts";
import { invalidValue } from "#api/validation/errors.ts";
import type { Random } from "#platform/random.ts";
import { type AddressObjects, AddressRanges, type ServiceName } from "./address-ranges.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AllocatorMetrics } from "./allocator-metrics.ts";
import type { PortSet, SharedPorts } from "./port-set.ts";
import { isCore, withSpec } from "./request.ts";

export interface ServiceAddressOptions {
  /** `10.96.0.0/16`; IPv4, prefix 8 to 28. */
  readonly range: string;
  readonly firstNodePort: number;
  readonly lastNodePort: number;
}

/** Addresses and ports shared by all servers over one storage. */
export interface ServiceNumbers {
  readonly addresses: AddressObjects;
  readonly ports: SharedPorts;
}

interface ServiceAddressDeps {
  readonly lookup: Lister;
  readonly random: Random;
  readonly serviceNumbers: ServiceNumbers;
  /** Absent: allocations are not counted. */
  readonly allocations?: AllocatorMetrics;
}

const none = "None";

export function serviceAddresses(
  deps: ServiceAddressDeps,
  options: ServiceAddressOptions,
): AdmissionPlugin {
  const allocator = new ServiceAllocator(deps, options);
  return {
    name: "ServiceAddresses",
    mutate(request: AdmissionRequest): AnyObject | Promise<AnyObject> {
      const object = request.object ?? {};
      if (!isCore(request, "services") || request.subresource !== "") return object;
      if (request.operation === "CREATE") return allocator.create(request, object);
      if (request.operation === "UPDATE") return allocator.update(request, object);
      return object;
    },
    unreserve: (request) => allocator.abandon(request),
  };
}

/** Reservations for one attempt of a write. */
interface Reserved {
  readonly service: ServiceName;
  readonly dryRun: boolean;
  readonly addresses: Set<string>;
  readonly ports: Set<number>;
}

class ServiceAllocator {
  readonly #deps: ServiceAddressDeps;
  readonly #range: string;
  readonly #validPorts: string;
  readonly #addresses: AddressRanges;
  readonly #reserved = new WeakMap<object, Reserved>();

  constructor(deps: ServiceAddressDeps, options: ServiceAddressOptions) {
    this.#deps = deps;
    this.#range = options.range;
    this.#validPorts = `${options.firstNodePort}-${options.lastNodePort}`;
    const { addresses } = deps.serviceNumbers;
    this.#addresses = new AddressRanges({ ...deps, addresses }, options.range);
  }

  create(request: AdmissionRequest, object: AnyObject): Promise<AnyObject> {
    const named = this.#withName(object);
    return this.#guarded(request, named, async (reserved) => {
      const spec = (named as Service).spec ?? {};
      const families = withFamilies(request, spec);
      const addressed = await this.#withAddress(request, families, reserved);
      return withSpec(named, await this.#withPorts(request, addressed, undefined, reserved));
    });
  }

  update(request: AdmissionRequest, object: AnyObject): Promise<AnyObject> {
    const oldObject = request.oldObject ?? {};
    // Omitted fields are first taken from the old object, so that only new ones are allocated.
    const kept = services.prepareForUpdate?.(object, oldObject) ?? object;
    const old = (oldObject as Service).spec ?? {};
    return this.#guarded(request, oldObject, async (reserved) => {
      const families = withFamilies(request, (kept as Service).spec ?? {});
      const joins = old.type === "ExternalName";
      const addressed = joins ? await this.#withAddress(request, families, reserved) : families;
      return withSpec(kept, await this.#withPorts(request, addressed, old, reserved));
    });
  }

  async abandon(request: AdmissionRequest): Promise<void> {
    const attempt = request.attempt ?? request;
    const reserved = this.#reserved.get(attempt);
    if (reserved === undefined) return;
    this.#reserved.delete(attempt);
    const { addresses, ports } = this.#deps.serviceNumbers;
    const { service } = reserved;
    await Promise.all([...reserved.addresses].map((one) => addresses.release(one, service)));
    if (reserved.ports.size > 0) await ports.release([...reserved.ports]);
  }

  /** Generates the name here, because an address is reserved under its service's name. */
  #withName(object: AnyObject): AnyObject {
    const { name = "", generateName: base = "" } = object.metadata ?? {};
    if (name !== "" || base === "") return object;
    return {
      ...object,
      metadata: { ...object.metadata, name: generateName(base, this.#deps.random) },
    };
  }

  /** Releases the reservations if the service is refused. A retry of an attempt keeps its reservations. */
  async #guarded(
    request: AdmissionRequest,
    named: AnyObject,
    allocate: (reserved: Reserved) => Promise<AnyObject>,
  ): Promise<AnyObject> {
    const { namespace } = request;
    const attempt = request.attempt ?? request;
    const service = { namespace, name: named.metadata?.name ?? "" };
    // Validation refuses a service without a valid name, so nothing is reserved.
    const isNamed = service.name !== "" && pathSegmentName(service.name, false).length === 0;
    const dryRun = request.dryRun || !isNamed;
    const fresh = { service, dryRun, addresses: new Set<string>(), ports: new Set<number>() };
    const reserved = this.#reserved.get(attempt) ?? fresh;
    this.#reserved.set(attempt, reserved);
    try {
      return await allocate(reserved);
    } catch (error) {
      await this.abandon(request);
      throw error;
    }
  }

  async #withAddress(
    request: AdmissionRequest,
    spec: ServiceSpec,
    reserved: Reserved,
  ): Promise<ServiceSpec> {
    const asked = spec.clusterIP ?? "";
    const listed = spec.clusterIPs ?? [];
    if (spec.type === "ExternalName") return spec;
    if (asked === none) return { ...spec, clusterIPs: listed.length > 0 ? listed : [none] };
    if (asked === "") {
      // Validation refuses clusterIPs whose first address is not clusterIP.
      if (listed.length > 0) return spec;
      const address = await this.#counted(reserved, "dynamic", () => this.#nextAddress(reserved));
      return { ...spec, clusterIP: address, clusterIPs: [address] };
    }
    const clusterIPs = listed.length > 0 ? listed : [asked];
    await this.#counted(reserved, "static", () =>
      this.#takeAddress(request, asked, clusterIPs, reserved),
    );
    return { ...spec, clusterIPs };
  }

  #counted<T>(
    { dryRun }: Reserved,
    scope: Parameters<AllocatorMetrics["counted"]>[0],
    allocate: () => Promise<T>,
  ): Promise<T> {
    const { allocations } = this.#deps;
    return dryRun || allocations === undefined ? allocate() : allocations.counted(scope, allocate);
  }

  async #nextAddress(reserved: Reserved): Promise<string> {
    const address = await this.#addresses.next(reserved);
    if (address === undefined) {
      const service = JSON.stringify(reserved.service.name);
      throw internalError(`failed to allocate a serviceIP for Service ${service}: range is full`);
    }
    if (!reserved.dryRun) reserved.addresses.add(address);
    return address;
  }

  async #takeAddress(
    request: AdmissionRequest,
    address: string,
    clusterIPs: readonly string[],
    reserved: Reserved,
  ): Promise<void> {
    const number = parseIpv4(address);
    // Validation refuses an invalid address.
    if (number === undefined || reserved.addresses.has(address)) return;
    const fail = (why: string): ApiError =>
      refuse(request, [
        invalidValue("spec.clusterIPs", clusterIPs, `failed to allocate IP ${address}: ${why}`),
      ]);
    if (!this.#addresses.contains(number)) {
      const range = this.#range;
      throw fail(
        `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${range}`,
      );
    }
    if ((await this.#addresses.reserve(address, reserved)) === "taken") {
      throw fail("provided IP is already allocated");
    }
    if (!reserved.dryRun) reserved.addresses.add(address);
  }

  /** `old`: the spec before an update, whose ports may be kept. */
  async #withPorts(
    request: AdmissionRequest,
    spec: ServiceSpec,
    old: ServiceSpec | undefined,
    reserved: Reserved,
  ): Promise<ServiceSpec> {
    if (!needsNodePort({ ...spec }) && !needsHealthCheckPort({ ...spec })) return spec;
    const { serviceNumbers, random } = this.#deps;
    const kept = new Set([...portsOf(old), ...reserved.ports]);
    const facts = { request, old, kept, random, validPorts: this.#validPorts };
    const { dryRun } = reserved;
    return serviceNumbers.ports.change(
      (ports) => {
        const choice = new PortChoice({ ...facts, ports });
        return choice.withHealthPort(choice.withNodePorts(spec));
      },
      { dryRun, taken: reserved.ports },
    );
  }
}

interface PortFacts {
  readonly request: AdmissionRequest;
  readonly old: ServiceSpec | undefined;
  /** Ports that the service already has. */
  readonly kept: ReadonlySet<number>;
  readonly ports: PortSet;
  readonly random: Random;
  readonly validPorts: string;
}

/** Chooses the ports of one service from the current set. */
class PortChoice {
  readonly #facts: PortFacts;

  constructor(facts: PortFacts) {
    this.#facts = facts;
  }

  withNodePorts(spec: ServiceSpec): ServiceSpec {
    const ports = spec.ports;
    if (ports === undefined || !needsNodePort({ ...spec })) return spec;
    const mine = new Set<number>();
    /** Ports with the same number (TCP and UDP of 53, for instance) share their node port. */
    const shared = new Map<number, number>();
    const allocates = spec.type === "NodePort" || spec.allocateLoadBalancerNodePorts !== false;
    const next = ports.map((port, index) => {
      const own = (port.nodePort ?? 0) === 0 ? undefined : port.nodePort;
      if (own === undefined && !allocates) return port;
      const wanted = own ?? findRequestedNodePort(port, ports) ?? shared.get(port.port);
      const nodePort = wanted ?? this.#next("a nodePort");
      const isNew = nodePort === wanted && !this.#facts.kept.has(nodePort) && !mine.has(nodePort);
      if (isNew) this.#take(nodePort, index);
      mine.add(nodePort);
      shared.set(port.port, nodePort);
      return port.nodePort === nodePort ? port : { ...port, nodePort };
    });
    return { ...spec, ports: next };
  }

  withHealthPort(spec: ServiceSpec): ServiceSpec {
    const { old, kept } = this.#facts;
    const had = old !== undefined && needsHealthCheckPort({ ...old });
    if (had || !needsHealthCheckPort({ ...spec })) return spec;
    const asked = spec.healthCheckNodePort ?? 0;
    if (asked === 0)
      return { ...spec, healthCheckNodePort: this.#next("a HealthCheck NodePort 0") };
    const fault = kept.has(asked) ? undefined : this.#fault(asked);
    if (fault === undefined) return spec;
    throw internalError(`failed to allocate requested HealthCheck NodePort ${asked}: ${fault}`);
  }

  #next(what: string): number {
    const port = this.#facts.ports.next(this.#facts.random);
    if (port === undefined) throw internalError(`failed to allocate ${what}: range is full`);
    return port;
  }

  #take(port: number, index: number): void {
    const fault = this.#fault(port);
    if (fault === undefined) return;
    const path = `spec.ports[${index}].nodePort`;
    throw refuse(this.#facts.request, [invalidValue(path, port, fault)]);
  }

  #fault(port: number): string | undefined {
    const { ports, validPorts } = this.#facts;
    if (!ports.contains(port)) {
      return `provided port is not in the valid range. The range of valid ports is ${validPorts}`;
    }
    return ports.take(port) ? undefined : "provided port is already allocated";
  }
}

function serviceName(request: AdmissionRequest): string {
  return request.object?.metadata?.name ?? request.name;
}

function refuse(request: AdmissionRequest, errors: readonly FieldError[]): ApiError {
  return invalid({ group: "", kind: "Service" }, serviceName(request), errors);
}

// ---- IP families

/** Sets ipFamilies and ipFamilyPolicy for a cluster with IPv4 only; throws what such a cluster refuses. */
function withFamilies(request: AdmissionRequest, spec: ServiceSpec): ServiceSpec {
  if (spec.type === "ExternalName") return spec;
  const open = spec.clusterIP === none && Object.keys(spec.selector ?? {}).length === 0;
  const ipFamilyPolicy = spec.ipFamilyPolicy ?? (open ? "RequireDualStack" : "SingleStack");
  const given = spec.ipFamilies ?? [];
  if (open) {
    // A service without selector may use both families on any cluster.
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

/** The node port requested by another port with the same number. */
function findRequestedNodePort(
  port: ServicePort,
  ports: readonly ServicePort[],
): number | undefined {
  return ports.find((other) => other.port === port.port && (other.nodePort ?? 0) !== 0)?.nodePort;
}

// ---- addresses and ports of a spec

/** Node ports of a service with this spec. */
export function portsOf(spec: ServiceSpec | undefined): readonly number[] {
  const { ports = [], healthCheckNodePort = 0 } = spec ?? {};
  const numbers = [...ports.map((port) => port.nodePort ?? 0), healthCheckNodePort];
  return numbers.filter((number) => number !== 0);
}

/** Cluster addresses of a service with this spec. */
export function addressesOf(spec: ServiceSpec | undefined): readonly string[] {
  const { clusterIP = "", clusterIPs = [] } = spec ?? {};
  return [...new Set([clusterIP, ...clusterIPs])].filter((one) => one !== "" && one !== none);
}
