/** Replicas of a store, each started again by its supervisor whenever it ends. */
import { EtcdClient } from "#etcd/client.ts";
import { startStore, type RunningStore } from "./store-harness.ts";

const waitMsMax = 60_000;
const againMs = 200;

/** A replica that its supervisor starts again whenever it ends. */
export class Replica {
  readonly url: string;
  readonly #args: readonly string[];
  store: RunningStore | undefined;
  /** What it said at its ends. */
  readonly ends: string[] = [];
  #isOver = false;

  constructor(port: number, etcdUrls: readonly string[], flags: readonly string[] = []) {
    const scheme = flags.includes("--cert") ? "https" : "http";
    this.url = `${scheme}://127.0.0.1:${port}`;
    const log = ["--engine", "etcd", "--etcd-servers", etcdUrls.join(",")];
    this.#args = [...log, "--listen", `127.0.0.1:${port}`, ...flags];
  }

  async start(): Promise<void> {
    const store = await startStore(this.#args);
    this.store = store;
    if (this.#isOver) store.child.kill("SIGKILL");
    void store.exited.then(() => {
      this.ends.push(store.output());
      void this.#startAgain();
    });
  }

  async #startAgain(): Promise<void> {
    while (!this.#isOver) {
      try {
        return await this.start();
      } catch (error) {
        this.ends.push(String(error));
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    }
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.store?.kill();
  }
}

/** The one that holds the log. */
export async function findHolder(replicas: readonly Replica[]): Promise<Replica> {
  for (const deadline = performance.now() + waitMsMax; performance.now() < deadline;) {
    for (const one of replicas) {
      const client = new EtcdClient(one.url);
      const status = await client.status().catch(() => undefined);
      client.close();
      if (status !== undefined && status.leader === status.header?.memberId) return one;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("nobody holds the log");
}
