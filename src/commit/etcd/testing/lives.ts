/** A store behind the etcd API that is restarted several times on one simulated disk. */
import type { TestContext } from "node:test";
import { must } from "#base/assert.ts";
import { FakeDisk } from "#platform/testing/disk.ts";
import { EtcdClient } from "../client.ts";
import { type OurOptions, startOurs, type TestServer } from "./servers.ts";

/** Small enough that checkpoints are made and segments end within a test. */
const small = { segmentBytes: 16_384, checkpointLogBytes: 2048, freeBytesMin: 0 };

export interface Life {
  readonly server: TestServer;
  readonly client: EtcdClient;
}

/** Restarts a store on a simulated disk; a power cut loses everything that was not synced. */
export class Lives {
  disk: FakeDisk;
  #life: Life | undefined;

  /** `from`: the seed of an empty disk, or a disk. */
  constructor(t: TestContext, from: number | FakeDisk) {
    this.disk = typeof from === "number" ? new FakeDisk(from) : from;
    t.after(() => this.end());
  }

  async begin(options: OurOptions = {}): Promise<EtcdClient> {
    const server = await startOurs("local", {
      disk: this.disk,
      directory: "/data",
      store: small,
      ...options,
    });
    this.#life = { server, client: new EtcdClient(server.url) };
    return this.#life.client;
  }

  /** Cuts the power, then opens the store on what the disk kept. */
  async cut(): Promise<EtcdClient> {
    const survivor = this.disk.survivor();
    await this.end();
    this.disk = survivor;
    return this.begin();
  }

  async restart(): Promise<EtcdClient> {
    const { server, client } = must(this.#life, "no life");
    client.close();
    await server.close();
    return this.begin();
  }

  get server(): TestServer {
    return must(this.#life, "no life").server;
  }

  async end(): Promise<void> {
    this.#life?.client.close();
    await this.#life?.server.kill?.();
    this.#life = undefined;
  }
}
