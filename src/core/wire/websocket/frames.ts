/** Frames of a WebSocket server, which are never masked, and the answer to the handshake (RFC 6455). */
import { createHash } from "node:crypto";
import { Opcode } from "./frame-reader.ts";

export const CloseCode = {
  normal: 1000,
  protocolError: 1002,
  internal: 1011,
} as const;

/** The constant of section 1.3, which proves that the server speaks WebSocket; not a secret. */
const acceptGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A whole message in one frame: header, and the given payload. */
export function messageFrame(isBinary: boolean, payload: Uint8Array): readonly Uint8Array[] {
  return frame(isBinary ? Opcode.binary : Opcode.text, payload);
}

/** `payload`: that of the ping to be answered. */
export function pongFrame(payload: Uint8Array): readonly Uint8Array[] {
  return frame(Opcode.pong, payload);
}

export function closeFrame(code: number): readonly Uint8Array[] {
  return frame(Opcode.close, Uint8Array.of(code >> 8, code & 0xff));
}

function frame(opcode: number, payload: Uint8Array): readonly Uint8Array[] {
  const head = frameHead(0x80 | opcode, payload.length);
  return payload.length === 0 ? [head] : [head, payload];
}

/** The header of a message of `length` bytes. Equal for all readers, because a server does not mask. */
export function messageHead(isBinary: boolean, length: number): Uint8Array {
  return frameHead(0x80 | (isBinary ? Opcode.binary : Opcode.text), length);
}

function frameHead(first: number, length: number): Uint8Array {
  if (length < 126) return Uint8Array.of(first, length);
  if (length < 65_536) return Uint8Array.of(first, 126, length >> 8, length & 0xff);
  const head = new Uint8Array(10);
  head.set([first, 127]);
  new DataView(head.buffer).setBigUint64(2, BigInt(length));
  return head;
}

/** The key of a valid handshake; undefined: the request is none, or of another version. */
export function handshakeKey(headers: Readonly<Record<string, string>>): string | undefined {
  const key = headers["sec-websocket-key"] ?? "";
  const isKey = /^[A-Za-z0-9+/]{22}==$/.test(key);
  return isKey && headers["sec-websocket-version"] === "13" ? key : undefined;
}

/** The subprotocols offered by a client, in its order. */
export function offeredProtocols(headers: Readonly<Record<string, string>>): readonly string[] {
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",");
  return offered.map((one) => one.trim()).filter((one) => one !== "");
}

/** The headers of the 101. `protocol` "": no subprotocol was agreed on. */
export function handshakeAnswer(key: string, protocol: string): Record<string, string> {
  const accept = createHash("sha1")
    .update(key + acceptGuid)
    .digest("base64");
  return {
    upgrade: "websocket",
    connection: "Upgrade",
    "sec-websocket-accept": accept,
    ...(protocol === "" ? {} : { "sec-websocket-protocol": protocol }),
  };
}
