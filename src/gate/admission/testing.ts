/** Fakes for this room's tests: a lookup over objects, and requests. */
import type { Lister } from "#api/lister.ts";
import type { AnyObject, GroupResource } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { ApiError } from "#api/status.ts";
import type { ServiceName } from "./address-ranges.ts";
import type { AdmissionRequest } from "./admission.ts";
import { type PortChangeOptions, PortSet, type SharedPorts } from "./port-set.ts";
import type { ServiceNumbers } from "./service-addresses.ts";

const plurals: Readonly<Record<string, string>> = {
  PriorityClass: "priorityclasses",
  StorageClass: "storageclasses",
  RuntimeClass: "runtimeclasses",
  IngressClass: "ingressclasses",
  IPAddress: "ipaddresses",
  Ingress: "ingresses",
};

function pluralOf(kind: string): string {
  return plurals[kind] ?? `${kind.toLowerCase()}s`;
}

export class FakeLookup implements Lister {
  readonly #objects = new Map<string, AnyObject>();

  constructor(...objects: readonly AnyObject[]) {
    for (const object of objects) this.put(object);
  }

  put(object: AnyObject): void {
    this.#objects.set(keyOf(object), object);
  }

  remove(object: AnyObject): void {
    this.#objects.delete(keyOf(object));
  }

  get(resource: GroupResource, namespace: string, name: string): AnyObject | undefined {
    return this.#objects.get(`${resource.group}/${resource.resource}/${namespace}/${name}`);
  }

  list(resource: GroupResource, namespace: string): readonly AnyObject[] {
    const prefix = `${resource.group}/${resource.resource}/${namespace === "" ? "" : `${namespace}/`}`;
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    return keys.map((key) => this.#objects.get(key) ?? {});
  }
}

function keyOf(object: AnyObject): string {
  const group = parseApiVersion(object.apiVersion ?? "v1")?.group ?? "";
  const { namespace = "", name = "" } = object.metadata ?? {};
  return `${group}/${pluralOf(object.kind ?? "")}/${namespace}/${name}`;
}

interface FakeRequest extends AdmissionRequest {
  readonly warnings: readonly string[];
}

export function fakeRequest(
  object: AnyObject | undefined,
  over: Partial<AdmissionRequest> = {},
): FakeRequest {
  const warnings: string[] = [];
  const shown = object ?? over.oldObject ?? {};
  const gv = parseApiVersion(shown.apiVersion ?? "v1") ?? { group: "", version: "v1" };
  const kind = shown.kind ?? "";
  const info: ResourceInfo = {
    ...gv,
    resource: pluralOf(kind),
    singular: kind.toLowerCase(),
    kind,
    namespaced: shown.metadata?.namespace !== undefined,
    verbs: [],
    shortNames: [],
    categories: [],
    subresources: [],
  };
  return {
    operation: "CREATE",
    info,
    subresource: "",
    namespace: shown.metadata?.namespace ?? "",
    name: shown.metadata?.name ?? "",
    object,
    oldObject: undefined,
    user: { name: "jane", groups: [] },
    dryRun: false,
    warn: (text) => warnings.push(text),
    warnings,
    ...over,
  };
}

/** The error of `f` as `403 pods "p" is forbidden: ...`, or "admitted". */
export async function outcome(f: () => unknown): Promise<string> {
  try {
    await f();
    return "admitted";
  } catch (error) {
    if (error instanceof ApiError) return `${error.code} ${error.message}`;
    throw error;
  }
}

export function pod(spec: object = {}, metadata: object = {}): AnyObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", ...metadata },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  };
}

export function ipAddress(name: string, { namespace, name: service }: ServiceName): AnyObject {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "IPAddress",
    metadata: { name },
    spec: { parentRef: { resource: "services", namespace, name: service } },
  };
}

/** Addresses as objects of `lookup`, ports as one set over upstream's default range. */
export function fakeServiceNumbers(lookup: FakeLookup): ServiceNumbers & { ports: FakePorts } {
  const resource = { group: "networking.k8s.io", resource: "ipaddresses" };
  return {
    addresses: {
      create: (address, service) => {
        if (lookup.get(resource, "", address) !== undefined) return Promise.resolve("exists");
        lookup.put(ipAddress(address, service));
        return Promise.resolve("created");
      },
      release: (address, service) => {
        lookup.remove(ipAddress(address, service));
        return Promise.resolve();
      },
    },
    ports: new FakePorts(),
  };
}

class FakePorts implements SharedPorts {
  readonly #range = { first: 30_000, last: 32_767 };
  #taken: readonly number[] = [];

  async change<T>(change: (ports: PortSet) => T, options: PortChangeOptions): Promise<T> {
    const ports = new PortSet(this.#range, this.#taken);
    const result = change(ports);
    if (options.dryRun) return result;
    for (const port of ports.ports) if (!this.#taken.includes(port)) options.taken.add(port);
    this.#taken = [...ports.ports];
    return result;
  }

  async release(released: readonly number[]): Promise<void> {
    this.#taken = this.#taken.filter((port) => !released.includes(port));
  }
}
