/**
 * An HTTP/1.1 connection of a client that only reads: plain GETs one after the other, polls and watches,
 * without node:http's parser, message and response objects. A quiet watch keeps one object and one socket.
 *
 *            plain head              answer
 *   idle ───────────────► answering ───────► idle           a body was written
 *    │ ▲                      └────────────► streaming      a watch is open
 *    │ └──────────────────────────────────────── its end
 *    ├─ the last poll again, byte by byte ─► `again` ─► idle      (platform/replay.ts)
 *    └─ anything else ─► node:http, for good
 *
 * Holds  bytes are read as a request only at a request boundary with no answer under way. Bytes that arrive
 *        meanwhile are held, `heldBytesMax` at most, then the socket is not read; they are handed to
 *        node:http, in order, when the answer is sent. While the client does not read its answers, the
 *        next request waits.
 * Time   the first head has `headMs`, a quiet connection `idleMs`; a watch has no limit here.
 * Left   a client that ends its direction counts as disconnected, as for node:http.
 */
import type { Socket } from "node:net";
import type { Peer, PlainRequest, PlainResponse } from "../../http.ts";
import { type Replay, replayOf } from "../../replay.ts";
import { Backlog } from "./backlog.ts";
import { runsOf, writeTogether } from "./body-runs.ts";
import { noBody } from "./http-body.ts";
import { abandon, answerOf, UnsentAnswer } from "./http1.ts";
import { answerHead, hasBody, isLast, lengthOf, replayBytes } from "./http1-answer.ts";
import { type PlainHead, plainHead } from "./http1-head.ts";
import { Http1Stream, type StreamOwner } from "./http1-stream.ts";
import { callerOf, Departure, type Rim } from "./http-rim.ts";
import { type SocketWriter, socketWriter } from "./socket-writer.ts";

/** Settings that the connections of a server share. */
export interface Http1Front {
  readonly rim: Rim;
  readonly headBytesMax: number;
  readonly headMs: number;
  readonly idleMs: number;
  readonly peerOf: (socket: Socket) => Peer;
  /** Passes the socket, without its listeners here, to node:http; bytes already read follow as `data`. */
  readonly giveOn: (socket: Socket) => void;
}

/** Maximum number of held bytes; as many as a head may take. */
const heldBytesMax = 64 * 1024;
/** Memory that a read costs beside its bytes: a client may send bytes one by one. */
const heldReadBytes = 256;
const timedOut = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";

const owner = Symbol("http1 connection");
type OwnSocket = Socket & { [owner]?: Http1Connection | undefined };

export function serveConnection(front: Http1Front, socket: Socket): void {
  (socket as OwnSocket)[owner] = new Http1Connection(front, socket);
  socket.setTimeout(front.headMs);
  for (const [name, listener] of listeners) socket.on(name, listener);
}

/** Shared by all sockets: otherwise every quiet watch would keep closures of its own. */
const listeners = Object.entries({
  data(this: OwnSocket, chunk: Buffer): void {
    this[owner]?.take(chunk);
  },
  end(this: OwnSocket): void {
    this[owner]?.departs();
  },
  close(this: OwnSocket): void {
    this[owner]?.gone();
  },
  timeout(this: OwnSocket): void {
    this[owner]?.quiet();
  },
  error(this: OwnSocket): void {
    this.destroy();
  },
}) as readonly (readonly [string, (this: OwnSocket, ...args: unknown[]) => void])[];

interface Known {
  readonly request: Buffer;
  readonly again: Replay;
}

type BytesAnswer = Extract<PlainResponse, { kind: "bytes" }>;
type StreamAnswer = Extract<PlainResponse, { kind: "stream" }>;

interface Held {
  readonly reads: Buffer[];
  bytes: number;
}

class Http1Connection implements StreamOwner {
  readonly #front: Http1Front;
  readonly #socket: Socket;
  #state: "new" | "idle" | "answering" | "streaming" | "left" = "new";
  #departure: Departure | undefined;
  #known: Known | undefined;
  #writer: SocketWriter | undefined;
  /** The open watch, and its closer. */
  #stream: Http1Stream | undefined;
  #closer: (() => void) | undefined;
  #held: Held | undefined;

