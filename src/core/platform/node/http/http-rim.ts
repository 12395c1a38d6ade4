/** State that both HTTP rims share: the handler, the log, and the open streams that `close` must end. */
import type { EventEmitter } from "node:events";
import type { ByteSink, Peer, PlainHandler, TakeRefused } from "../../http.ts";
import type { AnswerProgress } from "./answer-progress.ts";
import type { Log } from "../../log.ts";
import type { ReadOn } from "./http-body.ts";
import { processBodies, processTurns } from "./process-turns.ts";

/** One error for all requests: without a reason, Node makes a DOMException with its stack at every request's end. */
const clientLeft = new Error("the client went away");

/** The client's disconnect. The AbortSignal is made on first use, because most requests never need one. */
export class Departure {
  #controller: AbortController | undefined;
  #left = false;

  get hasLeft(): boolean {
    return this.#left;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#left) this.#controller.abort(clientLeft);
    return this.#controller.signal;
  }

  leave(): void {
    this.#left = true;
    this.#controller?.abort(clientLeft);
  }
}

/** Caller that a request is queued under: the user of the connection's last request; before that, its address. */
export function callerOf(peer: Peer): string {
  if (peer.kind === "direct") return "";
  return peer.connection?.caller ?? addressCaller(peer.address);
}

/** Returns the function that makes bodies take turns by caller. */
export function readOnOf(peer: Peer): ReadOn {
  return (source, bytes) => processBodies.piece(source, callerOf(peer), bytes);
}

export function addressCaller(address: string): string {
  return `address:${address}`;
}

export class Rim {
  readonly handler: PlainHandler;
  readonly log: Log;
  readonly headBytesMax: number;
  readonly turns = processTurns;
  /** Takes requests that were refused before the handler. */
  readonly refused: TakeRefused | undefined;
  /** Answers that the clients have not taken yet. */
  readonly progress: AnswerProgress;
  /** Connections of clients that only read (http1-connection.ts). */
  readonly connections = new Set<{ drain(): void }>();
  readonly #open = new Map<ByteSink, () => void>();
  #draining = false;

  constructor(
    deps: {
      readonly handler: PlainHandler;
      readonly log: Log;
      readonly progress: AnswerProgress;
      readonly refused?: TakeRefused;
    },
    limits: { readonly headBytesMax: number },
  ) {
    this.handler = deps.handler;
    this.log = deps.log;
    this.refused = deps.refused;
    this.progress = deps.progress;
    this.headBytesMax = limits.headBytesMax;
  }

  /** Whether the server is closing, so that no connection is kept alive. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Runs `closer` exactly once: when the transport closes or when the server ends its streams. */
  track(transport: EventEmitter, sink: ByteSink, closer: () => void): void {
    const once = (): void => {
      if (!this.#open.delete(sink)) return;
      closer();
    };
    this.#open.set(sink, once);
    transport.once("close", once);
    if (this.#draining || sink.closed) this.#finish(sink, once);
  }

  /** Ends every open stream; later ones end as soon as they open. */
  drain(): void {
    this.#draining = true;
    for (const [sink, once] of this.#open) this.#finish(sink, once);
    for (const connection of this.connections) connection.drain();
  }

  #finish(sink: ByteSink, once: () => void): void {
    once();
    sink.end();
  }
}
