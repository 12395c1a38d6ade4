/**
 * Refusals of HTTP/1.1 that no handler sees: a head that is too large, or is no HTTP, or names its host
 * twice. Status and words are those of Go's server, and so of a stock API server.
 *
 * Holds  a refusal leaves behind the answers that are due before it, and once per connection, which it ends.
 *        The client is read for `lingerMs` more: it may still be sending, and a reset would take the
 *        refusal from it. Likewise behind an answer to a request whose body was not all read.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { RefusedRequest } from "../../http.ts";
import type { Rim } from "./http-rim.ts";
import { type Exchange, lastUnanswered, whenAnswered } from "./http1-turns.ts";

export interface Refusal {
  readonly status: number;
  /** Reason phrase, sent behind the status in the head and in the body. */
  readonly text: string;
}

export const badRequest: Refusal = { status: 400, text: "Bad Request" };
export const tooLarge: Refusal = { status: 431, text: "Request Header Fields Too Large" };
const noConnect: Refusal = { status: 405, text: "Method Not Allowed" };

const refusals = new Map<string, Refusal>([
  ["HPE_HEADER_OVERFLOW", tooLarge],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", { status: 413, text: "Request Entity Too Large" }],
  ["ERR_HTTP_REQUEST_TIMEOUT", { status: 408, text: "Request Timeout" }],
]);
/** Refusals by the parser's reason, where its code is less exact. */
const refusalsByReason = new Map<string, Refusal>([
  [
    "Invalid HTTP version",
    { status: 505, text: "HTTP Version Not Supported: unsupported protocol version" },
  ],
]);

/** Time that Go waits before it closes the connection. */
const lingerMs = 500;
/** Valid characters of a host with port, in any of its spellings. */
const hostText = /^[\w!$%&'()*+,\-.:;=[\]~]*$/;

/** Connections that have been refused; bytes read from them are dropped. */
const refused = new WeakSet<Socket>();

/** Handles node:http's `clientError`: a request that its parser could not read, or a connection that broke. */
export function refuseBroken(rim: Rim, error: Error, socket: Socket): void {
  if (refused.has(socket)) return;
  const refusal = refusalOf(error);
  if (refusal === undefined || !socket.writable) return void socket.destroy();
  refused.add(socket);
  const last = lastUnanswered(socket);
  if (last !== undefined && !last.message.complete) return refuseBody(rim, socket, last, refusal);
  whenAnswered(socket, () => endWith(rim, socket, refusal));
}

/** Refuses CONNECT, for which node:http hands over the connection. */
export function refuseConnect(rim: Rim, message: IncomingMessage, socket: Socket): void {
  refused.add(socket);
  socket.on("error", () => socket.destroy());
  whenAnswered(socket, () => endWith(rim, socket, noConnect, message));
}

/** Returns why the Host header of a request is not acceptable; undefined: it is. */
export function hostRefusal(message: IncomingMessage): Refusal | undefined {
  const { rawHeaders } = message;
  let host: string | undefined;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length !== 4 || name.toLowerCase() !== "host") continue;
    if (host !== undefined) return badRequest;
    host = rawHeaders[at + 1] ?? "";
  }
  if (host === undefined) return message.httpVersion === "1.1" ? withoutHost : undefined;
  return isHost(host) ? undefined : badHost;
}

const withoutHost: Refusal = { status: 400, text: "Bad Request: missing required Host header" };
const badHost: Refusal = { status: 400, text: "Bad Request: malformed Host header" };

export function isHost(text: string): boolean {
  return hostText.test(text);
}

/** Describes a refusal for the owner of the server. */
export function refusedRequest(
  address: string | undefined,
  { status, text }: Refusal,
  message?: IncomingMessage,
): RefusedRequest {
  const { method = "", url = "", httpVersion = "1.1" } = message ?? {};
  const protocol = `HTTP/${httpVersion}`;
  return { status, reason: text, address: address ?? "", protocol, method, target: url };
}

function refusalOf(error: Error): Refusal | undefined {
  const { code = "", reason = "" } = error as Error & { code?: string; reason?: string };
  const known = refusals.get(code) ?? refusalsByReason.get(reason);
  if (known !== undefined) return known;
  return code.startsWith("HPE_") ? badRequest : undefined;
}

/** Refuses a request whose body broke. Its handler may be waiting for the rest of the body, which will not come. */
function refuseBody(rim: Rim, socket: Socket, exchange: Exchange, refusal: Refusal): void {
  const { response } = exchange;
  if (response.headersSent) return whenAnswered(socket, () => linger(socket));
  if (response.socket === null) {
    response.once("socket", () => refuseBody(rim, socket, exchange, refusal));
    return;
  }
  response.detachSocket(socket);
  endWith(rim, socket, refusal);
}

function endWith(rim: Rim, socket: Socket, refusal: Refusal, message?: IncomingMessage): void {
  rim.refused?.(refusedRequest(socket.remoteAddress, refusal, message));
  if (!socket.writable) return void socket.destroy();
  const line = `${refusal.status} ${refusal.text}`;
  const head = `HTTP/1.1 ${line}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n`;
  socket.end(`${head}\r\n${line}`);
  linger(socket);
}

/** Makes node:http close the connection after the last answer with a delay, instead of at once. */
export function lingerAtEnd(socket: Socket): void {
  socket.destroySoon = function () {
    this.end();
    linger(this);
  };
}

function linger(socket: Socket): void {
  const late = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once("close", () => clearTimeout(late));
  socket.resume();
}
