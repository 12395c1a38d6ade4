/** Writes the v1 Endpoints object of a Service, with the rights of upstream's endpoint controller. */
import type { Endpoints, Service } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { isAlreadyExists, isNotFound } from "#client/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";
import type { ControllerRole } from "../framework/role.ts";
import type { PortGroup } from "./desired.ts";
import { isElection } from "./labels.ts";
import { planEndpoints } from "./legacy.ts";

export const endpointsRole: ControllerRole = {
  account: "endpoint-controller",
  rules: [
    "read | core | pods,services",
    "create,delete,get,list,update,watch | core | endpoints",
    "create | core | endpoints/restricted",
    "events",
  ],
};

export class EndpointsControl {
  readonly #client: Client;
  readonly #endpoints: Informer<Endpoints>;
  readonly #expectations: Expectations<Endpoints>;

  constructor(
    { clientFor, clock }: Pick<ControllerDeps, "clientFor" | "clock">,
    endpoints: Informer<Endpoints>,
  ) {
    this.#client = clientFor(endpointsRole.account);
    this.#endpoints = endpoints;
    this.#expectations = new Expectations(endpoints, clock);
  }

  isSatisfied(key: string): boolean {
    return this.#expectations.isSatisfied(key);
  }

  async write(key: string, service: Service, groups: readonly PortGroup[]): Promise<void> {
    const { namespace = "", name = "" } = service.metadata ?? {};
    const current = this.#endpoints.get(namespace, name);
    const wanted = planEndpoints(service, groups, current);
    if (wanted === undefined) return;
    if (current === undefined) return this.#create(key, namespace, wanted);
    const updated = await this.#client.update(refs.endpoints, namespace, wanted);
    this.#expectations.expectWrite(key, updated);
  }

  /** The Service is gone. */
  async remove(key: string): Promise<void> {
    this.#expectations.forget(key);
    const object = this.#endpoints.getByKey(key);
    if (object === undefined || isElection(object)) return;
    const { namespace = "", name = "", uid = "" } = object.metadata ?? {};
    try {
      await this.#client.delete(refs.endpoints, namespace, name, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #create(key: string, namespace: string, object: Endpoints): Promise<void> {
    try {
      const created = await this.#client.create(refs.endpoints, namespace, object);
      this.#expectations.expectWrite(key, created);
    } catch (error) {
      // Created by hand a moment ago: its event wakes the key again.
      if (!isAlreadyExists(error)) throw error;
    }
  }
}
