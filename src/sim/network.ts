/**
 * A network in memory between clients and one server at a time: whole messages that are delayed,
 * kept in order within a stream, and lost when their connection is cut.
 *
 *   client ── request ──▶ delay ──▶ Method ──▶ answer ──▶ delay ──▶ client
 *
 * N1  A cut connection gives no further answers; whether the server saw the request is unknown.
 * N2  A stream's messages arrive in order or not at all; nothing follows the first lost one.
 *     Messages that a server sent before it crashed may still arrive, on each stream a prefix of them: they
 *     count as observed, so they have to be true.
 * N3  Messages that a stream's client has not taken are the server's backlog, so a slow client pushes back.
 */
import { Buffer } from "node:buffer";
import type { Prng } from "#base/prng.ts";
import type { Clock } from "#platform/clock.ts";
import type { Method, ServerStream, StreamEnd } from "#etcd/call.ts";
import { GrpcError, prefixBytes } from "#wire/grpc.ts";

/** There was no answer. `sent` false: the request never reached a server. */
export class ConnectionLost extends Error {
  readonly sent: boolean;

  constructor(sent: boolean) {
    super(sent ? "the connection was cut" : "nobody listens");
    this.name = "ConnectionLost";
    this.sent = sent;
  }
}

type Pass = (point: "message in" | "message out") => void;
export type Methods = ReadonlyMap<string, Method>;

interface StreamClient {
  /** `sentMs`: when the server sent it. */
  message(bytes: Buffer, sentMs: number): void;
  /** Nothing follows. `error`: the server ended it with this. */
  closed(error: GrpcError | undefined): void;
}

export interface ClientStream {
  send(bytes: Buffer): void;
  close(): void;
}

export class SimNetwork {
  readonly clock: Clock;
  readonly random: Prng;
  /** Longest way of a message, one direction. */
  delayMsMax = 5;
  readonly #connections = new Set<Connection>();
  #methods: Methods | undefined;
  #pass: Pass = () => undefined;

  constructor(deps: { readonly clock: Clock; readonly random: Prng }) {
    this.clock = deps.clock;
    this.random = deps.random;
  }

  /** Registers a server. Calls `pass` before each message to it, and after each message from it. */
  serve(methods: Methods, pass: Pass): void {
    this.#methods = methods;
    this.#pass = pass;
  }

  get pass(): Pass {
    return this.#pass;
  }

