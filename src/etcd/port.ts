/**
 * One port, two protocols: the first bytes of a connection tell HTTP/2, which begins with a fixed
 * preface, from HTTP/1.1, which gets `HttpFace`.
 */
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import type { HttpFace } from "./http-face.ts";

/** Enough to tell: no method of HTTP/1.1 begins so. */
const prefacePart = Buffer.from("PRI * HTTP/2");
/** A probe sends its request at once. */
const firstBytesMs = 30_000;

/** Calls `http2` with a socket that speaks it, unread; serves the others itself. */
export function tellProtocol(
  socket: Socket,
  http1: HttpServer,
  http2: (socket: Socket) => void,
): void {
  let held: Buffer = Buffer.alloc(0);
  const end = (): void => void socket.destroy();
  const see = (chunk: Buffer): void => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const part = held.subarray(0, prefacePart.length);
    const fits = part.equals(prefacePart.subarray(0, part.length));
    if (fits && part.length < prefacePart.length) return;
    socket.off("data", see);
    socket.off("end", end);
    socket.setTimeout(0);
    socket.off("timeout", end);
    socket.pause();
    socket.unshift(held);
    if (fits) http2(socket);
    else http1.emit("connection", socket);
    socket.resume();
  };
  socket.on("error", end);
  socket.on("data", see);
  socket.on("end", end);
  socket.setTimeout(firstBytesMs, end);
}

/** Never listens: it is handed its connections. */
export function http1Server(face: HttpFace): HttpServer {
  const server = createHttpServer((request, response) => {
    const { status, headers, body } = face(request.method ?? "", request.url ?? "");
    // A body that was sent along is of no interest to any of the answers.
    request.resume();
    response.writeHead(status, { ...headers, "content-length": body.length });
    response.end(request.method === "HEAD" ? undefined : body);
  });
  server.headersTimeout = firstBytesMs;
  server.requestTimeout = firstBytesMs;
  return server;
}
