/**
 * HTTP/1.1 rim: a Node request becomes a PlainRequest, a PlainResponse becomes bytes on the socket.
 *
 * Streams (watches) are written as pre-framed chunks straight on the socket: the frame of a shared
 * block is made once for all watchers (`frames`), and no per-chunk machinery of ServerResponse runs.
 * Every write is guarded: a destroyed socket makes the stream closed, never an exception.
 *
 * Pipelined requests are handled one by one, each when the answers before it have left (http1-turns.ts).
 *
 * Clients that only read are served without node:http: http1-connection.ts.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type {
  ByteDuplex,
  ByteSink,
  Headers,
  Peer,
  PlainRequest,
  PlainResponse,
} from "../../http.ts";
import type { Unsent } from "./answer-progress.ts";
import { Backlog, type Full } from "./backlog.ts";
import { isOneRun, runsOf, writeTogether } from "./body-runs.ts";
import { declaredLength, noBody, splitTarget, streamBody } from "./http-body.ts";
import { headersOf, textOf } from "./header-text.ts";
import { frontProxyLines, impersonateLines } from "./http-lines.ts";
import { lengthOf } from "./http1-answer.ts";
import {
  badRequest,
  hostRefusal,
  lingerAtEnd,
  type Refusal,
  refusedRequest,
} from "./http1-refusal.ts";
import { takeTurn } from "./http1-turns.ts";
import { callerOf, Departure, readOnOf, type Rim } from "./http-rim.ts";
import { type SocketWriter, socketWriter } from "./socket-writer.ts";

/** Chunk frames of blocks that many streams share; a frame lives as long as its block. */
const frames = new WeakMap<Uint8Array, Buffer>();
const crlf = Buffer.from("\r\n");

export type Tunnel = Extract<PlainResponse, { kind: "tunnel" }>;

export async function serveHttp1(
  rim: Rim,
  peer: Peer,
  message: IncomingMessage,
  response: ServerResponse,
  dig?: (answer: Tunnel) => void,
): Promise<void> {
  const gone = new Departure();
  const leave = (): void => gone.leave();
  response.on("close", () => {
    if (!response.writableFinished) gone.leave();
  });
  message.on("error", leave);
  response.on("error", leave);
  takeTurn({ message, response });
  if (response.socket === null) await untilAssigned(message, response);
  const turn = rim.turns.enter(message.socket, callerOf(peer));
  if (turn !== undefined) await turn;
  if (response.socket === null || response.destroyed) return;
  const target = splitTarget(message.url ?? "");
  const refusal = target === undefined ? badRequest : hostRefusal(message);
  if (target === undefined || refusal !== undefined)
    return refuse(rim, message, response, refusal ?? badRequest);
  const plain = plainRequest(message, target, peer, gone);
  const request = dig === undefined ? plain : offering(plain, message.headers.upgrade ?? "");
  const answer = await answerOf(rim, request);
  if (answer.kind === "bytes" && answer.left !== undefined) response.once("close", answer.left);
  if (response.destroyed || response.socket === null) return abandon(answer);
  if (rim.draining) response.setHeader("connection", "close");
  if (!message.complete && message.method !== "GET") {
    response.setHeader("connection", "close");
    lingerAtEnd(response.socket);
  }
  // Node's parser swallows a broken request behind an upgrade that was not taken (26.10), and waits.
  if (message.headers.upgrade !== undefined) response.setHeader("connection", "close");
  if (answer.kind === "tunnel" && dig !== undefined) return dig(answer);
  try {
    await send(rim, message, response, answer, gone);
  } catch (error) {
    // The head cannot be sent: the connection is cut, and the answer's stream is closed.
    abandon(answer);
    response.destroy();
    throw error;
  }
}

/** Waits until the response owns the socket, or the client has left. */
function untilAssigned(message: IncomingMessage, response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (message.socket.destroyed) return resolve();
    const done = (): void => {
      message.off("close", done);
      response.off("socket", done);
      resolve();
    };
    message.on("close", done);
    response.on("socket", done);
  });
}

/** Adds a property instead of spreading, because a spread would read `signal`, which is made on first use only. */
function offering(request: PlainRequest, upgrade: string): PlainRequest {
  return Object.defineProperty(request, "upgrade", { value: upgrade, enumerable: true });
}