  constructor(front: Http1Front, socket: Socket) {
    this.#front = front;
    this.#socket = socket;
    front.rim.connections.add(this);
  }

  take(chunk: Buffer): void {
    if (this.#state !== "idle" && this.#state !== "new") return this.#hold(chunk);
    if (this.#answerAgain(chunk)) return;
    this.#known = undefined;
    const { rim, headBytesMax } = this.#front;
    const head = rim.draining || chunk.length > headBytesMax ? undefined : plainHead(chunk);
    if (head === undefined) return this.#giveOn([chunk]);
    if (this.#state === "new") this.#socket.setTimeout(this.#front.idleMs);
    this.#state = "answering";
    void this.#answer(chunk, head).catch((error: unknown) => this.#fault(error));
  }

  gone(): void {
    this.#front.rim.connections.delete(this);
    this.#state = "left";
    this.#held = undefined;
    this.#close();
    this.#departure?.leave();
  }

  /** Called when the client has ended its direction. */
  departs(): void {
    this.#close();
    this.#departure?.leave();
    this.#end();
  }

  /** Called when the connection was quiet for longer than allowed. */
  quiet(): void {
    if (this.#state === "answering" || this.#state === "streaming") return;
    if (this.#state === "new" && this.#socket.writable) this.#socket.write(timedOut);
    this.#socket.destroy();
  }

  /** Called when the server is closing. */
  drain(): void {
    if (this.#state === "streaming") {
      // The closer runs first: it cuts an answer that is not complete.
      const close = this.#closer;
      this.#closer = undefined;
      close?.();
      this.#stream?.end();
    } else if (this.#state === "new" || this.#state === "idle") {
      this.#socket.destroy();
    }
  }

  /** Called by the open stream when it ends. */
  streamEnds(next: "serve" | "leave"): void {
    this.#state = "answering";
    this.#socket.setTimeout(this.#front.idleMs);
    this.#close();
    if (next === "leave" || this.#front.rim.draining) this.#end();
    else this.#idle();
  }

  #answerAgain(chunk: Buffer): boolean {
    const known = this.#known;
    if (known === undefined || !known.request.equals(chunk)) return false;
    if (this.#front.rim.draining || this.#socket.writableLength > 0) return false;
    const head = known.again();
    if (head === undefined) return false;
    this.#writer ??= socketWriter(this.#socket);
    this.#writer.write(replayBytes(head));
    return true;
  }

  #hold(chunk: Buffer): void {
    if (this.#state === "left") return;
    const held = (this.#held ??= { reads: [], bytes: 0 });
    held.reads.push(chunk);
    held.bytes += chunk.length + heldReadBytes;
    if (held.bytes >= heldBytesMax) this.#socket.pause();
  }

  #giveOn(read: readonly Buffer[]): void {
    const socket = this.#socket as OwnSocket;
    this.#state = "left";
    this.#front.rim.connections.delete(this);
    socket[owner] = undefined;
    for (const [name, listener] of listeners) socket.off(name, listener);
    socket.setTimeout(0);
    this.#front.giveOn(socket);
    socket.resume();
    for (const chunk of read) if (!socket.destroyed) socket.emit("data", chunk);
  }

  async #answer(read: Buffer, head: PlainHead): Promise<void> {
    const { rim, peerOf } = this.#front;
    const departure = new Departure();
    this.#departure = departure;
    const peer = peerOf(this.#socket);
    const turn = rim.turns.enter(this.#socket, callerOf(peer));
    if (turn !== undefined) await turn;
    // The client left before the request's turn came, so nothing was begun.
    if (departure.hasLeft) return;
    const answer = await answerOf(rim, new PlainRead(head, peer, departure));
    if (this.#state === "left" || !this.#socket.writable) return abandon(answer);
    try {
      await this.#send(read, head, answer);
    } catch (error) {
      abandon(answer);
      throw error;
    }
  }

  async #send(read: Buffer, { method, path }: PlainHead, answer: PlainResponse): Promise<void> {
    switch (answer.kind) {
      case "bytes": {
        const again = replayOf(answer);
        if (again !== undefined) this.#known = { request: read, again };
        return this.#sendBytes(method, answer);
      }
      case "stream":
        return this.#sendStream(method, answer);
      case "object":
      case "events":
      case "tunnel":
        this.#front.rim.log.error("a socket was answered with what it cannot take", { path });
        return this.#sendBytes(method, noAnswer);
      default:
        answer satisfies never;
    }
  }

  async #sendBytes(
    method: string,
    { status, headers, body, left, moved }: BytesAnswer,
  ): Promise<void> {
    const socket = this.#socket;
    const last = isLast(headers) || this.#front.rim.draining;
    const text = answerHead(status, headers, lengthOf(status, body), this.#persistence(last));
    const head = Buffer.from(text, "latin1");
    for (const run of runsOf(hasBody(method, status) ? [head, ...body] : [head])) {
      if (!socket.writable) break;
      if (writeTogether(socket, run)) continue;
      await this.#taken();
      moved?.();
    }
    left?.();
    if (this.#state !== "answering") return;
    if (last || this.#front.rim.draining) this.#end();
    else this.#idle();
  }

  /** Resolves when the client has taken the bytes in the socket, or the connection was cut because it takes nothing. */
  async #taken(): Promise<void> {
    const { progress } = this.#front.rim;
    const unsent = new UnsentAnswer(this.#socket);
    progress.begin(unsent);
    await untilDrained(this.#socket);
    progress.done(unsent);
  }

  #sendStream(method: string, answer: StreamAnswer): void {
    const { status, headers } = answer;
    const chunked = { "transfer-encoding": "chunked" };
    const more = hasBody(method, status) ? chunked : {};
    this.#socket.write(answerHead(status, headers, more, this.#persistence(false)), "latin1");
    if (!hasBody(method, status)) {
      abandon(answer);
      return this.#idle();
    }
    this.#state = "streaming";
    this.#socket.setTimeout(0);
    this.#writer ??= socketWriter(this.#socket);
    const backlog = new Backlog(this.#front.rim.progress, answer.held, this.#socket);
    const stream = new Http1Stream(this.#socket, this.#writer, this, backlog);
    this.#stream = stream;
    const close = answer.open(stream);
    // The stream may have ended, or its client left, while it was opened.
    if (stream.closed) return close();
    this.#closer = close;
    if (this.#front.rim.draining) this.drain();
  }

  #persistence(last: boolean): string {
    if (last) return "Connection: close\r\n";
    return `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(this.#front.idleMs / 1000)}\r\n`;
  }

  /** Runs the stream's closer once; output of the stream is not written any more. */
  #close(): void {
    this.#stream?.detach();
    this.#stream = undefined;
    const close = this.#closer;
    this.#closer = undefined;
    close?.();
  }

  /** Called when the answer is in the socket; bytes that arrived meanwhile are handed to node:http in order. */
  #idle(): void {
    this.#departure = undefined;
    this.#state = "idle";
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#giveOn(held.reads);
  }

  /** Takes no further request: reads and drops bytes until the client ends, for `idleMs` at most. */
  #end(): void {
    const socket = this.#socket;
    this.#state = "left";
    this.#held = undefined;
    const last = setTimeout(() => socket.destroy(), this.#front.idleMs).unref();
    socket.once("close", () => clearTimeout(last));
    socket.end();
    socket.resume();
  }

  #fault(error: unknown): void {
    this.#front.rim.log.error("answer failed", { error: String(error) });
    this.#socket.destroy();
  }
}

/** One object shape for all requests. The AbortSignal is made on first use. */
class PlainRead implements PlainRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body = noBody;
  readonly peer: Peer;
  readonly #departure: Departure;

  constructor(head: PlainHead, peer: Peer, departure: Departure) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.headers = head.headers;
    this.peer = peer;
    this.#departure = departure;
  }

  get signal(): AbortSignal {
    return this.#departure.signal;
  }
}

const noAnswer: BytesAnswer = {
  kind: "bytes",
  status: 500,
  headers: { "content-type": "text/plain", connection: "close" },
  body: [Buffer.from("Internal Server Error\n")],
};

function untilDrained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off("drain", done).off("close", done);
      resolve();
    };
    socket.on("drain", done).on("close", done);
  });
}
