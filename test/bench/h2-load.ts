/**
 * Closed-loop load over gRPC for benchmarks: its own HTTP/2 frames on plain sockets, so that the
 * generator costs a few microseconds a call and the server is what is measured.
 *
 *   node h2-load.ts <port> <clients> <connections> <seconds> <value bytes> [<keys>]
 *
 * Each client has one put on its way at a time. Prints one line of JSON. A call that fails ends it.
 */
import { connect, type Socket } from "node:net";
import * as m from "../../src/wire/etcd-messages.ts";
import { framed, prefixBytes } from "../../src/wire/grpc.ts";

const Frame = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
} as const;
const endStream = 1;
const endHeaders = 4;
const ack = 1;

export interface LoadOptions {
  readonly port: number;
  readonly clients: number;
  readonly connections: number;
  readonly seconds: number;
  readonly valueBytes: number;
  readonly keys: number;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly calls: number;
}

/** Latencies kept; more than any run here makes. */
const samplesMax = 4_000_000;

class Load {
  readonly options: LoadOptions;
  readonly latencies = new Float64Array(samplesMax);
  readonly #value: Uint8Array;
  #next = 0;
  measuring = false;
  stopping = false;
  calls = 0;

  constructor(options: LoadOptions) {
    this.options = options;
    this.#value = Buffer.alloc(options.valueBytes, "x");
  }

  request(): Buffer {
    const key = `bench/${String(this.#next++ % this.options.keys).padStart(8, "0")}`;
    return framed(m.putRequest.encode({ key, value: this.#value }, prefixBytes));
  }

  done(startedMs: number): void {
    if (this.measuring && this.calls < samplesMax) {
      this.latencies[this.calls++] = performance.now() - startedMs;
    }
  }
}

class Connection {
  readonly #socket: Socket;
  readonly #load: Load;
  readonly #started = new Map<number, number>();
  #stream = -1;
  #window = 65_535;
  #waiting = 0;
  #out: Buffer[] = [];
  #flushing = false;
  #held: Buffer = Buffer.alloc(0);

  constructor(load: Load, clients: number) {
    this.#load = load;
    this.#socket = connect(load.options.port, "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (chunk) => this.#read(chunk as Buffer));
    this.#socket.on("error", fail);
    this.#send(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    this.#send(frame(Frame.settings, 0, 0, Buffer.alloc(0)));
    this.#send(frame(Frame.window, 0, 0, uint32(2 ** 30)));
    for (let i = 0; i < clients; i++) this.#call();
  }

  close(): void {
    this.#socket.destroy();
  }

  #call(): void {
    if (this.#load.stopping) return;
    const message = this.#load.request();
    if (message.length > this.#window) {
      this.#waiting++;
      return;
    }
    this.#window -= message.length;
    const first = this.#stream === -1;
    this.#stream += 2;
    this.#started.set(this.#stream, performance.now());
    const block = first ? firstHeaders : laterHeaders;
    this.#send(frame(Frame.headers, endHeaders, this.#stream, block));
    this.#send(frame(Frame.data, endStream, this.#stream, message));
  }

  /** What is sent in one turn goes out as one write. */
  #send(bytes: Buffer): void {
    this.#out.push(bytes);
    if (this.#flushing) return;
    this.#flushing = true;
    process.nextTick(() => {
      this.#flushing = false;
      this.#socket.write(
        this.#out.length === 1 ? (this.#out[0] as Buffer) : Buffer.concat(this.#out),
      );
      this.#out = [];
    });
  }

  #read(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = 0;
    while (bytes.length - at >= 9) {
      const length = bytes.readUIntBE(at, 3);
      if (bytes.length - at < 9 + length) break;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      this.#frame(
        bytes[at + 3] as number,
        bytes[at + 4] as number,
        stream,
        bytes.subarray(at + 9, at + 9 + length),
      );
      at += 9 + length;
    }
    this.#held = bytes.subarray(at);
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === Frame.headers && (flags & endStream) !== 0) this.#ended(stream);
    else if (type === Frame.settings && (flags & ack) === 0) {
      this.#send(frame(Frame.settings, ack, 0, Buffer.alloc(0)));
    } else if (type === Frame.ping && (flags & ack) === 0) {
      this.#send(frame(Frame.ping, ack, 0, Buffer.from(payload)));
    } else if (type === Frame.window && stream === 0) this.#widen(payload.readUInt32BE(0));
    else if (type === Frame.reset || type === Frame.goaway) fail(new Error(`frame ${type} came`));
  }

  #widen(by: number): void {
    this.#window += by;
    const waiting = this.#waiting;
    this.#waiting = 0;
    for (let i = 0; i < waiting; i++) this.#call();
  }

  #ended(stream: number): void {
    this.#load.done(this.#started.get(stream) as number);
    this.#started.delete(stream);
    this.#call();
  }
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const state = new Load(options);
  const connections = Array.from({ length: options.connections }, (_, i) => {
    const share = Math.floor((options.clients + i) / options.connections);
    return new Connection(state, share);
  });
  await sleep(500);
  state.measuring = true;
  const start = performance.now();
  await sleep(options.seconds * 1000);
  state.measuring = false;
  const seconds = (performance.now() - start) / 1000;
  state.stopping = true;
  await sleep(200);
  for (const connection of connections) connection.close();
  const sorted = state.latencies.subarray(0, state.calls).toSorted();
  return {
    perSecond: Math.round(state.calls / seconds),
    p50Ms: round(sorted[Math.floor(sorted.length * 0.5)] ?? 0),
    p99Ms: round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
    calls: state.calls,
  };
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, 9);
  return bytes;
}

/** As a Go client does: the first request puts its headers into the table, later ones name them. */
const firstHeaders = Buffer.concat([
  Buffer.from([0x83, 0x86, 0x44]),
  text("/etcdserverpb.KV/Put"),
  Buffer.from([0x41]),
  text("127.0.0.1"),
  Buffer.from([0x5f]),
  text("application/grpc"),
  Buffer.from([0x40]),
  text("te"),
  text("trailers"),
]);
const laterHeaders = Buffer.from([0x83, 0x86, 0xc1, 0xc0, 0xbf, 0xbe]);

function text(value: string): Buffer {
  return Buffer.from(`${String.fromCharCode(value.length)}${value}`, "latin1");
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function fail(error: Error): void {
  process.stderr.write(`load: ${error.message}\n`);
  process.exit(1);
}

if (import.meta.main) {
  const [port = 0, clients = 1, connections = 1, seconds = 1, valueBytes = 1024, keys = 10_000] =
    process.argv.slice(2).map(Number);
  const result = await load({ port, clients, connections, seconds, valueBytes, keys });
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exit(0);
}
