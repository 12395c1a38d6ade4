/**
 * One port, two protocols: ALPN, or the first bytes of a connection, distinguish HTTP/2, which begins with a
 * fixed preface, from HTTP/1.1, which gets `HttpEndpoint`.
 */
import type { Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Clock } from "#platform/clock.ts";
import { createServer as createHttpServer } from "#platform/node/http/node-http.ts";
import type { HttpEndpoint } from "./http-frontend.ts";

/** Sufficient to recognise HTTP/2, because no method of HTTP/1.1 begins like this. */
const prefacePart = Buffer.from("PRI * HTTP/2");

interface Protocols {
  readonly clock: Clock;
  readonly http1: HttpServer;
  /** Called with the socket unread. */
  readonly http2: () => void;
}

/** Passes the socket to the server of its protocol; closes it when the protocol is unknown after `headMs`. */
export function tellProtocol(socket: Socket, to: Protocols, headMs: number): void {
  if (socket instanceof TLSSocket && socket.alpnProtocol === "h2") return to.http2();
  let held: Buffer = Buffer.alloc(0);
  const end = (): void => void socket.destroy();
  // A total limit, however slowly the bytes arrive.
  const timer = to.clock.after("etcd.head", headMs, end);
  const see = (chunk: Buffer): void => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const part = held.subarray(0, prefacePart.length);
    const fits = part.equals(prefacePart.subarray(0, part.length));
    if (fits && part.length < prefacePart.length) return;
    timer.cancel();
    socket.off("data", see);
    socket.off("end", end);
    socket.pause();
    socket.unshift(held);
    if (fits) to.http2();
    else to.http1.emit("connection", socket);
    socket.resume();
  };
  socket.on("error", end);
  socket.on("data", see);
  socket.on("end", end);
  socket.on("close", () => timer.cancel());
}

/** A server to which connections are passed. A request must arrive completely within `headMs`. */
export function http1Server(answer: HttpEndpoint, headMs: number): HttpServer {
  const server = createHttpServer(
    { connectionsCheckingInterval: headMs / 2 },
    (request, response) => {
      const { status, headers, body } = answer(request.method ?? "", request.url ?? "");
      // No answer depends on a request body, so it is discarded.
      request.resume();
      response.writeHead(status, { ...headers, "content-length": body.length });
      response.end(request.method === "HEAD" ? undefined : body);
    },
  );
  server.headersTimeout = headMs;
  server.requestTimeout = headMs;
  // Node starts its connection timeouts on `listening`, which this server never emits itself.
  server.emit("listening");
  return server;
}
