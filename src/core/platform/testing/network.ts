/**
 * The one network of tests and simulation: connections between clients and one server at a time, in memory.
 * Whole messages are delayed, kept in order within a stream, and lost when their connection is cut.
 *
 *   client ── request ──▶ delay ──▶ server ──▶ answer ──▶ delay ──▶ client
 *
 * `S` is the server as its callers see it, `M` a message from it: the network reads neither.
 *
 * N1  A cut connection gives no further answers; whether the server saw the request is unknown.
 * N2  A stream's messages arrive in order or not at all; nothing follows the first lost one.
 *     Messages that a server sent before it crashed may still arrive, on each stream a prefix of them: they
 *     count as observed, so they have to be true.
 * N3  Messages that a stream's client has not taken are the server's backlog, so a slow client pushes back.
 */
import type { Clock } from "../clock.ts";
import type { FakeRandom } from "./random.ts";

/** There was no answer. `sent` false: the request did not reach a server. */
export class ConnectionLost extends Error {
  readonly sent: boolean;

  constructor(sent: boolean) {
    super(sent ? "the connection was cut" : "nobody listens");
    this.name = "ConnectionLost";
    this.sent = sent;
  }
}

type Pass = (point: "message in" | "message out") => void;

/** The client's end of a stream. */
export interface StreamClient<M> {
  /** Takes a message. `sentMs`: time at which the server sent it. */
  message(message: M, sentMs: number): void;
  /** Called last. `error`: the error with which the server ended the stream. */
  closed(error: Error | undefined): void;
}

/** The server's handler of a stream: receives the client's messages. */
interface StreamServer {
  message(bytes: Uint8Array): void;
  closed(): void;
}

/** The client's handle of its stream. */
export interface ClientStream {
  send(bytes: Uint8Array): void;
  close(): void;
}

export class FakeNetwork<S> {
  readonly clock: Clock;
  readonly random: FakeRandom;
  /** Maximum delay of a message, in one direction. */
  delayMsMax = 5;
  readonly #connections = new Set<FakeConnection<S>>();
  #server: S | undefined;
  #pass: Pass = () => undefined;

  constructor(deps: { readonly clock: Clock; readonly random: FakeRandom }) {
    this.clock = deps.clock;
    this.random = deps.random;
  }

  /** Registers a server. Calls `pass` before each message to it, and after each message from it. */
  serve(server: S, pass: Pass): void {
    this.#server = server;
    this.#pass = pass;
  }

  get pass(): Pass {
    return this.#pass;
  }

  /** Removes the server, and cuts every connection to it. */
  down(): void {
    this.#server = undefined;
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
  connect(): FakeConnection<S> | undefined {
    if (this.#server === undefined) return undefined;
    const connection = new FakeConnection(this, this.#server, () =>
      this.#connections.delete(connection),
    );
    this.#connections.add(connection);
    return connection;
  }

  delayMs(): number {
    // In sixteenths of a millisecond: their sums are exact, so rounding never decides the order.
    return this.random.below(this.delayMsMax * 16 + 1) / 16;
  }
}

/** A connection of one client to one server, until it is cut. */
export class FakeConnection<S> {
  readonly server: S;
  readonly #network: FakeNetwork<S>;
  readonly #ended: () => void;
  readonly #onCut = new Set<() => void>();
  /** Answers and streams that have messages on their way to the client. */
  readonly #arriving = new Set<() => void>();
  #alive = true;

  constructor(network: FakeNetwork<S>, server: S, ended: () => void) {
    this.server = server;
    this.#network = network;
    this.#ended = ended;
  }

  get isAlive(): boolean {
    return this.#alive;
  }

  /** Cuts the connection; both sides notice at once. */
  cut(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#ended();
    for (const f of this.#onCut) f();
    this.#onCut.clear();
  }

  /** Stops the server's sending; a part of the messages on their way arrives now. */
  serverGone(): void {
    for (const arrive of this.#arriving) arrive();
    this.#arriving.clear();
  }

  /**
   * One request: `answer` is called when it reaches the server, `receive` when the answer reaches the client.
   * Rejects with the answer's error, or ConnectionLost.
   */
  call<A, R>(answer: () => Promise<A>, receive: (answer: A) => R): Promise<R> {
    if (!this.#alive) return Promise.reject(new ConnectionLost(false));
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
        void answer().then(
          (value) => settle(() => resolve(receive(value))),
          (error: unknown) => settle(() => reject(error as Error)),
        );
      });
    });
  }

  /** Opens a stream; `open` makes the server's side. `slowMs`: time that the client needs for each message. */
  open<M>(
    client: StreamClient<M>,
    slowMs: number,
    open: (stream: FakeStream<M>) => StreamServer,
  ): ClientStream {
    const stream = new FakeStream(this.#network, client, slowMs);
    const server = open(stream);
    let isOpen = true;
    const end = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#onCut.delete(end);
      this.#arriving.delete(last);
      stream.close();
      server.closed();
    };
    const last = (): void => stream.serverGone();
    this.#arriving.add(last);
    stream.onEnd = end;
    if (this.#alive) this.#onCut.add(end);
    else end();
    const inbound = new InOrder(this.#network);
    return {
      send: (bytes) =>
        inbound.after(() => {
          if (isOpen) this.#network.pass("message in");
          if (isOpen) server.message(bytes);
        }),
      close: end,
    };
  }

  /** Runs `f` after the delay of a message, unless the connection has been cut by then. */
  #later(f: () => void): void {
    this.#network.clock.after("sim.step", this.#network.delayMs(), () => {
      if (this.#alive) f();
    });
  }
}

type Delays = Pick<FakeNetwork<unknown>, "clock" | "random" | "delayMs" | "pass">;

/** Gives delays that never let one message overtake another. */
class InOrder {
  readonly #network: Delays;
  #lastMs = 0;