export async function answerOf(rim: Rim, request: PlainRequest): Promise<PlainResponse> {
  try {
    return await rim.handler(request);
  } catch (error) {
    rim.log.error("handler failed", { path: request.path, error: String(error) });
    const body = [Buffer.from("Internal Server Error\n")];
    return { kind: "bytes", status: 500, headers: { "content-type": "text/plain" }, body };
  }
}

function plainRequest(
  message: IncomingMessage,
  target: { path: string; query: string },
  peer: Peer,
  gone: Departure,
): PlainRequest {
  const length = message.headers["content-length"];
  const bodyless =
    message.headers["transfer-encoding"] === undefined && (length === undefined || length === "0");
  return {
    method: message.method ?? "GET",
    path: target.path,
    query: target.query,
    headers: flatHeaders(message.headers),
    ...impersonateLines(message.rawHeaders),
    ...frontProxyLines(peer, message.rawHeaders),
    body: bodyless ? noBody : streamBody(message, declaredLength(length), readOnOf(peer)),
    peer,
    get signal() {
      return gone.signal;
    },
  };
}

function flatHeaders(headers: IncomingMessage["headers"]): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    // own keys: a header called `__proto__` is lost; no handler reads it.
    flat[name] = textOf(typeof value === "string" ? value : value.join(", "));
  }
  return flat;
}

async function send(
  rim: Rim,
  message: IncomingMessage,
  response: ServerResponse,
  answer: PlainResponse,
  gone: Departure,
): Promise<void> {
  switch (answer.kind) {
    case "bytes":
      return sendBytes(rim, message, response, answer, gone);
    case "stream":
      return sendStream(rim, message, response, answer);
    case "object":
    case "events":
    case "tunnel":
      rim.log.error("a socket was answered with what it cannot take", { path: message.url ?? "" });
      return answerText(response, { status: 500, text: "Internal Server Error" });
    default:
      answer satisfies never;
  }
}

async function sendBytes(
  rim: Rim,
  message: IncomingMessage,
  response: ServerResponse,
  answer: Extract<PlainResponse, { kind: "bytes" }>,
  gone: Departure,
): Promise<void> {
  writeHead(response, answer.status, answer.headers, lengthOf(answer.status, answer.body));
  if (message.method === "HEAD" || answer.body.length === 0) return void response.end();
  if (isOneRun(answer.body)) {
    response.end(answer.body[0]);
    if (!response.writableFinished) track(rim, response);
    return;
  }
  const unsent = track(rim, response);
  for (const run of runsOf(answer.body)) {
    if (gone.hasLeft || response.destroyed) return;
    if (writeTogether(response, run)) continue;
    await untilDrained(response);
    rim.progress.moved(unsent);
    answer.moved?.();
  }
  response.end();
}

/** Watches the answer's progress until the socket has taken all of it. */
function track({ progress }: Rim, response: ServerResponse): Unsent {
  const unsent = new UnsentAnswer(response);
  progress.begin(unsent);
  response.once("close", () => progress.done(unsent));
  return unsent;
}

/** An unsent answer over HTTP/1.1 or HTTP/2; cutting it ends its connection, or its stream. */
export class UnsentAnswer implements Unsent {
  movedAt = 0;
  readonly isStream = false;
  readonly #transport: Full;

  constructor(transport: Full) {
    this.#transport = transport;
  }

  get isOver(): boolean {
    return this.#transport.destroyed;
  }

  cut(): void {
    this.#transport.destroy(new Error("the answer was not taken"));
  }
}

function sendStream(
  rim: Rim,
  message: IncomingMessage,
  response: ServerResponse,
  answer: Extract<PlainResponse, { kind: "stream" }>,
): void {
  if (message.method === "HEAD") {
    writeHead(response, answer.status, answer.headers, {});
    abandon(answer);
    return void response.end();
  }
  const chunked = message.httpVersion === "1.1";
  writeHead(
    response,
    answer.status,
    answer.headers,
    chunked ? { "transfer-encoding": "chunked" } : {},
  );
  response.flushHeaders();
  const socket = response.socket;
  const backlog = new Backlog(rim.progress, answer.held, response);
  const sink =
    chunked && socket !== null
      ? new ChunkSink(socket, response, backlog)
      : plainSink(response, backlog);
  rim.track(response, sink, answer.open(sink));
}

