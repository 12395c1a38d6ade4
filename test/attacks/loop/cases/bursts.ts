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

/** HPACK (RFC 7541): 0x40 puts a field into the dynamic table, where the newest has index 62: one byte, as often as wanted. */
function kept(name: string, valueBytes: number): Buffer {
  // Seven bits of length, then seven a byte.
  const rest = valueBytes - 127;
  const length = rest < 0 ? Buffer.of(valueBytes) : Buffer.of(127, 0x80 | (rest & 127), rest >> 7);
  const value = Buffer.alloc(valueBytes, "v");
  return Buffer.concat([Buffer.of(0x40, name.length), Buffer.from(name), length, value]);
}

const newest = 0xbe;

// Node makes strings of each field while it reads, and decodes heads beyond its own limits to their end: heads are read
// for some milliseconds a turn (http2-reading.ts).

/** Requests whose heads are references to one entry; the first one makes it. */
function references(count: number, valueBytes: number, streams: number): Buffer {
  const all = Array.from({ length: streams }, (_, index) => {
    const entry = index === 0 ? kept("x", valueBytes) : Buffer.of(newest);
    const fields = Buffer.concat([head(), entry, Buffer.alloc(count, newest)]);
    return frame(1, endStream | endHeaders, 1 + 2 * index, fields);
  });
  return Buffer.concat(all);
}

const frameBytesMax = 16_384;

/** One head in as many frames as are taken (nghttp2: 8 continuations), of references alone. */
function endlessHead(valueBytes: number): Buffer {
  const begin = Buffer.concat([head(), kept("x", valueBytes)]);
  const first = frame(1, endStream, 1, Buffer.concat([begin, Buffer.alloc(8_192, newest)]));
  const more = Array.from({ length: 7 }, (_, at) =>
    frame(9, at === 6 ? endHeaders : 0, 1, Buffer.alloc(frameBytesMax, newest)),
  );
  return Buffer.concat([first, ...more]);
}

export const bursts: readonly Burst[] = [
  {
    name: "100 heads of 8 HTTP/2 connections, each 15 references to one field of 4,000 bytes",
    connections: 8,
    protocol: "h2",
    bytes: () => references(15, 4_000, 100),
  },
  {
    name: "100 heads of 8 HTTP/2 connections, each 32 references to one field of 4,000 bytes",
    connections: 8,
    protocol: "h2",
    bytes: () => references(31, 4_000, 100),
  },
  {
    name: "100 heads of 8 HTTP/2 connections, each 3,900 references to one field of no bytes",
    connections: 8,
    protocol: "h2",
    bytes: () => references(3_900, 0, 100),
  },
  {
    name: "100 heads of 8 HTTP/2 connections, each 1,900 references: as many as a head may have",
    connections: 8,
    protocol: "h2",
    bytes: () => references(1_900, 0, 100),
  },
  {
    name: "100 heads of 60 HTTP/2 connections, each 1,900 references",
    connections: 60,
    protocol: "h2",
    bytes: () => references(1_900, 0, 100),
  },
  {
    name: "100 heads of 8 HTTP/2 connections, each 12,000 references: more than Node reads of a head",
    connections: 8,
    protocol: "h2",
    bytes: () => references(12_000, 4_000, 100),
  },
  {
    name: "one head of 20 HTTP/2 connections, 120,000 references in eight frames",
    connections: 20,
    protocol: "h2",
    bytes: () => endlessHead(4_000),
  },
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
