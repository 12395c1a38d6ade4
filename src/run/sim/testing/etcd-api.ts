/**
 * The etcd API at its door, in one world of virtual time: methods are called with bytes, streams
 * hand over what they are sent at once, or hold it while they are stalled; the server can be started
 * again, in order, killed, or by a power cut.
 */
import { silentLog } from "#platform/log.ts";
import type { ServerStream, StreamEnd } from "#etcd/call.ts";
import { etcdMethods, recommendedEtcdLimits, type EtcdOptions } from "#etcd/services.ts";
import type { FullStore } from "#store/full-store.ts";
import { openStore } from "#store/open.ts";
import type { Input, Message } from "#wire/etcd-codec.ts";
import { GrpcError, prefixBytes } from "#wire/grpc.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeDisk } from "#platform/testing/disk.ts";
import type { Methods } from "../grpc-network.ts";
import { ProcessClock } from "../process-clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";

export type ApiEngine = "memory" | "local";
export type Restart = "close" | "kill" | "power cut";

/** Bugs that a test inserts; the comparison has to find them. */
export interface ApiPlanted {
  readonly store?: (store: FullStore) => FullStore;
  readonly methods?: (methods: Methods) => Methods;
}

/** Small values, so that a few dozen steps cross segments, checkpoints, batches and backlogs. */
const storeOptions = {
  valueBytesMax: 4096,
  quotaBytes: 2 ** 20,
  batchBytesMax: 8192,
  batchItemsMax: 16,
  slabBytes: 4096,
  watchBatchCommitsMax: 4,
  leasesMax: 100,
} as const;
const engines = {
  memory: { engine: "memory" },
  local: {
    engine: "local",
    directory: "/data",
    segmentBytes: 4096,
    checkpointLogBytes: 4096,
    freeBytesMin: 0,
  },
} as const;
const etcdOptions: EtcdOptions = {
  ...recommendedEtcdLimits,
  clusterId: 1n,
  memberId: 2n,
  name: "sim",
  clientUrls: () => [],
  quotaBytes: storeOptions.quotaBytes,
  progressMs: 3000,
  responseBytes: 600,
  fragmentBytes: 300,
  streamBacklogBytes: 500,
};

/** Maximum number of turns before a call counts as hung. Each turn fires the timers that are due. */
const turnsMax = 1000;

export class EtcdApi {
  readonly #clock = new FakeClock();
  readonly #engine: ApiEngine;
  readonly #planted: ApiPlanted;
  readonly #seed: number;
  #disk: FakeDisk;
  #process: ProcessClock;
  #store: FullStore | undefined;
  #methods: Methods = new Map();
  #streams: ApiStream[] = [];

  constructor(engine: ApiEngine, seed: number, planted: ApiPlanted) {
    this.#engine = engine;
    this.#planted = planted;
    this.#seed = seed;
    this.#disk = new FakeDisk(seed);
    this.#process = new ProcessClock(this.#clock);
  }

  /** Whether a restart would lose all data. Then no restart happens, and only the streams are cut. */
  get forgets(): boolean {
    return this.#engine === "memory";
  }

  get nowMs(): number {
    return this.#clock.monotonicMs();
  }

  async start(): Promise<void> {
    const { store: plantStore, methods: plantMethods } = this.#planted;
    this.#process = new ProcessClock(this.#clock);
    const random = new FakeRandom(this.#seed);
    const deps = { clock: this.#process, random, log: silentLog, disk: this.#disk };
    const opened = await this.#finish(
      openStore(deps, { ...storeOptions, ...engines[this.#engine] }),
    );
    this.#store = opened;
    const store = plantStore?.(opened) ?? opened;
    const methods = etcdMethods({ ...deps, store }, etcdOptions);
    this.#methods = plantMethods?.(methods) ?? methods;
  }

  /** Ends every stream and restarts the server. */
  async restart(how: Restart): Promise<void> {
    for (const stream of this.#streams) stream.cut();
    this.#streams = [];
    if (this.forgets) return;
    if (how === "close") await this.stop();
    this.#process.kill();
    this.#disk = how === "power cut" ? this.#disk.survivor() : this.#disk.inherited();
    await this.start();
  }

  async stop(): Promise<void> {
    if (this.#store !== undefined) await this.#finish(this.#store.close());
  }

  /** @returns the answer, or the text of the refusal. */
  async call<Q, A>(
    path: string,
    request: Message<Q>,
    response: Message<A>,
    fields: Input<Q>,
  ): Promise<A | string> {
    const method = this.#methods.get(`/etcdserverpb.${path}`);
    if (method?.kind !== "unary") throw new Error(`${path} is not a unary method`);
    const answered = async (): Promise<Buffer | readonly Buffer[]> =>
      method.answer(request.encode(fields));
    try {
      const frame = await this.#finish(answered());
      const whole = Buffer.isBuffer(frame) ? frame : Buffer.concat(frame);
      return response.decode(whole.subarray(prefixBytes));
    } catch (error) {
      if (error instanceof GrpcError) return error.message;
      throw error;
    }
  }

  stream(path: string, take: (bytes: Buffer) => void): ApiStream {
    const method = this.#methods.get(`/etcdserverpb.${path}`);
    if (method?.kind !== "stream") throw new Error(`${path} is not a stream`);
    const stream = new ApiStream(take);
    stream.server = method.open(stream);
    this.#streams.push(stream);
    return stream;
  }

  /** Runs everything that can happen without time passing. */
  async settle(): Promise<void> {
    await this.#clock.advance(0);
    await this.#clock.advance(0);
  }

  async pass(ms: number): Promise<void> {
    await this.#clock.advance(ms);
    await this.settle();
  }

  async #finish<T>(promise: Promise<T>): Promise<T> {
    let done = false;
    const settled = promise.finally(() => {
      done = true;
    });
    settled.catch(() => undefined);
    for (let turns = 0; turns < turnsMax && !done; turns++) await this.#clock.advance(0);
    if (!done) throw new Error("a call hangs");
    return settled;
  }
}

/** Both ends of a stream, without a network in between. */
export class ApiStream implements ServerStream {
  server: StreamEnd | undefined;
  readonly #take: (bytes: Buffer) => void;
  #held: Buffer[] = [];
  #stalled = false;
  #drains: (() => void)[] = [];
  #closed = false;

  constructor(take: (bytes: Buffer) => void) {
    this.#take = take;
  }

  get backlogBytes(): number {
    return this.#held.reduce((sum, bytes) => sum + bytes.length, 0);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get stalled(): boolean {
    return this.#stalled;
  }

  ask(bytes: Buffer): void {
    this.server?.message(bytes);
  }

  /** Makes the client take no more messages until `drain`. */
  stall(): void {
    this.#stalled = true;
  }

  drain(): void {
    this.#stalled = false;
    const [held, drains] = [this.#held, this.#drains];
    [this.#held, this.#drains] = [[], []];
    for (const bytes of held) this.#take(bytes);
    for (const f of drains) f();
  }

  cut(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.server?.closed();
  }

  send(withHeadroom: Buffer): void {
    if (this.#closed) return;
    const bytes = withHeadroom.subarray(prefixBytes);
    if (this.#stalled) this.#held.push(bytes);
    else this.#take(bytes);
  }

  sendPieces(pieces: readonly Buffer[]): void {
    this.send(Buffer.concat(pieces));
  }

  onDrain(f: () => void): void {
    this.#drains.push(f);
  }

  end(): void {
    this.cut();
  }

  fail(error: unknown): void {
    if (!(error instanceof GrpcError)) throw error;
    this.cut();
  }
}
