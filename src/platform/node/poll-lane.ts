/**
 * The short way of polls: a client that sends the very same bytes again on its HTTP/1.1 connection is
 * answered before the parser sees them, by one comparison and one write.
 *
 *   socket ─► lane ─┬─ the remembered request, byte by byte ─► `again` ─► socket
 *                   └─ anything else ─► node:http, and nothing is remembered any more
 *
 * A lane is laid on a connection by its first answer that says how to give it `again` (platform/http.ts).
 * Until then node:http reads the socket natively, as fast as ever.
 *
 * Holds  bytes are taken for a request only at a boundary of requests with nothing on its way: the
 *        remembered read held one whole request without a body, its answer is sent, and nothing was
 *        read since that was not answered here. So pipelines keep their order, and a body that looks
 *        like a request stays a body.
 *        While the server drains, or the client leaves answers unread, node:http does everything.
 * Cost   the request's bytes per connection. The read itself renews the socket's idle timer.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Rim } from "./http-rim.ts";
import { type SocketWriter, socketWriter } from "./socket-writer.ts";

export type Again = () => Uint8Array | undefined;

interface Known {
  readonly request: Buffer;
  readonly again: Again;
}

/** On the socket itself: looked up on every request. */
const lane = Symbol("poll lane");
type LaneSocket = Socket & { [lane]?: PollLane | undefined };

/** The read that is being parsed; to be asked while the request is announced. */
export function readOf(message: IncomingMessage): Buffer | undefined {
  return (message.socket as LaneSocket)[lane]?.parsing;
}

/** To be called before the answer is sent; `read` is what `readOf` said of this request. */
export function remember(
  rim: Rim,
  message: IncomingMessage,
  response: ServerResponse,
  read: Buffer | undefined,
  again: Again,
): void {
  const socket: LaneSocket = message.socket;
  const open = (socket[lane] ??= layLane(rim, socket));
  if (open === undefined || read === undefined || !isWhole(read, message)) return;
  // The last of all answers that were begun before it: they leave in order.
  response.once("close", () => {
    if (response.writableFinished) open.know(read, again);
  });
}

/** The connection becomes a tunnel: its bytes are no requests any more. */
export function leaveLane(socket: LaneSocket): void {
  socket[lane]?.leave();
  socket[lane] = undefined;
}

/** Undefined where node:http does not listen as expected. */
function layLane(rim: Rim, socket: Socket): PollLane | undefined {
  const [parse, ...more] = socket.listeners("data") as ((chunk: Buffer) => void)[];
  return parse === undefined || more.length > 0 ? undefined : new PollLane(rim, socket, parse);
}

class PollLane {
  readonly #rim: Rim;
  readonly #socket: Socket;
  readonly #parse: (chunk: Buffer) => void;
  readonly #writer: SocketWriter;
  #parsing: Buffer | undefined;
  #known: Known | undefined;

  constructor(rim: Rim, socket: Socket, parse: (chunk: Buffer) => void) {
    this.#rim = rim;
    this.#socket = socket;
    this.#parse = parse;
    this.#writer = socketWriter(socket);
    // A listener more makes node:http read through listeners; from then on ours is before its own.
    socket.on("data", this.#take);
    socket.off("data", parse);
  }

  get parsing(): Buffer | undefined {
    return this.#parsing;
  }

  know(request: Buffer, again: Again): void {
    // Each read is another object.
    if (this.#parsing === request) this.#known = { request, again };
  }

  leave(): void {
    this.#socket.off("data", this.#take);
  }

  readonly #take = (chunk: Buffer): void => {
    if (this.#answer(chunk)) return;
    this.#known = undefined;
    this.#parsing = chunk;
    this.#parse(chunk);
  };

  #answer(chunk: Buffer): boolean {
    const known = this.#known;
    if (known === undefined || !known.request.equals(chunk)) return false;
    if (this.#rim.draining || this.#socket.writableLength > 0) return false;
    const head = known.again();
    if (head === undefined) return false;
    this.#writer.write(head);
    return true;
  }
}

/** Whether a read holds this request and nothing else, written the usual way. */
function isWhole(read: Buffer, { method, url, httpVersion, rawHeaders, headers }: IncomingMessage) {
  if (method !== "GET" && method !== "HEAD") return false;
  const {
    connection = "",
    expect,
    "content-length": length,
    "transfer-encoding": coding,
  } = headers;
  if (expect !== undefined || length !== undefined || coding !== undefined) return false;
  if (httpVersion !== "1.1" || /close|upgrade/i.test(connection)) return false;
  let text = `${method} ${url} HTTP/1.1\r\n`;
  for (let i = 0; i < rawHeaders.length; i += 2)
    text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return read.toString("latin1") === `${text}\r\n`;
}
