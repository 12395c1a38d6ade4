/**
 * WebSocket frames from a client (RFC 6455 section 5), read as they arrive.
 *
 * In     chunks of any length, cut anywhere.
 * Out    the payload of messages in pieces, so that no message is held whole; control frames whole.
 * Holds  a frame that is not masked, has reserved bits or an unknown opcode, continues nothing or starts
 *        a message within another is `broken`; nothing is read after it, nor after a close.
 * Bounds 14 bytes of a head and 125 of a control frame are kept between two chunks. A payload may be as
 *        long as `frameBytesMax` (absent: as a head can say up to 2^53): it is passed on, never kept.
 * Cost   a reader that only wants control frames (`skipsMessages`) neither unmasks nor copies payloads.
 */

export type WebSocketPiece = {
  readonly kind: "piece";
  readonly isBinary: boolean;
  /** Whether this is the first piece of its message; an empty message has one piece. */
  readonly isFirst: boolean;
  /** Unmasked, in a new array. */
  readonly bytes: Uint8Array;
};

export type WebSocketEvent =
  | WebSocketPiece
  | { readonly kind: "ping"; readonly bytes: Uint8Array }
  /** A part of a message's payload, for a reader that skips messages. */
  | { readonly kind: "skipped" }
  /** Code 1005: the client sent no code. */
  | { readonly kind: "close"; readonly code: number }
  | { readonly kind: "broken"; readonly reason: string };

export const Opcode = {
  continuation: 0,
  text: 1,
  binary: 2,
  close: 8,
  ping: 9,
  pong: 10,
} as const;

interface Head {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly length: number;
  readonly mask: Uint8Array;
}

interface Message {
  readonly isBinary: boolean;
  isStarted: boolean;
}

interface ReaderOptions {
  readonly skipsMessages?: true;
  /** Maximum payload of one frame. */
  readonly frameBytesMax?: number;
}

const controlBytesMax = 125;
/** Shared, so that a flood of frames creates no objects. */
const skipped: WebSocketEvent = { kind: "skipped" };
const nothing = new Uint8Array(0);

export class WebSocketReader {
  readonly #options: ReaderOptions;
  /** An incomplete frame header, or a control frame's incomplete payload. */
  #kept: Uint8Array = nothing;
  #head: Head | undefined;
  /** Payload bytes of the current frame that were passed on. */
  #passed = 0;
  #message: Message | undefined;
  #isOver = false;

  constructor(options: ReaderOptions = {}) {
    this.#options = options;
  }

  read(chunk: Uint8Array): readonly WebSocketEvent[] {
    const events: WebSocketEvent[] = [];
    let rest = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = nothing;
    while (!this.#isOver) {
      const taken =
        this.#head === undefined
          ? this.#readHead(rest, events)
          : this.#readPayload(rest, this.#head, events);
      if (taken === undefined) break;
      rest = rest.subarray(taken);
    }
    // Copied, so that a few bytes do not keep the chunk in memory.
    if (!this.#isOver && rest.length > 0) this.#kept = rest.slice();
    return events;
  }

  /** @returns the number of bytes used; undefined: more are needed. */
  #readHead(bytes: Uint8Array, events: WebSocketEvent[]): number | undefined {
    const [first, second] = bytes;
    if (first === undefined || second === undefined) return undefined;
    const problem = this.#problemOf(first, second);
    if (problem !== undefined) return this.#break(problem, events);
    const short = second & 0x7f;
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const size = 2 + lengthBytes + 4;
    if (bytes.length < size) return undefined;
    const length = lengthBytes === 0 ? short : bigEndian(bytes.subarray(2, 2 + lengthBytes));
    const { frameBytesMax = Number.MAX_SAFE_INTEGER } = this.#options;
    if (length > frameBytesMax) return this.#break("a frame is too long", events);
    const opcode = first & 0x0f;
    const isFinal = (first & 0x80) !== 0;
    if (opcode === Opcode.text || opcode === Opcode.binary)
      this.#message = { isBinary: opcode === Opcode.binary, isStarted: false };
    this.#head = { opcode, isFinal, length, mask: bytes.slice(size - 4, size) };
    this.#passed = 0;
    return size;
  }

  #problemOf(first: number, second: number): string | undefined {
    const opcode = first & 0x0f;
    if ((first & 0x70) !== 0) return "a reserved bit is set";
    if ((second & 0x80) === 0) return "a frame of a client is not masked";
    if (opcode >= Opcode.close) {
      if (opcode > Opcode.pong) return "an opcode is unknown";
      if ((first & 0x80) === 0) return "a control frame is fragmented";
      return (second & 0x7f) > controlBytesMax ? "a control frame is too long" : undefined;
    }
    if (opcode > Opcode.binary) return "an opcode is unknown";
    const isWithin = this.#message !== undefined;
    if (opcode === Opcode.continuation) return isWithin ? undefined : "a frame continues nothing";
    return isWithin ? "a message starts within another" : undefined;
  }

  #readPayload(bytes: Uint8Array, head: Head, events: WebSocketEvent[]): number | undefined {
    if (head.opcode >= Opcode.close) return this.#readControl(bytes, head, events);
    const message = this.#message;
    if (message === undefined) return this.#break("a frame continues nothing", events);
    const available = Math.min(bytes.length, head.length - this.#passed);
    if (available === 0 && head.length > this.#passed) return undefined;
    const isFirst = !message.isStarted;
    message.isStarted = true;
    if (this.#options.skipsMessages === true) events.push(skipped);
    else if (available > 0 || isFirst) {
      const piece = unmasked(bytes.subarray(0, available), head.mask, this.#passed);
      events.push({ kind: "piece", isBinary: message.isBinary, isFirst, bytes: piece });
    }
    this.#passed += available;
    if (this.#passed < head.length) return available;
    this.#head = undefined;
    if (head.isFinal) this.#message = undefined;
    return available;
  }

  #readControl(bytes: Uint8Array, head: Head, events: WebSocketEvent[]): number | undefined {
    if (bytes.length < head.length) return undefined;
    const payload = unmasked(bytes.subarray(0, head.length), head.mask, 0);
    this.#head = undefined;
    if (head.opcode === Opcode.ping) events.push({ kind: "ping", bytes: payload });
    if (head.opcode !== Opcode.close) return head.length;
    if (payload.length === 1) return this.#break("a close code is one byte", events);
    this.#isOver = true;
    events.push({
      kind: "close",
      code: payload.length === 0 ? 1005 : bigEndian(payload.subarray(0, 2)),
    });
    return undefined;
  }

  #break(reason: string, events: WebSocketEvent[]): undefined {
    this.#isOver = true;
    events.push({ kind: "broken", reason });
    return undefined;
  }
}

function bigEndian(bytes: Uint8Array): number {
  let value = 0;
  for (const byte of bytes) value = value * 256 + byte;
  return value;
}

function unmasked(bytes: Uint8Array, mask: Uint8Array, offset: number): Uint8Array {
  const plain = new Uint8Array(bytes.length);
  for (let index = 0; index < bytes.length; index++)
    plain[index] = (bytes[index] ?? 0) ^ (mask[(offset + index) & 3] ?? 0);
  return plain;
}
