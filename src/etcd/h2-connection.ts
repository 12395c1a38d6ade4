/**
 * HTTP/2 (RFC 9113) as a gRPC server needs it, on any duplex socket: frames in, streams out.
 *
 * Why not node:http2: it costs 25 us a unary call, this 6; at one core that is the difference
 * between 30,000 and 60,000 durable puts a second.
 *
 * H1  Frames of one stream keep their order; data is sent only within both windows of the peer.
 * H2  All that is sent within one turn of the loop goes out as one write.
 * H3  What a peer can make us hold is bounded: header blocks, streams, control frames waiting to be
 *     sent (reading stops while the socket does not take what we send), messages (by the caller).
 * H4  A frame that breaks the protocol ends the connection with GOAWAY and its reason.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "#platform/clock.ts";
import { directWriter, type SocketWriter } from "#platform/node/socket-writer.ts";
import { pieces } from "#wire/buffer-pool.ts";
import { HpackDecoder, HpackError } from "#wire/grpc-hpack.ts";
import {
  defaultWindowBytes,
  ErrorCode,
  Flag,
  frameHead,
  FrameType,
  settingsPayload,
  Setting,
  uint32,
} from "#wire/grpc-frames.ts";
import { BandwidthPings } from "./bandwidth-pings.ts";
import type { CallHead } from "./call-head.ts";
import {
  FrameReader,
  type FrameSink,
  frameBytesMax,
  headerBlockBytesMax,
  protocol,
  ProtocolError,
} from "./h2-reader.ts";
import { H2Stream, wholeAnswer } from "./h2-stream.ts";
import { Outbox, sent, type Outgoing } from "./outbox.ts";

export interface H2Limits {
  readonly streamsPerConnectionMax: number;
}

/** What the connection calls upon a new stream. Must set the stream's `take`. */
export type OpenStream = (stream: H2Stream, head: CallHead) => void;

/** Per stream, so that a put of 1.5 MiB does not wait for us. */
const streamWindowBytes = 2 * 2 ** 20;
const connectionWindowBytes = 16 * 2 ** 20;
/** With more than this unsent, nothing more is read. */
const outputHighBytes = 32 * 2 ** 20;
/** Small frames are joined into one buffer up to this size; larger ones are handed on as they are. */
const joinBytesMax = 64 * 1024;

export class H2Connection implements FrameSink {
  readonly #reader = new FrameReader(this);
  readonly #socket: Duplex;
  readonly #limits: H2Limits;
  readonly #open: OpenStream;
  readonly #hpack = new HpackDecoder();
  readonly #streams = new Map<number, H2Stream>();
  /** Streams with data that the peer's windows did not let out. */
  readonly #blocked = new Set<H2Stream>();
  readonly #waitingForDrain = new Set<() => void>();
  #lastStream = 0;
  #received = 0;
  #sendWindow = defaultWindowBytes;
  #peerStreamWindow = defaultWindowBytes;
  #peerFrameBytes = frameBytesMax;
  readonly #out = new Outbox();
  /** Where the socket allows it, for what goes out in one piece. */
  readonly #direct: SocketWriter | undefined;
  readonly #pings: BandwidthPings;
  #flushing = false;
  #ended = false;

