/** Bytes of clients without credentials that hold many requests in one write each. */
import { connect, type TLSSocket } from "node:tls";
import { once } from "node:events";
import { frame, hello, literal, uint32 } from "../../raw-peer.ts";

export interface Burst {
  readonly name: string;
  readonly connections: number;
  readonly protocol: "h2" | "http/1.1";
  /** Written by each connection in one piece. */
  readonly bytes: () => Buffer;
}

const path = "/api/v1/namespaces/default/configmaps";
const requests = 990;
const endStream = 1;
const endHeaders = 4;
/** `:method GET`, `:scheme https` of the static table. */
const getOverTls = Buffer.of(0x82, 0x87);
const cancel = uint32(8);

function head(method: Buffer = getOverTls): Buffer {
  return Buffer.concat([method, literal(":path", path), literal(":authority", "x")]);
}

function heads(each: (stream: number) => readonly Buffer[]): Buffer {
  const all = Array.from({ length: requests }, (_, index) => each(1 + 2 * index));
  return Buffer.concat(all.flat());
}

const request = (stream: number): Buffer => frame(1, endStream | endHeaders, stream, head());

export const bursts: readonly Burst[] = [
  {
    name: "990 requests of 8 HTTP/2 connections in one write each",
    connections: 8,
    protocol: "h2",
    bytes: () => heads((stream) => [request(stream)]),
  },
  {
    name: "990 requests of 8 HTTP/2 connections, each taken back at once",
    connections: 8,
    protocol: "h2",
    bytes: () => heads((stream) => [request(stream), frame(3, 0, stream, cancel)]),
  },
  {
    name: "990 pipelined requests of 8 HTTP/1.1 connections",
    connections: 8,
    protocol: "http/1.1",
    bytes: () => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(requests)),
  },
  {
    name: "one request of 200 HTTP/2 connections each at the same time",
    connections: 200,
    protocol: "h2",
    bytes: () => request(1),
  },
];

/** Open, with the server's first bytes read. */
export async function openBurst(
  url: string,
  { connections, protocol }: Burst,
): Promise<TLSSocket[]> {
  const { hostname, port } = new URL(url);
  const sockets: TLSSocket[] = [];
  for (let index = 0; index < connections; index++) {
    const options = { host: hostname, port: Number(port), rejectUnauthorized: false };
    const socket = connect({ ...options, ALPNProtocols: [protocol] }).on("error", () => {});
    await once(socket, "secureConnect");
    if (protocol === "h2") {
      socket.write(hello);
      await once(socket, "data");
    }
    sockets.push(socket.resume());
  }
  return sockets;
}
