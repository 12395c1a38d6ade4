/**
 * A peer that writes HTTP/2 frames byte by byte, well-formed or not, and notes the frames that come back.
 */
import { connect, type Socket } from "node:net";
import { preface } from "#wire/grpc-frames.ts";

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export const noPayload = Buffer.alloc(0);

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = noPayload,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Preface and an empty SETTINGS: what every client begins with. */
export const hello = Buffer.concat([preface, frame(4, 0, 0)]);

/** SETTINGS of one value. */
export function setting(id: number, value: number): Buffer {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(id, 0);
  payload.writeUInt32BE(value, 2);
  return frame(4, 0, 0, payload);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A literal header field of no index; both texts are shorter than 127 bytes. */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.of(0, name.length),
    Buffer.from(name),
    Buffer.of(value.length),
    Buffer.from(value),
  ]);
}

/** The head of a gRPC call. */
export function grpcHead(path: string): Buffer {
  return Buffer.concat([
    Buffer.of(0x83, 0x86, 0x04, path.length),
    Buffer.from(path),
    literal("content-type", "application/grpc"),
  ]);
}

/** A gRPC message in one DATA frame; `flags` 1 ends the stream. */
export function data(stream: number, message: Buffer, flags = 1): Buffer {
  const framed = Buffer.concat([Buffer.of(0), uint32(message.length), message]);
  return frame(0, flags, stream, framed);
}

export class RawPeer {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  readonly closed: Promise<void>;
  #held: Buffer = noPayload;
  #waiting: (() => void)[] = [];
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.isClosed = true;
        this.#wake();
        resolve();
      });
    });
  }

  static connect(url: string): Promise<RawPeer> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => resolve(new RawPeer(socket)));
      socket.once("error", reject);
      socket.setNoDelay(true);
    });
  }

  /** Resolves once the bytes are with the kernel, or the connection is gone. */
  async send(...parts: readonly Buffer[]): Promise<void> {
    if (this.isClosed || this.socket.destroyed) return;
    const taken = this.socket.write(Buffer.concat(parts));
    if (taken) return;
    const drained = new Promise<void>((resolve) => this.socket.once("drain", resolve));
    await Promise.race([drained, this.closed]);
  }

  /** The first frame that fits, also of those that came before; undefined: the connection ended. */
  async next(fits: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find(fits);
      if (found !== undefined || this.isClosed) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The code of its GOAWAY; undefined: the connection ended without one. */
  async goaway(): Promise<number | undefined> {
    const found = await this.next(({ type }) => type === 7);
    return found?.payload.readUInt32BE(4);
  }

  /** The code of a stream's RST_STREAM; undefined: the connection ended without one. */
  async reset(stream: number): Promise<number | undefined> {
    const found = await this.next((one) => one.type === 3 && one.stream === stream);
    return found?.payload.readUInt32BE(0);
  }

  /** The text of the trailers that end a call. */
  async trailers(stream: number): Promise<string | undefined> {
    const fits = ({ type, flags, stream: of }: Frame): boolean =>
      type === 1 && (flags & 1) !== 0 && of === stream;
    // The length of a literal is a byte that no text has.
    return (await this.next(fits))?.payload.toString("latin1").replaceAll("\u0001", "=");
  }

  /** A round trip: what was sent before has been read. */
  async settled(): Promise<void> {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(++pings, 0);
    await this.send(frame(6, 0, 0, payload));
    await this.next((one) => one.type === 6 && one.payload.equals(payload));
  }

  end(): Promise<void> {
    this.socket.destroy();
    return this.closed;
  }

  #read(chunk: Buffer): void {
    this.#held = Buffer.concat([this.#held, chunk]);
    let at = 0;
    while (this.#held.length - at >= 9) {
      const end = at + 9 + this.#held.readUIntBE(at, 3);
      if (end > this.#held.length) break;
      const [type, flags] = [this.#held[at + 3] ?? 0, this.#held[at + 4] ?? 0];
      const stream = this.#held.readUInt32BE(at + 5);
      this.frames.push({ type, flags, stream, payload: this.#held.subarray(at + 9, end) });
      at = end;
    }
    this.#held = this.#held.subarray(at);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

let pings = 0;