  constructor(socket: Duplex, clock: Clock, limits: H2Limits, open: OpenStream) {
    this.#socket = socket;
    this.#limits = limits;
    this.#open = open;
    this.#pings = new BandwidthPings(clock, (payload) => this.#pong(payload));
    this.#direct = directWriter(socket);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("drain", () => this.#drained());
    socket.on("error", () => undefined);
    socket.on("end", () => socket.destroy());
    socket.on("close", () => this.#closed());
    const settings = settingsPayload([
      [Setting.maxConcurrentStreams, limits.streamsPerConnectionMax],
      [Setting.initialWindowSize, streamWindowBytes],
      [Setting.maxHeaderListSize, headerBlockBytesMax],
    ]);
    this.#control(FrameType.settings, 0, 0, settings);
    const more = connectionWindowBytes - defaultWindowBytes;
    this.#control(FrameType.windowUpdate, 0, 0, uint32(more));
  }

  /** Bytes that the socket has not taken yet. */
  get unsentBytes(): number {
    return this.#out.bytes + this.#socket.writableLength;
  }

  /** Tells the peer, then ends. */
  close(): void {
    if (this.#ended) return;
    this.#goaway(ErrorCode.none, "");
  }

  // For its streams.

  /** Sends bytes that are whole frames. */
  write(bytes: Buffer): void {
    if (this.#ended) return;
    this.#out.push(bytes);
    this.#flushLater();
  }

  /** How much of `wanted` bytes of data may go out now, of a stream with this window. */
  allowance(wanted: number, streamWindow: number): number {
    return Math.max(0, Math.min(wanted, streamWindow, this.#sendWindow));
  }

  /** One message as data frames. The caller asked for the allowance. Not changed any more. */
  writeData(stream: number, bytes: Buffer): void {
    if (this.#ended) return;
    this.#sendWindow -= bytes.length;
    const step = this.#peerFrameBytes;
    if (bytes.length <= step) this.#out.dataFrame(stream, bytes);
    else {
      for (let at = 0; at < bytes.length; at += step) {
        this.#out.dataFrame(stream, bytes.subarray(at, at + step));
      }
    }
    this.#flushLater();
  }

  /** A whole unary answer. The caller asked for the allowance. */
  writeWhole(stream: number, frame: Buffer): void {
    this.#sendWindow -= frame.length;
    this.write(wholeAnswer(stream, frame));
  }

  /** The answer is sent, and what the peer still sends is of no interest. */
  stopPeer(stream: number): void {
    this.#control(FrameType.reset, 0, stream, uint32(ErrorCode.none));
  }

  get peerStreamWindow(): number {
    return this.#peerStreamWindow;
  }

  block(stream: H2Stream): void {
    this.#blocked.add(stream);
  }

  forget(stream: H2Stream): void {
    this.#streams.delete(stream.id);
    this.#blocked.delete(stream);
  }

  onDrain(f: () => void): void {
    this.#waitingForDrain.add(f);
    if (!this.#flushing) this.#checkDrained();
  }

  /** A socket that took everything tells nobody: whoever waits is called in a later turn. */
  #checkDrained(): void {
    if (this.#waitingForDrain.size === 0 || this.#socket.writableNeedDrain) return;
    setImmediate(() => this.#drained());
  }

  // Writing.

  #pong(payload: Buffer): void {
    this.#control(FrameType.ping, Flag.ack, 0, payload);
  }

  #control(type: number, flags: number, stream: number, payload: Buffer): void {
    this.write(Buffer.concat([frameHead(type, flags, stream, payload.length), payload]));
  }

  #flushLater(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    process.nextTick(() => this.#flush());
  }

  #flush(): void {
    this.#pings.sent(this.#out.bytes);
    this.#flushing = false;
    const out = this.#out.take();
    if (this.#socket.destroyed) return;
    if (out.parts.length > 0) this.#send(out);
    if (this.#socket.writableLength > outputHighBytes) this.#socket.pause();
    this.#checkDrained();
  }

  #send(out: Outgoing): void {
    const { parts, bytes } = out;
    const copied = parts.length > 1;
    if (bytes > joinBytesMax || (!copied && this.#direct === undefined))
      return this.#sendParts(out);
    const whole = copied ? Buffer.concat(parts, bytes) : (parts[0] as Buffer);
    const writer = this.#direct ?? this.#socket;
    // What has to wait and is no copy is left to the garbage collector.
    if (writer.write(whole) || copied) taken(out);
  }

  #sendParts(out: Outgoing): void {
    const { parts } = out;
    const last = parts.length - 1;
    this.#socket.cork();
    for (let i = 0; i < last; i++) this.#socket.write(parts[i]);
    this.#socket.write(parts[last], (error) => {
      // Of a lost connection somebody may still hold them.
      if (!error) taken(out);
    });
    this.#socket.uncork();
  }

  #drained(): void {
    if (this.#ended) return;
    this.#socket.resume();
    const waiting = [...this.#waitingForDrain];
    this.#waitingForDrain.clear();
    for (const f of waiting) f();
  }

  #goaway(code: number, reason: string): void {
    const payload = Buffer.concat([uint32(this.#lastStream), uint32(code), Buffer.from(reason)]);
    this.#control(FrameType.goaway, 0, 0, payload);
    this.#flush();
    this.#ended = true;
    this.#socket.end(() => this.#socket.destroy());
    this.#closed();
  }

  #closed(): void {
    this.#ended = true;
    this.#pings.close();
    for (const stream of this.#streams.values()) stream.lost();
    this.#streams.clear();
    this.#blocked.clear();
    this.#waitingForDrain.clear();
  }

  // Reading.

  #read(chunk: Buffer): void {
    if (this.#ended) return;
    try {
      this.#reader.read(chunk);
    } catch (error) {
      if (error instanceof ProtocolError) this.#goaway(error.code, error.message);
      else if (error instanceof HpackError) this.#goaway(ErrorCode.compression, error.message);
      else throw error;
    }
  }

  // From the reader.

  get ended(): boolean {
    return this.#ended;
  }

  control(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FrameType.reset:
        return this.#streams.get(stream)?.lost();
      case FrameType.settings:
        return this.#settings(flags, payload);
      case FrameType.ping:
        if (payload.length !== 8) throw new ProtocolError(ErrorCode.frameSize, "ping");
        if ((flags & Flag.ack) === 0 && !this.#pings.take(payload)) this.#pong(payload);
        return undefined;
      case FrameType.windowUpdate:
        return this.#windowUpdate(stream, payload);
      case FrameType.pushPromise:
        throw protocol("clients do not push");
      default:
        // Priority, goaway, and what is yet to be invented: nothing to do.
        return undefined;
    }
  }

  data(id: number, bytes: Buffer, length: number, last: boolean): void {
    if (id === 0 || id > this.#lastStream) throw protocol("data of no stream");
    this.#received += length;
    if (this.#received > connectionWindowBytes / 2) {
      this.#control(FrameType.windowUpdate, 0, 0, uint32(this.#received));
      this.#received = 0;
    }
    const stream = this.#streams.get(id);
    // Of a stream that was answered already: dropped.
    if (stream === undefined) return;
    const renewal = stream.received(length, streamWindowBytes / 2);
    if (renewal > 0) this.#control(FrameType.windowUpdate, 0, id, uint32(renewal));
    if (last) stream.peerWillEnd();
    if (bytes.length > 0) stream.take?.data(bytes);
    if (last) stream.peerEnded();
  }

  headerBlock(id: number, endStream: boolean, block: Buffer): void {
    const fields = this.#hpack.decode(block);
    if (id <= this.#lastStream) {
      // Trailers of a request say nothing that gRPC uses.
      if (endStream) this.#streams.get(id)?.peerEnded();
      return;
    }
    if (id % 2 === 0) throw protocol("a stream of even number");
    this.#lastStream = id;
    if (this.#streams.size >= this.#limits.streamsPerConnectionMax) {
      this.#control(FrameType.reset, 0, id, uint32(ErrorCode.refusedStream));
      return;
    }
    const stream = new H2Stream(this, id);
    this.#streams.set(id, stream);
    const head = { method: "", path: "", contentType: "", encoding: "", timeout: "" };
    for (const [name, value] of fields) {
      if (name === ":path") head.path = value;
      else if (name === ":method") head.method = value;
      else if (name === "content-type") head.contentType = value;
      else if (name === "grpc-encoding") head.encoding = value;
      else if (name === "grpc-timeout") head.timeout = value;
    }
    this.#open(stream, head);
    if (endStream) stream.peerEnded();
  }

  #settings(flags: number, payload: Buffer): void {
    if ((flags & Flag.ack) !== 0) return;
    if (payload.length % 6 !== 0) throw new ProtocolError(ErrorCode.frameSize, "settings");
    for (let at = 0; at < payload.length; at += 6) {
      this.#setting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    }
    this.#control(FrameType.settings, Flag.ack, 0, Buffer.alloc(0));
    this.#unblock();
  }

  #setting(id: number, value: number): void {
    if (id === Setting.initialWindowSize) {
      if (value > 0x7fff_ffff) throw new ProtocolError(ErrorCode.flowControl, "window too large");
      const change = value - this.#peerStreamWindow;
      this.#peerStreamWindow = value;
      for (const stream of this.#streams.values()) stream.widen(change);
    } else if (id === Setting.maxFrameSize) {
      if (value < frameBytesMax || value > 0xff_ffff) throw protocol("frame size out of range");
      this.#peerFrameBytes = value;
    }
  }

  #windowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ProtocolError(ErrorCode.frameSize, "window update");
    const by = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (by === 0) throw protocol("a window update of nothing");
    if (id === 0) {
      this.#sendWindow += by;
      if (this.#sendWindow > 0x7fff_ffff) throw new ProtocolError(ErrorCode.flowControl, "window");
      this.#unblock();
    } else this.#streams.get(id)?.widen(by);
  }

  #unblock(): void {
    const blocked = [...this.#blocked];
    this.#blocked.clear();
    for (const stream of blocked) stream.pump();
  }
}

/** The bytes were taken by the host, or copied. */
function taken(out: Outgoing): void {
  pieces.sent(out.parts);
  sent(out);
}