/** Writes chunk frames past ServerResponse, which sends only the head and the last chunk. */
class ChunkSink implements ByteSink {
  readonly #socket: Socket;
  readonly #response: ServerResponse;
  readonly #writer: SocketWriter;
  readonly #backlog: Backlog;

  constructor(socket: Socket, response: ServerResponse, backlog: Backlog) {
    this.#socket = socket;
    this.#response = response;
    this.#writer = socketWriter(socket);
    this.#backlog = backlog;
  }

  write(chunks: readonly Uint8Array[]): boolean {
    if (this.closed) return true;
    const frame = frameOf(chunks);
    if (this.#writer.write(frame)) return true;
    this.#backlog.add(frame.length);
    return false;
  }

  onDrain(f: () => void): void {
    this.#writer.onDrain(() => {
      this.#backlog.clear();
      f();
    });
  }

  end(): void {
    if (!this.closed) this.#response.end();
  }

  leave(): void {
    if (this.closed) return;
    this.#response.end(() => this.#socket.end());
  }

  abort(): void {
    this.#response.destroy();
  }

  get closed(): boolean {
    return this.#socket.destroyed || this.#response.writableEnded || !this.#socket.writable;
  }
}

function plainSink(response: ServerResponse, backlog: Backlog): ByteSink {
  const closed = (): boolean => response.destroyed || response.writableEnded;
  return {
    write: (chunks) => {
      let room = true;
      for (const chunk of chunks) {
        if (closed()) break;
        room = response.write(chunk);
        if (!room) backlog.add(chunk.length);
      }
      return room;
    },
    onDrain: (f) =>
      void response.once("drain", () => {
        backlog.clear();
        f();
      }),
    end: () => {
      if (!closed()) response.end();
    },
    abort: () => void response.destroy(),
    get closed() {
      return closed();
    },
  };
}

/** The last block framed: streams that share a block are usually written one after the other. */
let lastBlock: Uint8Array | undefined;
let lastFrame: Buffer = Buffer.alloc(0);

export function frameOf(chunks: readonly Uint8Array[]): Buffer {
  const only = chunks.length === 1 ? chunks[0] : undefined;
  if (only === undefined) return frameChunk(chunks);
  if (only === lastBlock) return lastFrame;
  let frame = frames.get(only);
  if (frame === undefined) frames.set(only, (frame = frameChunk(chunks)));
  lastBlock = only;
  lastFrame = frame;
  return frame;
}

function frameChunk(chunks: readonly Uint8Array[]): Buffer {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (length === 0) return Buffer.alloc(0);
  return Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), ...chunks, crlf]);
}

function writeHead(
  response: ServerResponse,
  status: number,
  headers: Headers,
  more: Record<string, string | number>,
): void {
  response.writeHead(status, { ...more, ...headersOf(headers) });
}

export function untilDrained(response: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}

/** Refuses a request before the handler. */
function refuse(
  rim: Rim,
  message: IncomingMessage,
  response: ServerResponse,
  refusal: Refusal,
): void {
  rim.refused?.(refusedRequest(message.socket.remoteAddress, refusal, message));
  answerText(response, refusal);
}

function answerText(response: ServerResponse, { status, text }: Refusal): void {
  if (response.destroyed || response.headersSent) return;
  const body = Buffer.from(`${status} ${text}`);
  response.writeHead(status, text, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": body.length,
    connection: "close",
  });
  response.end(body);
}

/** Drops an answer whose client left before it: the maker of a stream that never opens must still close it. */
export function abandon(answer: PlainResponse): void {
  if (answer.kind === "stream") answer.open(closedSink)();
  if (answer.kind === "bytes") answer.left?.();
  if (answer.kind === "tunnel") answer.open(closedDuplex);
}

const closedSink: ByteSink = {
  write: () => true,
  onDrain: () => {},
  end: () => {},
  closed: true,
};

/** A tunnel whose client has left, so that the other end notices it. */
const closedDuplex: ByteDuplex = {
  ...closedSink,
  closed: true,
  stream: () => Promise.reject(new Error("the client went away before its tunnel opened")),
  abort: () => {},
};
