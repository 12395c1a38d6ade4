/**
 * A gRPC client for load: its own HTTP/2 frames on plain sockets, so that the generator costs a few
 * microseconds a call and the server is what is measured.
 *
 * All calls of a connection go to one path. What is sent in one turn goes out as one write; the
 * peer's connection window is kept, its stream windows only to their initial 65,535 bytes.
 */
import { connect, type Socket } from "node:net";

const Frame = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
} as const;
const endStream = 1;
const endHeaders = 4;
const ack = 1;
const frameHeadBytes = 9;
const frameBytesMax = 16_384;
const initialWindowSize = 4;
/** Given to the server at once, and again as it is used up: it never waits for us. */
const windowBytes = 2 ** 30;
const windowStepBytes = 2 ** 26;

/** A data frame of this size is not put together before it is handed on; answers to parse are less. */
const piecewiseBytes = 8192;

/** Who gets what comes back on one stream. */
export interface Take {
  /** The payload of one data frame: a gRPC message, or a piece of one. Borrowed until return. */
  data(payload: Buffer): void;
  /** The server ended the call. */
  ended(): void;
}

interface Stream {
  readonly take: Take;
  /** Data since the window was last widened. */
  used: number;
}

export class H2Client {
  readonly #socket: Socket;
  readonly #path: string;
  readonly #streams = new Map<number, Stream>();
  #lastStream = -1;
  #window = 65_535;
  readonly #waiting: { readonly message: Buffer; readonly take: Take }[] = [];
  #out: Buffer[] = [];
  #flushing = false;
  #held: Buffer = Buffer.alloc(0);
  #used = 0;
  /** Of a large data frame, what has not come yet. */
  #dataLeft = 0;
  #dataStream = 0;

  constructor(port: number, path: string) {
    this.#path = path;
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay(true);
    this.#socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#socket.on("error", fail);
    this.#send(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(initialWindowSize, 0);
    settings.writeUInt32BE(windowBytes, 2);
    this.#send(frame(Frame.settings, 0, 0, settings));
    this.#widen(0, windowBytes);
  }

  /** One unary call, or a stream whose only request this is. */
  call(message: Buffer, take: Take): void {
    if (message.length > this.#window) this.#waiting.push({ message, take });
    else this.#request(message, take, endStream);
  }

  /** A stream that stays open for more from us, of which there is none. */
  open(message: Buffer, take: Take): void {
    this.#request(message, take, 0);
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Nothing is read until `resume`: the slow client. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  #request(message: Buffer, take: Take, last: number): void {
    this.#window -= message.length;
    const block = this.#lastStream === -1 ? firstHeaders(this.#path) : laterHeaders;
    const id = (this.#lastStream += 2);
    this.#streams.set(id, { take, used: 0 });
    this.#send(frame(Frame.headers, endHeaders, id, block));
    for (let at = 0; at < message.length; at += frameBytesMax) {
      const part = message.subarray(at, at + frameBytesMax);
      const flags = at + part.length === message.length ? last : 0;
      this.#send(frame(Frame.data, flags, id, part));
    }
  }

  #send(bytes: Buffer): void {
    this.#out.push(bytes);
    if (this.#flushing) return;
    this.#flushing = true;
    process.nextTick(() => {
      this.#flushing = false;
      const [first] = this.#out;
      this.#socket.write(this.#out.length === 1 ? (first as Buffer) : Buffer.concat(this.#out));
      this.#out = [];
    });
  }

  #widen(stream: number, by: number): void {
    this.#send(frame(Frame.window, 0, stream, uint32(by)));
  }

  #read(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = this.#restOfData(bytes);
    while (bytes.length - at >= frameHeadBytes) {
      const length = bytes.readUIntBE(at, 3);
      const end = at + frameHeadBytes + length;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      if (end > bytes.length) {
        if (bytes[at + 3] !== Frame.data || length < piecewiseBytes) break;
        this.#dataLeft = length;
        this.#dataStream = stream;
        at += frameHeadBytes;
        at += this.#restOfData(bytes.subarray(at));
        break;
      }
      const payload = bytes.subarray(at + frameHeadBytes, end);
      this.#frame(bytes[at + 3] as number, bytes[at + 4] as number, stream, payload);
      at = end;
    }
    this.#held = bytes.subarray(at);
  }

  /** Of a large data frame that came in parts, handed on as they come. @returns the bytes taken. */
  #restOfData(bytes: Buffer): number {
    const part = Math.min(this.#dataLeft, bytes.length);
    if (part > 0) this.#data(this.#dataStream, bytes.subarray(0, part));
    this.#dataLeft -= part;
    return part;
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    if (type === Frame.data) this.#data(id, payload);
    else if (type === Frame.settings && (flags & ack) === 0) {
      this.#send(frame(Frame.settings, ack, 0, Buffer.alloc(0)));
    } else if (type === Frame.ping && (flags & ack) === 0) {
      this.#send(frame(Frame.ping, ack, 0, Buffer.from(payload)));
    } else if (type === Frame.window && id === 0) this.#widened(payload.readUInt32BE(0));
    else if (type === Frame.reset || type === Frame.goaway) fail(new Error(`frame ${type} came`));
    if ((type === Frame.headers || type === Frame.data) && (flags & endStream) !== 0) {
      const stream = this.#streams.get(id);
      this.#streams.delete(id);
      stream?.take.ended();
    }
  }

  #data(id: number, payload: Buffer): void {
    this.#used += payload.length;
    if (this.#used >= windowStepBytes) {
      this.#widen(0, this.#used);
      this.#used = 0;
    }
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.used += payload.length;
    if (stream.used >= windowStepBytes) {
      this.#widen(id, stream.used);
      stream.used = 0;
    }
    stream.take.data(payload);
  }

  #widened(by: number): void {
    this.#window += by;
    while ((this.#waiting[0]?.message.length ?? Number.POSITIVE_INFINITY) <= this.#window) {
      const { message, take } = this.#waiting.shift() as { message: Buffer; take: Take };
      this.#request(message, take, endStream);
    }
  }
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, frameHeadBytes);
  return bytes;
}

/** As a Go client does: the first request puts its headers into the table, later ones name them. */
function firstHeaders(path: string): Buffer {
  return Buffer.concat([
    Buffer.from([0x83, 0x86, 0x44]),
    text(path),
    Buffer.from([0x41]),
    text("127.0.0.1"),
    Buffer.from([0x5f]),
    text("application/grpc"),
    Buffer.from([0x40]),
    text("te"),
    text("trailers"),
  ]);
}
const laterHeaders = Buffer.from([0x83, 0x86, 0xc1, 0xc0, 0xbf, 0xbe]);

function text(value: string): Buffer {
  return Buffer.from(`${String.fromCharCode(value.length)}${value}`, "latin1");
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function fail(error: Error): never {
  process.stderr.write(`load: ${error.message}\n`);
  process.exit(1);
}
