/**
 * Maintains the Endpoints and the EndpointSlice `kubernetes` of several API servers over one storage. Every ten seconds
 * each server renews its master lease and writes the addresses of all live leases.
 *
 * Holds  a server that stops removes its address first. The address of a crashed server is removed by another server's
 *        next round after the lease of 15 seconds has expired: after 25 seconds at most.
 * Fails  a failed round is logged; the next round tries again.
 * After  k/k pkg/controlplane/reconcilers/lease.go.
 */
import { jsonEqual } from "#api/json/json-value.ts";
import type { Endpoints } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { MasterLeases } from "#registry/master-leases.ts";
import { kubernetesEndpoints, kubernetesEndpointSlice } from "./bootstrap-objects.ts";
import type { Catalog } from "./kind.ts";
import { storedKind } from "./stored-kind.ts";

const periodMs = 10_000;
const namespace = "default";
const name = "kubernetes";
/** Fields that this server writes; other fields stay. */
const fields = ["subsets", "endpoints", "ports", "addressType"] as const;

interface KubernetesEndpointsDeps {
  readonly catalog: Catalog;
  readonly leases: MasterLeases;
  readonly clock: Clock;
  readonly log: Log;
}

export class KubernetesEndpoints {
  readonly #deps: KubernetesEndpointsDeps;
  readonly #own: { readonly host: string; readonly port: number };
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;
  /** Whether the port is written. Only the first round writes it: servers with different ports would alternate. */
  #hasPort = false;

  /** `own`: the address at which clients reach this server. */
  constructor(
    deps: KubernetesEndpointsDeps,
    own: { readonly host: string; readonly port: number },
  ) {
    this.#deps = deps;
    this.#own = own;
  }

  /** Resolves after the first round. */
  start(): Promise<void> {
    this.#running = this.#round();
    return this.#running;
  }

  /** Resolves when this server's address has been removed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
    await this.#attempt(async () => {
      const { host } = this.#own;
      await this.#deps.leases.remove(host);
      await this.#write(this.#deps.leases.addresses().filter((ip) => ip !== host));
    });
  }

  async #round(): Promise<void> {
    await this.#attempt(async () => {
      const { host } = this.#own;
      await this.#deps.leases.renew(host);
      // This server's own lease may not be in its view yet.
      await this.#write([...new Set([...this.#deps.leases.addresses(), host])].toSorted());
    });
    if (this.#isClosed) return;
    this.#timer = this.#deps.clock.after("apiserver.endpoints", periodMs, () => {
      this.#running = this.#round();
    });
  }

  async #attempt(f: () => Promise<void>): Promise<void> {
    try {
      await f();
    } catch (error) {
      this.#deps.log.warn("the endpoints of the API were not reconciled", { error: String(error) });
    }
  }

  async #write(addresses: readonly string[]): Promise<void> {
    const { host, port } = this.#own;
    const family = addresses.filter((ip) => ip.includes(":") === host.includes(":"));
    const known = this.#hasPort ? this.#writtenPort() : undefined;
    const shown = known ?? port;
    await this.#ensure("", "endpoints", kubernetesEndpoints(addresses, shown));
    const slice = { ...kubernetesEndpointSlice(family, shown), addressType: familyOf(host) };
    await this.#ensure("discovery.k8s.io", "endpointslices", slice);
    this.#hasPort = true;
  }

  #writtenPort(): number | undefined {
    const served = this.#deps.catalog.find("", "v1", "endpoints");
    const found = served === undefined ? undefined : storedKind(served).store.peek(namespace, name);
    return (found?.object as Endpoints | undefined)?.subsets?.[0]?.ports?.[0]?.port;
  }

  async #ensure(group: string, resource: string, wanted: AnyObject): Promise<void> {
    const served = this.#deps.catalog.find(group, "v1", resource);
    if (served === undefined) return;
    const kind = storedKind(served);
    const object = kind.toStored(kind.applyDefaults(wanted));
    const next = (current: AnyObject | undefined): AnyObject => changed(object, current);
    if (kind.store.peek(namespace, name) === undefined) {
      try {
        await kind.store.create(namespace, object, { dryRun: false });
        return;
      } catch (error) {
        // Another server has created the object first.
        if (!(error instanceof ApiError) || error.code !== 409) throw error;
      }
    }
    await kind.store.update(namespace, name, next, { subresource: "", dryRun: false });
  }
}

function familyOf(address: string): string {
  return address.includes(":") ? "IPv6" : "IPv4";
}

function changed(wanted: AnyObject, current: AnyObject | undefined): AnyObject {
  if (current === undefined) return wanted;
  const others = fields.filter((field) => !jsonEqual(wanted[field], current[field]));
  return { ...current, ...Object.fromEntries(others.map((field) => [field, wanted[field]])) };
}
