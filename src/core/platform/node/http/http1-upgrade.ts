/**
 * Upgrades of HTTP/1.1 connections: the handler sees a request that offers a tunnel, and answers with
 * one or as if nothing was offered; such an answer leaves as usual and ends the connection.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { Peer } from "../../http.ts";
import { headerOf } from "./header-text.ts";
import { Backlog } from "./backlog.ts";
import { serveHttp1, type Tunnel } from "./http1.ts";
import { isAnswering } from "./http1-turns.ts";
import type { Rim } from "./http-rim.ts";
import { ServerResponse } from "./node-http.ts";
import { SocketDuplex } from "./socket-duplex.ts";

/** Protocols of container streams and WebSocket watches; upgrades to others (h2c) are answered in HTTP/1.1. */
const protocols = /^(websocket|spdy\/3\.1|pilothouse-region-1)$/i;

/** Not offered: a request with a body, which would be lost in the tunnel, or behind an answer that still has the socket. */
export function mayUpgrade(message: IncomingMessage): boolean {
  const { headers, socket } = message;
  if (isAnswering(socket)) return false;
  const bodyless =
    headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0";
  return bodyless && protocols.test(headers.upgrade ?? "");
}

export async function serveUpgrade(
  rim: Rim,
  peer: Peer,
  message: IncomingMessage,
  socket: Duplex,
  head: Uint8Array,
): Promise<void> {
  // Sockets of node:http servers are net.Socket; only the type of the event is wider.
  socket.on("error", () => socket.destroy());
  const response = new ServerResponse(message);
  response.assignSocket(socket as Socket);
  response.shouldKeepAlive = false;
  response.on("finish", () => socket.end());
  await serveHttp1(rim, peer, message, response, (answer) => {
    response.detachSocket(socket as Socket);
    const { held } = answer;
    if (held !== undefined) socket.once("close", () => held.close());
    // No time limit: a shell may be idle for hours.
    const backlog = new Backlog(undefined, held, socket);
    socket.write(headText(answer), "latin1");
    answer.open(new SocketDuplex(socket, head, backlog));
  });
}

function headText({ status, headers }: Tunnel): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((one) => `${name}: ${headerOf(one)}\r\n`),
  );
  return `HTTP/1.1 ${status} Switching Protocols\r\n${lines.join("")}\r\n`;
}
