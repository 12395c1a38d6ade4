/**
 * Limits the number of open requests to kubelets, pods and Services.
 *
 * Holds  open requests <= `openMax`, and open requests to one server <= `openPerHostMax`, so that one node that never
 *        answers does not use all places.
 * Out    a place, whose release is idempotent; at a limit 429 with Retry-After 1.
 * Why    each open request holds two sockets, and no other memory here.
 */
import { tooManyRequests } from "#api/status.ts";
import type { ByteDuplex } from "#platform/http.ts";

export interface StreamLimits {
  readonly openMax: number;
  readonly openPerHostMax: number;
}

export interface Release {
  /** Releases the place; further calls do nothing. */
  (): void;
  /** The client's connection, once the request has become a tunnel. */
  client?: ByteDuplex;
}

export class OpenStreams {
  readonly #limits: StreamLimits;
  readonly #ofHost = new Map<string, number>();
  readonly #open = new Set<Release>();

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  get open(): number {
    return this.#open.size;
  }

  /** Takes a place for a request to `host`. @throws ApiError 429. */
  enter(host: string): Release {
    const ofHost = this.#ofHost.get(host) ?? 0;
    if (this.#open.size >= this.#limits.openMax)
      throw tooManyRequests("too many requests to nodes, pods and services are open", 1);
    if (ofHost >= this.#limits.openPerHostMax)
      throw tooManyRequests(`too many requests to ${host} are open`, 1);
    const release: Release = () => {
      if (this.#open.delete(release)) this.#leave(host);
    };
    this.#open.add(release);
    this.#ofHost.set(host, ofHost + 1);
    return release;
  }

  /** Ends all tunnels when the server stops. Other answers are ended by their senders. */
  cutTunnels(): void {
    for (const { client } of this.#open) client?.abort();
  }

  #leave(host: string): void {
    const left = (this.#ofHost.get(host) ?? 1) - 1;
    if (left > 0) this.#ofHost.set(host, left);
    else this.#ofHost.delete(host);
  }
}
