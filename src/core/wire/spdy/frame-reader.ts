/**
 * SPDY/3.1 frames from a server, read as they arrive: what a client of exec and attach needs of them.
 *
 *   control  1 | version 15 bits | type 16 | flags 8 | length 24 | ...
 *   data     0 | stream 31 bits            | flags 8 | length 24 | payload
 *
 * In     chunks of any length, cut anywhere.
 * Out    payload of data frames in pieces; resets, pings and the end of the connection. Header blocks are
 *        skipped unread: a reply's stream and flags stand before its block.
 * Bounds 16 bytes are kept between two chunks, whatever a length says.
 * After  https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/ . How this changes: it does
 *        not; kubelets speak WebSocket instead once their node says so (pod-streams.ts).
 */

export type SpdyEvent =
  | {
      readonly kind: "data";
      readonly stream: number;
      /** A part of the chunk. */
      readonly bytes: Uint8Array;
      /** Whether this is the last piece of the stream. */
      readonly isFin: boolean;
    }
  | { readonly kind: "reset"; readonly stream: number }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "goAway" }
  /** The server opened a stream, which kubelets do not do. */
  | { readonly kind: "opened"; readonly stream: number }
  | { readonly kind: "broken"; readonly reason: string };

interface DataFrame {
  readonly stream: number;
  left: number;
  readonly isFin: boolean;
}

export const FrameType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
} as const;

const finFlag = 1;
const headBytes = 8;
/** Bytes of a control frame's body that are read: a stream or ping id. */
const idBytes = 4;
const nothing = new Uint8Array(0);
const withIds: ReadonlySet<number> = new Set([
  FrameType.synStream,
  FrameType.synReply,
  FrameType.rstStream,
  FrameType.ping,
  FrameType.headers,
]);

export class SpdyReader {
  #kept: Uint8Array = nothing;
  /** The remaining part of the current data frame. */
  #data: DataFrame | undefined;
  /** Bytes of a control frame that are skipped. */
  #skip = 0;
  #isOver = false;

  read(chunk: Uint8Array): readonly SpdyEvent[] {
    const events: SpdyEvent[] = [];
    let rest = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = nothing;
    while (!this.#isOver && rest.length > 0) {
      const taken = this.#readSome(rest, events);
      if (taken === 0) break;
      rest = rest.subarray(taken);
    }
    if (!this.#isOver && rest.length > 0) this.#kept = rest.slice();
    return events;
  }

  /** @returns the number of bytes used; 0: more are needed. */
  #readSome(bytes: Uint8Array, events: SpdyEvent[]): number {
    if (this.#skip > 0) {
      const skipped = Math.min(this.#skip, bytes.length);
      this.#skip -= skipped;
      return skipped;
    }
    if (this.#data !== undefined) return this.#readData(bytes, this.#data, events);
    if (bytes.length < headBytes) return 0;
    return isControl(bytes) ? this.#readControl(bytes, events) : this.#readDataHead(bytes, events);
  }

  #readDataHead(bytes: Uint8Array, events: SpdyEvent[]): number {
    const stream = word(bytes, 0) & 0x7fffffff;
    const isFin = ((bytes[4] ?? 0) & finFlag) !== 0;
    const left = word(bytes, 4) & 0xffffff;
    if (left > 0) this.#data = { stream, left, isFin };
    else events.push({ kind: "data", stream, bytes: nothing, isFin });
    return headBytes;
  }

  #readData(bytes: Uint8Array, data: DataFrame, events: SpdyEvent[]): number {
    const piece = bytes.subarray(0, data.left);
    data.left -= piece.length;
    const isWhole = data.left === 0;
    if (isWhole) this.#data = undefined;
    const { stream, isFin } = data;
    events.push({ kind: "data", stream, bytes: piece, isFin: isFin && isWhole });
    return piece.length;
  }

  #readControl(bytes: Uint8Array, events: SpdyEvent[]): number {
    const version = word(bytes, 0) >>> 16;
    if (version !== 0x8003) return this.#break("a control frame is of another version", events);
    const type = word(bytes, 0) & 0xffff;
    const isFin = ((bytes[4] ?? 0) & finFlag) !== 0;
    const length = word(bytes, 4) & 0xffffff;
    const seen = withIds.has(type) ? idBytes : 0;
    if (length < seen) return this.#break("a control frame is too short", events);
    if (bytes.length < headBytes + seen) return 0;
    const id = seen === 0 ? 0 : word(bytes, headBytes);
    this.#skip = length - seen;
    this.#tell(type, id, isFin, events);
    return headBytes + seen;
  }

  #tell(type: number, id: number, isFin: boolean, events: SpdyEvent[]): void {
    const stream = id & 0x7fffffff;
    if (type === FrameType.synStream) events.push({ kind: "opened", stream });
    else if (type === FrameType.rstStream) events.push({ kind: "reset", stream });
    else if (type === FrameType.ping) events.push({ kind: "ping", id });
    else if (type === FrameType.goAway) events.push({ kind: "goAway" });
    else if (isFin && (type === FrameType.synReply || type === FrameType.headers))
      events.push({ kind: "data", stream, bytes: nothing, isFin });
  }

  #break(reason: string, events: SpdyEvent[]): number {
    this.#isOver = true;
    events.push({ kind: "broken", reason });
    return 0;
  }
}

function isControl(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & 0x80) !== 0;
}

function word(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(at, at + 4);
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
}
