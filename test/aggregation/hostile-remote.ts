/** A server behind an APIService whose answers a test chooses by path; without a choice they are well-formed. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type Served, servingCertificate } from "./aggregated-plane.ts";

type Behave = (request: IncomingMessage, response: ServerResponse) => void;

export interface HostileRemote {
  readonly port: number;
  /** PEM of what its certificate is to be verified by. */
  readonly ca: string;
  /** Requests that were no probe and no fetch of documents. */
  readonly seen: IncomingMessage[];
  /** Common names of the certificates that clients showed, unverified. */
  readonly proxies: Set<string>;
  /** By the end of the path; the last one set counts. */
  readonly behaviours: Map<string, Behave>;
  /** Of upgrades. */
  onUpgrade: (request: IncomingMessage, socket: Duplex) => void;
  close(): Promise<void>;
}

export async function startHostileRemote(
  name: string,
  namespace: string,
  served: Served = servingCertificate(name, namespace),
): Promise<HostileRemote> {
  const { certificate: cert, privateKey: key } = served.server;
  const server = https.createServer({ cert, key, requestCert: true, rejectUnauthorized: false });
  const remote: HostileRemote = {
    port: 0,
    ca: served.authority.certificate,
    seen: [],
    proxies: new Set(),
    behaviours: new Map(),
    onUpgrade: (_request, socket) => socket.destroy(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? "").split("?")[0] ?? "";
    const behave = [...remote.behaviours].findLast(([end]) => path.endsWith(end))?.[1];
    const isOwn = String(request.headers["x-remote-user"]).startsWith("system:");
    const socket = request.socket as TLSSocket; // of an https server
    remote.proxies.add(String(socket.getPeerCertificate().subject?.CN));
    if (!isOwn) remote.seen.push(request);
    if (behave !== undefined) return behave(request, response);
    if (isOwn && path.startsWith("/openapi/")) return void response.writeHead(404).end();
    const list = {
      kind: "APIResourceList",
      groupVersion: path.slice("/apis/".length),
      resources: [],
    };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(list));
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    remote.seen.push(request);
    remote.onUpgrade(request, socket);
  });
  server.on("connection", (socket) => socket.on("error", () => {}));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(remote, { port: (server.address() as AddressInfo).port });
}
