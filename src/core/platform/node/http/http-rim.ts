/** What both HTTP rims share: the handler, the log, and the open streams that `close` must end. */
import type { EventEmitter } from "node:events";
import type { ByteSink, Peer, PlainHandler, TakeRefused } from "../../http.ts";
import type { AnswerProgress } from "./answer-progress.ts";
import type { Log } from "../../log.ts";
import type { ReadOn } from "./http-body.ts";
import { processBodies, processTurns } from "./process-turns.ts";

/** One for all: without a reason, Node makes a DOMException with its stack at every request's end. */
const clientLeft = new Error("the client went away");

/** The client's disconnect. The AbortSignal is made on first use: most requests never need one. */
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

/** Who begins a request: the user of the connection's last one; before that, its address. */
export function callerOf(peer: Peer): string {
  if (peer.kind === "direct") return "";
  return peer.connection?.caller ?? addressCaller(peer.address);
}

/** Bodies take turns by who sends them. */
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
  /** Is told of what the handler never sees. */
  readonly refused: TakeRefused | undefined;
  /** Answers that are not taken yet. */
  readonly progress: AnswerProgress;
  /** Of clients that read (http1-connection.ts). */
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

  /** The server is closing: keep-alive is over. */
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