  constructor(network: Delays) {
    this.#network = network;
  }

  after(f: () => void, extraMs: number = 0): void {
    const { clock } = this.#network;
    const nowMs = clock.monotonicMs();
    this.#lastMs = Math.max(this.#lastMs, nowMs) + extraMs + this.#network.delayMs();
    clock.after("sim.step", this.#lastMs - nowMs, f);
  }
}

/** The server's end of a stream, with the messages that are on their way to the client. */
export class FakeStream<M> {
  readonly #network: Delays;
  readonly #client: StreamClient<M>;
  readonly #outbound: InOrder;
  readonly #slowMs: number;
  #backlogBytes = 0;
  #closed = false;
  #gone = false;
  #drains: (() => void)[] = [];
  /** Messages on their way, in the order of sending. */
  #underWay: (() => void)[] = [];
  onEnd: () => void = () => undefined;

  constructor(network: Delays, client: StreamClient<M>, slowMs: number) {
    this.#network = network;
    this.#client = client;
    this.#outbound = new InOrder(network);
    this.#slowMs = slowMs;
  }

  /** Number of bytes sent but not yet taken by the client. */
  get backlogBytes(): number {
    return this.#backlogBytes;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  send(message: M, bytes: number): void {
    if (this.#closed) return;
    const sentMs = this.#network.clock.monotonicMs();
    this.#backlogBytes += bytes;
    this.#underWay.push(() => {
      this.#backlogBytes -= bytes;
      if (!this.#gone) this.#client.message(message, sentMs);
    });
    this.#outbound.after(() => {
      this.#underWay.shift()?.();
      if (this.#backlogBytes === 0) this.#drained();
    }, this.#slowMs);
    this.#network.pass("message out");
  }

  /** Delivers a part of the messages on their way, in order; the server sends nothing more. */
  serverGone(): void {
    this.#closed = true;
    const arriving = this.#network.random.below(this.#underWay.length + 1);
    for (const arrive of this.#underWay.splice(0, arriving)) arrive();
    this.#underWay = [];
  }

  /** Calls `f` once, when the backlog has been taken. */
  onDrain(f: () => void): void {
    this.#drains.push(f);
  }

  /** Ends the stream behind the messages that the server has sent. */
  finish(error: Error | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#outbound.after(() => {
      if (this.#gone) return;
      this.#gone = true;
      this.#client.closed(error);
      this.onEnd();
    });
  }

  /** Closes the stream, as the connection was cut or the client closed it: messages on their way do not arrive. */
  close(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#closed = true;
    this.#client.closed(undefined);
  }

  #drained(): void {
    const drains = this.#drains;
    this.#drains = [];
    if (this.#closed) return;
    for (const f of drains) f();
  }
}
