/**
 * The load generator, a process of its own: `node generate.ts '<LoadOptions as JSON>'` prints one
 * Sample as a line of JSON.
 *
 * Closed: each client has one call on its way. Paced: calls leave at a rate whatever comes back, and
 * a latency counts from when the call was due. A call that fails ends the run.
 */
import { fail, H2Client } from "./h2-client.ts";
import { Histogram, sleep, Window, type Sample } from "./sample.ts";
import { workload, type Workload, type WorkloadOptions } from "./workloads.ts";

export interface LoadOptions extends WorkloadOptions {
  readonly port: number;
  readonly serverPid: number;
  readonly connections: number;
  readonly warmSeconds: number;
  readonly seconds: number;
  /** Ends after this many calls, all of them measured: no warm-up. */
  readonly callsMax?: number;
  /** Calls a second; absent: closed. */
  readonly perSecond?: number;
}

class Load {
  readonly #options: LoadOptions;
  readonly #workload: Workload;
  readonly #clients: readonly H2Client[];
  readonly latencies = new Histogram();
  readonly finished = Promise.withResolvers<void>();
  #sent = 0;
  #answered = 0;
  stopping = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#workload = workload(options);
    const { connections, port } = options;
    this.#clients = Array.from(
      { length: connections },
      () => new H2Client(port, this.#workload.path),
    );
  }

  startClosed(): void {
    for (let client = 0; client < this.#options.clients; client++) this.#next(client);
  }

  async pace(perSecond: number): Promise<void> {
    const startMs = performance.now();
    for (let due = 0; !this.stopping;) {
      const until = ((performance.now() - startMs) / 1000) * perSecond;
      for (; due < until; due++) {
        this.#call(due % this.#options.clients, startMs + (due * 1000) / perSecond);
      }
      await sleep(1);
    }
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  #next(client: number): void {
    const { callsMax = Number.POSITIVE_INFINITY } = this.#options;
    if (!this.stopping && this.#sent < callsMax) this.#call(client, performance.now());
    else if (this.#answered >= callsMax) this.finished.resolve();
  }

  #call(client: number, startedMs: number): void {
    this.#sent++;
    let first: Buffer | undefined;
    let bytes = 0;
    (this.#clients[client % this.#clients.length] as H2Client).call(
      this.#workload.request(client),
      {
        data: (payload) => {
          first ??= payload;
          bytes += payload.length;
        },
        ended: () => {
          // An error is trailers alone.
          if (first === undefined) fail(new Error("a call was answered with an error"));
          this.#workload.answered(client, first, bytes);
          this.latencies.add(performance.now() - startedMs);
          this.#answered++;
          if (this.#options.perSecond === undefined) this.#next(client);
        },
      },
    );
  }
}

async function run(options: LoadOptions): Promise<Sample> {
  const load = new Load(options);
  const paced = options.perSecond === undefined ? load.startClosed() : load.pace(options.perSecond);
  if (options.callsMax === undefined) await sleep(options.warmSeconds * 1000);
  load.latencies.clear();
  const window = new Window(options.serverPid);
  if (options.callsMax === undefined) await sleep(options.seconds * 1000);
  else await load.finished.promise;
  const sample = window.end(load.latencies);
  load.stopping = true;
  await paced;
  await sleep(100);
  load.close();
  return sample;
}

const sample = await run(JSON.parse(process.argv[2] ?? "{}") as LoadOptions);
process.stdout.write(`${JSON.stringify(sample)}\n`);
process.exit(0);
