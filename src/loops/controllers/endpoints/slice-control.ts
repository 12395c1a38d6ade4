/**
 * Writes EndpointSlices of a key (a Service or an Endpoints object), and remembers until the cache shows
 * them: a key that is not satisfied must not be planned again.
 */
import type { EndpointSlice } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { Expectations } from "#client/expectations.ts";
import { refs } from "../framework/refs.ts";

export class SliceControl {
  readonly #client: Client;
  readonly #expectations: Expectations<EndpointSlice>;

  constructor(
    { client, clock }: Pick<ControllerDeps, "client" | "clock">,
    slices: Informer<EndpointSlice>,
  ) {
    this.#client = client;
    this.#expectations = new Expectations(slices, clock);
  }

  isSatisfied(key: string): boolean {
    return this.#expectations.isSatisfied(key);
  }

  forget(key: string): void {
    this.#expectations.forget(key);
  }

  async create(key: string, slice: EndpointSlice): Promise<void> {
    const namespace = slice.metadata?.namespace ?? "";
    const created = await this.#client.create(refs.endpointslices, namespace, slice);
    this.#expectations.expectWrite(key, created);
  }

  async update(key: string, slice: EndpointSlice): Promise<void> {
    const namespace = slice.metadata?.namespace ?? "";
    const updated = await this.#client.update(refs.endpointslices, namespace, slice);
    this.#expectations.expectWrite(key, updated);
  }

  async remove(key: string, slice: EndpointSlice): Promise<void> {
    const { namespace = "", name = "", uid = "" } = slice.metadata ?? {};
    this.#expectations.expectDeletion(key, slice);
    try {
      await this.#client.delete(refs.endpointslices, namespace, name, { preconditions: { uid } });
    } catch (error) {
      this.#expectations.cancelDeletion(key, slice);
      if (!isNotFound(error)) throw error;
    }
  }
}