  /** The server is gone, and every connection with it. */
  down(): void {
    this.#methods = undefined;
    for (const connection of this.#connections) connection.serverGone();
    this.cut(1);
  }

  /** Cuts each connection with this probability. */
  cut(probability: number): void {
    for (const connection of this.#connections) {
      if (this.random.chance(probability)) connection.cut();
    }
  }

  /** @returns undefined when no server listens. */
  connect(): Connection | undefined {
    if (this.#methods === undefined) return undefined;
    const connection = new Connection(this, this.#methods, () =>
      this.#connections.delete(connection),
    );
    this.#connections.add(connection);
    return connection;
  }

  delayMs(): number {
    // Sixteenths of a millisecond: sums of them are exact, so order is never a matter of rounding.
    return this.random.below(this.delayMsMax * 16 + 1) / 16;
  }
}

/** One client's way to one server, until it is cut. */
export class Connection {
  readonly #network: SimNetwork;
  readonly #methods: Methods;
  readonly #ended: () => void;
  readonly #onCut = new Set<() => void>();
  /** Answers and streams that have something under way to the client. */
  readonly #arriving = new Set<() => void>();
  #alive = true;

  constructor(network: SimNetwork, methods: Methods, ended: () => void) {
    this.#network = network;
    this.#methods = methods;
    this.#ended = ended;
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  /** Both sides find out at once. */
  cut(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#ended();
    for (const f of this.#onCut) f();
    this.#onCut.clear();
  }

  /** The server sends no more; of what it has sent, some arrives, now. */
  serverGone(): void {
    for (const arrive of this.#arriving) arrive();
    this.#arriving.clear();
  }

  /** @returns the answer without its frame. Rejects with GrpcError or ConnectionLost. */
  call(path: string, request: Buffer): Promise<Buffer> {
    if (!this.#alive) return Promise.reject(new ConnectionLost(false));
    const method = this.#methods.get(path);
    if (method?.kind !== "unary") throw new Error(`${path} is not a unary method`);
    return new Promise((resolve, reject) => {
      const lost = (): void => reject(new ConnectionLost(true));
      this.#onCut.add(lost);
      const settle = (f: () => void): void => {
        const arrive = (): void => {
          this.#arriving.delete(last);
          this.#onCut.delete(lost);
          f();
        };
        const last = (): void => void (this.#network.random.chance(0.5) && arrive());
        this.#arriving.add(last);
        this.#later(arrive);
        this.#network.pass("message out");
      };
      this.#later(() => {
        this.#network.pass("message in");
        if (!this.#alive) return;
        void answered(method.answer, request).then(
          (frame) => settle(() => resolve(unframed(frame))),
          (error: unknown) => settle(() => reject(error as Error)),
        );
      });
    });
  }

  /** `slowMs`: how long the client takes over each message. */
  open(path: string, client: StreamClient, slowMs: number): ClientStream {
    const method = this.#methods.get(path);
    if (method?.kind !== "stream") throw new Error(`${path} is not a stream`);
    const pair = new StreamPair(this.#network, client, slowMs);
    const server = method.open(pair);
    let open = true;
    const end = (): void => {
      if (!open) return;
      open = false;
      this.#onCut.delete(end);
      this.#arriving.delete(last);
      pair.close();
      server.closed();
    };
    const last = (): void => pair.serverGone();
    this.#arriving.add(last);
    pair.onEnd = end;
    if (this.#alive) this.#onCut.add(end);
    else end();
    const inbound = new InOrder(this.#network);
    return {
      send: (bytes) =>
        inbound.after(() => {
          if (open) this.#network.pass("message in");
          if (open) deliver(server, bytes, pair);
        }),
      close: end,
    };
  }

  /** Runs `f` after the way of a message, unless the connection is cut by then. */
  #later(f: () => void): void {
    this.#network.clock.after("sim.step", this.#network.delayMs(), () => {
      if (this.#alive) f();
    });
  }
}

type Frame = Buffer | readonly Buffer[];

async function answered(
  answer: (request: Buffer) => Frame | Promise<Buffer>,
  request: Buffer,
): Promise<Frame> {
  return answer(Buffer.from(request));
}

/** Joined as late as a socket would: the pieces are views that must hold until then. */
function unframed(frame: Frame): Buffer {
  const whole = Buffer.isBuffer(frame) ? frame : Buffer.concat(frame);
  return whole.subarray(prefixBytes);
}

function deliver(server: StreamEnd, bytes: Buffer, pair: StreamPair): void {
  try {
    server.message(Buffer.from(bytes));
  } catch (error) {
    pair.fail(error);
  }
}

/** Delays that never let one message pass another. */
class InOrder {
  readonly #network: SimNetwork;
  #lastMs = 0;

  constructor(network: SimNetwork) {
    this.#network = network;
  }

  after(f: () => void, extraMs: number = 0): void {
    const { clock } = this.#network;
    const nowMs = clock.monotonicMs();
    this.#lastMs = Math.max(this.#lastMs, nowMs) + extraMs + this.#network.delayMs();
    clock.after("sim.step", this.#lastMs - nowMs, f);
  }
}

/** The server's end of a stream, and what is under way to the client. */
class StreamPair implements ServerStream {
  readonly #network: SimNetwork;
  readonly #client: StreamClient;
  readonly #outbound: InOrder;
  readonly #slowMs: number;
  #backlogBytes = 0;
  #closed = false;
  #gone = false;
  #drains: (() => void)[] = [];
  /** In the order of sending. */
  #underWay: (() => void)[] = [];
  onEnd: () => void = () => undefined;

  constructor(network: SimNetwork, client: StreamClient, slowMs: number) {
    this.#network = network;
    this.#client = client;
    this.#outbound = new InOrder(network);
    this.#slowMs = slowMs;
  }

  get backlogBytes(): number {
    return this.#backlogBytes;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  send(withHeadroom: Buffer): void {
    this.#send(withHeadroom, withHeadroom.length);
  }

  sendPieces(pieces: readonly Buffer[]): void {
    this.#send(
      pieces,
      pieces.reduce((sum, piece) => sum + piece.length, 0),
    );
  }

  #send(frame: Frame, length: number): void {
    if (this.#closed) return;
    const sentMs = this.#network.clock.monotonicMs();
    this.#backlogBytes += length;
    this.#underWay.push(() => {
      this.#backlogBytes -= length;
      if (!this.#gone) this.#client.message(unframed(frame), sentMs);
    });
    this.#outbound.after(() => {
      this.#underWay.shift()?.();
      if (this.#backlogBytes === 0) this.#drained();
    }, this.#slowMs);
    this.#network.pass("message out");
  }

  /** Some of what is under way arrives, in order; nothing more is sent. */
  serverGone(): void {
    this.#closed = true;
    const arriving = this.#network.random.below(this.#underWay.length + 1);
    for (const arrive of this.#underWay.splice(0, arriving)) arrive();
    this.#underWay = [];
  }

  onDrain(f: () => void): void {
    this.#drains.push(f);
  }

  end(): void {
    this.#finish(undefined);
  }

  fail(error: unknown): void {
    if (!(error instanceof GrpcError)) throw error;
    this.#finish(error);
  }

  /** The connection was cut, or the client closed the stream: nothing under way arrives. */
  close(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#closed = true;
    this.#client.closed(undefined);
  }

  #finish(error: GrpcError | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#outbound.after(() => {
      if (this.#gone) return;
      this.#gone = true;
      this.#client.closed(error);
      this.onEnd();
    });
  }

  #drained(): void {
    const drains = this.#drains;
    this.#drains = [];
    if (this.#closed) return;
    for (const f of drains) f();
  }
}
