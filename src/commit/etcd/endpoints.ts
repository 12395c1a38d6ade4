/**
 * One connection to an etcd cluster: to one of its endpoints, and to the next one when that endpoint fails.
 *
 * A call is tried on one connection only: if a write was cut off, its caller must find out whether it happened.
 */
import { EtcdClient, type EtcdIdentity } from "./client.ts";

export class EtcdEndpoints {
  readonly #urls: readonly string[];
  readonly #identity: EtcdIdentity;
  #next = 0;
  #client: EtcdClient | undefined;
  #closed = false;

  /** `urls` must not be empty. */
  constructor(urls: readonly string[], identity: EtcdIdentity) {
    this.#urls = urls;
    this.#identity = identity;
  }

  /** The current connection, made when there is none. */
  client(): EtcdClient {
    if (this.#client !== undefined) return this.#client;
    const url = this.#urls[this.#next % this.#urls.length] ?? "";
    const client = new EtcdClient(url, this.#identity);
    this.#client = client;
    void client.gone.then(() => this.#lost(client));
    return client;
  }

  /** Leaves an endpoint that answers wrongly; the next call uses another one. */
  leave(client: EtcdClient): void {
    this.#lost(client);
    client.close();
  }

  close(): void {
    this.#closed = true;
    this.#client?.close();
  }

  #lost(client: EtcdClient): void {
    if (this.#client !== client || this.#closed) return;
    this.#client = undefined;
    this.#next++;
  }
}
