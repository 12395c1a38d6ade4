/**
 * The floor of idle HTTP/1.1 watches over TLS: node:tls alone, which answers a connection's first bytes
 * with the head of a stream and keeps the socket. Prints its port; SIGUSR1 collects garbage.
 *
 *   tls-floor KEY CERT
 */
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";

const [key = "", cert = ""] = process.argv.slice(2).map((file) => readFileSync(file, "utf8"));
const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const sockets = new Set<unknown>();
const server = createServer({ key, cert, ALPNProtocols: ["http/1.1"] }, (socket) => {
  sockets.add(socket);
  socket.on("data", () => void socket.write(head));
});
server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 }, () =>
  console.log((server.address() as AddressInfo).port),
);
process.on("SIGUSR1", () => {
  if (typeof gc === "function") gc();
});
