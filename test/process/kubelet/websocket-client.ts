/** A WebSocket client on a raw connection, for tests that look at every frame. */
import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";
import { clientFrame } from "#wire/websocket/testing/client-frame.ts";

export interface WebSocketClient {
  /** What the server chose. */
  readonly protocol: string;
  /** Payloads of the messages so far. */
  messages(): readonly Buffer[];
  /** Resolves when `f` holds of the messages; rejects when the connection ends before. */
  until(f: (messages: readonly Buffer[]) => boolean): Promise<void>;
  send(payload: Uint8Array | string): void;
  /** Bytes as they are. */
  raw(bytes: Uint8Array): void;
  close(): void;
  /** As a client that vanishes. */
  destroy(): void;
  readonly closed: Promise<void>;
  /** Undefined: the connection ended without a close frame. */
  closeCode(): number | undefined;
}

const key = "dGhlIHNhbXBsZSBub25jZQ==";

/** `protocols` "": none are offered. Rejects with the head when the server does not switch. */
export async function openWebSocket(
  socket: Duplex,
  target: string,
  protocols: string,
  headers: readonly string[] = [],
): Promise<WebSocketClient> {
  const offer = protocols === "" ? [] : [`sec-websocket-protocol: ${protocols}`];
  const lines = [
    `GET ${target} HTTP/1.1`,
    "host: x",
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    `sec-websocket-key: ${key}`,
    ...offer,
    ...headers,
  ];
  socket.on("error", () => {});
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const { head, rest } = await readHead(socket);
  if (!head.startsWith("HTTP/1.1 101")) {
    socket.destroy();
    throw new Error(head + String(rest));
  }
  const accept = createHash("sha1")
    .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest("base64");
  if (!head.includes(accept)) throw new Error(`not accepted: ${head}`);
  return clientOn(socket, rest, /sec-websocket-protocol: (\S+)/i.exec(head)?.[1] ?? "");
}

function readHead(socket: Duplex): Promise<{ head: string; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let got = Buffer.alloc(0);
    const take = (chunk: Buffer): void => {
      got = Buffer.concat([got, chunk]);
      const end = got.indexOf("\r\n\r\n");
      if (end < 0) return;
      socket.off("data", take);
      socket.pause();
      resolve({ head: got.toString("latin1", 0, end + 4), rest: got.subarray(end + 4) });
    };
    socket.on("data", take);
    socket.once("close", () => reject(new Error(`closed after ${got.toString()}`)));
  });
}

function clientOn(socket: Duplex, first: Buffer, protocol: string): WebSocketClient {
  const messages: Buffer[] = [];
  let pending = Buffer.alloc(0);
  let code: number | undefined;
  const waiting = new Set<() => void>();
  let isClosed = false;
  let done: () => void = () => {};
  const closed = new Promise<void>((resolve) => (done = resolve));
  const take = (chunk: Buffer): void => {
    pending = Buffer.concat([pending, chunk]);
    for (let frame = readFrame(pending); frame !== undefined; frame = readFrame(pending)) {
      pending = pending.subarray(frame.size);
      if (frame.opcode === 8) code = frame.payload.readUInt16BE(0);
      else if (frame.opcode < 3) messages.push(frame.payload);
    }
    for (const look of waiting) look();
  };
  socket.on("data", take);
  socket.on("end", () => socket.end());
  socket.on("close", () => {
    isClosed = true;
    done();
    for (const look of waiting) look();
  });
  take(first);
  socket.resume();
  return {
    protocol,
    messages: () => messages,
    until: (f) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const isThere = f(messages);
          if (!isThere && !isClosed) return;
          waiting.delete(look);
          if (isThere) resolve();
          else reject(new Error(`closed (${code}) after ${messages.map(String).join("|")}`));
        };
        waiting.add(look);
        look();
      }),
    send: (payload) => void socket.write(clientFrame(2, Buffer.from(payload))),
    raw: (bytes) => void socket.write(bytes),
    close: () => void socket.write(clientFrame(8, Uint8Array.of(3, 0xe8))),
    destroy: () => void socket.destroy(),
    closed,
    closeCode: () => code,
  };
}

function readFrame(
  bytes: Buffer,
): { readonly opcode: number; readonly payload: Buffer; readonly size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] ?? 0) & 0x7f;
  const start = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < start) return undefined;
  const length =
    short === 126
      ? bytes.readUInt16BE(2)
      : short === 127
        ? Number(bytes.readBigUInt64BE(2))
        : short;
  if (bytes.length < start + length) return undefined;
  const payload = Buffer.from(bytes.subarray(start, start + length));
  return { opcode: (bytes[0] ?? 0) & 0x0f, payload, size: start + length };
}
