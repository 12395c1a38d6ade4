/**
 * HTTP/2 (RFC 9113) as a gRPC server needs it, on any duplex socket: it reads frames and makes streams of them.
 *
 * Why not node:http2: a unary call costs 25 us there and 6 us here. At one core that is the difference
 * between 30,000 and 60,000 durable puts per second.
 *
 * H1  Frames of one stream keep their order; data is sent only within both windows of the peer.
 * H2  Everything that is sent within one turn of the loop goes out as one write.
 * H3  The memory and work that a peer can cause is bounded: `h2-limits.ts` has the bounds, and the answer at
 *     each of them. One connection's requests run for at most `turnMs` before others get their turn.
 * H4  A frame that breaks the protocol ends its stream with RST_STREAM or the connection with GOAWAY,
 *     with the code that RFC 9113 defines for it.
 */
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "#platform/clock.ts";
import { headerListBytesMax, HpackDecoder, HpackError } from "#wire/grpc-hpack.ts";
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
import type { H2Limits } from "./h2-limits.ts";
import {
  FrameReader,
  type FrameSink,
  frameBytesMax,
  protocol,
  ProtocolError,
} from "./h2-reader.ts";
import { H2Sender } from "./h2-sender.ts";
import { H2Stream, wholeAnswer } from "./h2-stream.ts";
import { areTrailers, requestHead } from "./request-fields.ts";
import { PeerAccount } from "./peer-account.ts";
import type { ServerLoad } from "./server-load.ts";

/** Called by the connection for each new stream. Must set the stream's `take`. */
export type OpenStream = (stream: H2Stream, head: CallHead) => void;

/** Window per stream: a put of 1.5 MiB arrives without a window update. */
const streamWindowBytes = 2 * 2 ** 20;
const connectionWindowBytes = 16 * 2 ** 20;
const windowMax = 0x7fff_ffff;
/** With more unsent bytes than this, the connection stops reading. */
const outputHighBytes = 32 * 2 ** 20;
/** Maximum time for the requests of one read before other connections get their turn. */
const turnMs = 10;
/** Resets of streams older than this do not count as abuse. */
const youngMs = 1000;
/** A data frame with fewer bytes counts as idle, unless it ends the stream or completes a message. */
const smallDataBytes = 256;
/** Idle frames charged for an answer to a peer that does not read. */
const unreadAnswerCost = 10;
/** Remembered streams that this side reset; data that the peer sent before it learned of the reset is dropped. */
const resetHereMax = 1000;
/** Time for the peer to read GOAWAY, and what is queued before it, before the connection is closed. */
const closeMs = 1000;
const leftBytesMax = 2 ** 20;

const nothing = Buffer.alloc(0);

export class H2Connection implements FrameSink {
  readonly #reader = new FrameReader(this);
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #limits: H2Limits;
  readonly #open: OpenStream;
  readonly #hpack = new HpackDecoder();
  readonly #sender: H2Sender;
  readonly #pings: BandwidthPings;
  readonly account: PeerAccount;
  readonly #streams = new Map<number, H2Stream>();
  /** Streams with data that is blocked by the connection's window. */
  readonly #blocked = new Set<H2Stream>();
  /** Streams opened by the bytes currently being read. */
  readonly #opened: H2Stream[] = [];
  readonly #resetHere = new Set<number>();
  #lastStream = 0;
  #greeted = false;
  /** Data received since the connection's window was last updated. */
  #received = 0;
  #sendWindow = defaultWindowBytes;
  #peerStreamWindow = defaultWindowBytes;
  #peerFrameBytes = frameBytesMax;
  #headTimer: Timer | undefined;
  #closeTimer: Timer | undefined;
  #readMs = 0;
  #calls = 0;
  #yielding = false;
  #paused = false;
  #ended = false;

  constructor(
    socket: Duplex,
    deps: { readonly clock: Clock; readonly load: ServerLoad },
    limits: H2Limits,
    open: OpenStream,
  ) {
    this.#socket = socket;
    this.#clock = deps.clock;
    this.#limits = limits;
    this.#open = open;
    this.#pings = new BandwidthPings(deps.clock, (payload) => this.#pong(payload));
    this.#sender = new H2Sender(socket, {
      flushing: (bytes) => this.#pings.sent(bytes),
      flushed: () => this.#flushed(),
      drained: () => this.#drained(),
    });
    const sender = this.#sender;
    const connection = {
      get unsentBytes() {
        return sender.unsentBytes;
      },
      get takenBytes() {
        return sender.takenBytes;
      },
      runningChanged: () => this.#updateReading(),
      endUnread: () => this.#goaway(ErrorCode.enhanceYourCalm, "answers are not read"),
    };
    this.account = new PeerAccount({ ...deps, connection }, limits);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", () => undefined);
    socket.on("end", () => socket.destroy());
    socket.on("close", () => this.#closed());
    this.#greet();
  }

  #greet(): void {
    const settings = settingsPayload([
      [Setting.maxConcurrentStreams, this.#limits.streamsPerConnectionMax],
      [Setting.initialWindowSize, streamWindowBytes],
      [Setting.maxHeaderListSize, headerListBytesMax],
    ]);
    this.#control(FrameType.settings, 0, 0, settings);
    const more = connectionWindowBytes - defaultWindowBytes;
    this.#control(FrameType.windowUpdate, 0, 0, uint32(more));
    this.#armHead();
  }

  /** Sends GOAWAY, then closes the connection. */
  close(): void {
    if (this.#ended) return;
    this.#goaway(ErrorCode.none, "");
  }

  // --- called by streams ---

  /** Bytes that the socket has not taken yet. */
  get unsentBytes(): number {
    return this.#sender.unsentBytes;
  }

  get peerStreamWindow(): number {
    return this.#peerStreamWindow;
  }

  /** Sends bytes that form whole frames. */
  write(bytes: Buffer): void {
    this.#sender.write(bytes);
  }

  /** How many of `wanted` data bytes may be sent now on a stream with this window. */
  allowance(wanted: number, streamWindow: number): number {
    return Math.max(0, Math.min(wanted, streamWindow, this.#sendWindow));
  }

  /** Sends one message as data frames within the allowance that the caller obtained. The bytes must not change. */
  writeData(stream: number, bytes: Buffer): void {
    if (this.#ended) return;
    this.#sendWindow -= bytes.length;
    this.#sender.writeData(stream, bytes, this.#peerFrameBytes);
    this.account.earnData(bytes.length);
  }

  /** Sends a whole unary answer within the allowance that the caller obtained. */
  writeWhole(stream: number, frame: Buffer): void {
    this.#sendWindow -= frame.length;
    this.write(wholeAnswer(stream, frame));
  }

  /** Asks the peer to stop sending: the answer is complete. */
  stopPeer(stream: number): void {
    this.#reset(stream, ErrorCode.none);
  }

  block(stream: H2Stream): void {
    this.#blocked.add(stream);
  }

  forget(stream: H2Stream): void {
    this.#streams.delete(stream.id);
    this.#blocked.delete(stream);
  }

  onDrain(f: () => void): void {
    this.#sender.onDrain(f);
  }

  // --- writing ---

  #pong(payload: Buffer): void {
    this.#control(FrameType.ping, Flag.ack, 0, payload);
  }

  #control(type: number, flags: number, stream: number, payload: Buffer): void {
    this.write(Buffer.concat([frameHead(type, flags, stream, payload.length), payload]));
  }

  #reset(stream: number, code: number): void {
    if (this.#resetHere.size >= resetHereMax) {
      const [oldest] = this.#resetHere;
      if (oldest !== undefined) this.#resetHere.delete(oldest);
    }
    this.#resetHere.add(stream);
    this.#control(FrameType.reset, 0, stream, uint32(code));
  }

  #flushed(): void {
    this.account.report();
    if (this.#socket.writableLength > outputHighBytes) this.#updateReading();
  }

  #drained(): void {
    this.account.taken();
    this.account.report();
    this.#updateReading();
  }

  #goaway(code: number, reason: string): void {
    if (this.#ended) return;
    const payload = Buffer.concat([uint32(this.#lastStream), uint32(code), Buffer.from(reason)]);
    this.#control(FrameType.goaway, 0, 0, payload);
    this.#sender.flush();
    this.#closed();
    // Frees the output of a peer that does not read instead of keeping it.
    if (this.#socket.writableLength > leftBytesMax) return void this.#socket.destroy();
    this.#socket.resume();
    // A peer without fault may read what is queued; nothing more is expected from it.
    this.#socket.end(() => {
      if (code === ErrorCode.none) this.#socket.destroy();
    });
    this.#closeTimer = this.#clock.after("etcd.close", closeMs, () => this.#socket.destroy());
  }

  #closed(): void {
    this.#closeTimer?.cancel();
    if (this.#ended) return;
    this.#ended = true;
    this.#pings.close();
    this.#sender.close();
    this.#headTimer?.cancel();
    for (const stream of this.#streams.values()) stream.lost();
    this.account.close();
  }

  // --- timers ---

  /** Arms the timer for an incomplete frame. One timer, which is armed again if a newer frame is incomplete when it fires. */
  #armHead(): void {
    if (this.#headTimer !== undefined || this.#ended) return;
    const begun = this.#reader.whole;
    this.#headTimer = this.#clock.after("etcd.head", this.#limits.headMs, () => {
      this.#headTimer = undefined;
      const late = this.#reader.hasPartialFrame && this.#reader.whole === begun && !this.#paused;
      if (late || !this.#greeted) {
        this.#goaway(ErrorCode.enhanceYourCalm, "a frame or header block took too long");
      } else if (this.#reader.hasPartialFrame) this.#armHead();
    });
  }

  // --- reading ---

  #read(chunk: Buffer): void {
    if (this.#ended) return;
    this.#readMs = this.#clock.monotonicMs();
    try {
      this.#reader.read(chunk);
    } catch (error) {
      if (error instanceof ProtocolError) return this.#goaway(error.code, error.message);
      if (!(error instanceof HpackError)) throw error;
      const code = error.isTooLarge ? ErrorCode.enhanceYourCalm : ErrorCode.compression;
      return this.#goaway(code, error.message);
    }
    this.#readOpened();
    if (this.#yielding) this.#yield();
    else if (this.#reader.hasPartialFrame) this.#armHead();
  }

  #readOpened(): void {
    if (this.#opened.length === 0) return;
    for (const stream of this.#opened) stream.headRead();
    this.#opened.length = 0;
  }

  /** Postpones the rest of the read bytes until other connections had their turn. */
  #yield(): void {
    this.#updateReading();
    setImmediate(() => {
      this.#yielding = false;
      this.#read(nothing);
      this.#updateReading();
    });
  }

  #updateReading(): void {
    const pause =
      this.#yielding || this.account.isRunningFull || this.#socket.writableLength > outputHighBytes;
    if (pause === this.#paused || this.#ended) return;
    this.#paused = pause;
    if (pause) this.#socket.pause();
    else this.#socket.resume();
  }

  // --- called by the reader ---

  get isPausing(): boolean {
    return this.#ended || this.#yielding;
  }

  control(type: number, flags: number, stream: number, payload: Buffer): void {
    if (!this.#greeted && type !== FrameType.settings) throw protocol("no SETTINGS first");
    switch (type) {
      case FrameType.reset:
        return this.#peerReset(stream, payload);
      case FrameType.settings:
        return this.#settings(flags, stream, payload);
      case FrameType.ping:
        return this.#ping(flags, stream, payload);
      case FrameType.windowUpdate:
        return this.#windowUpdate(stream, payload);
      case FrameType.priority:
        return this.#priority(stream, payload);
      case FrameType.pushPromise:
        throw protocol("clients do not push");
      case FrameType.goaway:
        if (stream !== 0) throw protocol("goaway of a stream");
        return this.account.idle(1);
      default:
        // An unknown frame type is ignored, as HTTP/2 demands.
        return this.account.idle(1);
    }
  }

  data(id: number, bytes: Buffer, length: number, last: boolean): void {
    if (id === 0 || id > this.#lastStream) throw protocol("data of no stream");
    this.#received += length;
    if (this.#received > connectionWindowBytes / 2) {
      this.#control(FrameType.windowUpdate, 0, 0, uint32(this.#received));
      this.#received = 0;
    }
    if (bytes.length < smallDataBytes && !last) this.account.idle(1);
    const stream = this.#streams.get(id);
    if (stream === undefined) return this.#stale(id);
    if (stream.hasPeerEnded) return this.#streamError(stream, ErrorCode.streamClosed);
    if (!stream.bodyFits(bytes.length, last)) return this.#streamError(stream, ErrorCode.protocol);
    const renewal = stream.received(length, streamWindowBytes / 2);
    if (renewal > 0) this.#control(FrameType.windowUpdate, 0, id, uint32(renewal));
    if (last) stream.peerWillEnd();
    if (bytes.length > 0) stream.take?.data(bytes);
    if (last) stream.peerEnded();
    if (last || stream.isPaced) this.#checkTurn();
  }

  headerBlock(id: number, endStream: boolean, block: Buffer): void {
    const fields = this.#hpack.decode(block);
    if (!this.#greeted || id % 2 === 0) throw protocol("headers of no stream");
    if (id <= this.#lastStream) {
      return this.#trailers(id, endStream && areTrailers(fields));
    }
    this.#lastStream = id;
    if (!this.account.hasStream) {
      this.account.idle(1);
      return this.#reset(id, ErrorCode.refusedStream);
    }
    const head = requestHead(fields);
    if (head === undefined || (endStream && (head.contentLength ?? 0) > 0)) {
      this.account.spendReset();
      return this.#reset(id, ErrorCode.protocol);
    }
    this.#begin(id, endStream, head);
    if (endStream) this.#checkTurn();
  }

  #begin(id: number, endStream: boolean, head: CallHead): void {
    const stream = new H2Stream(this, id, this.#readMs, head.contentLength ?? -1);
    this.#streams.set(id, stream);
    this.account.streamOpened();
    this.account.earn();
    if (endStream) stream.peerWillEnd();
    else this.#opened.push(stream);
    this.#open(stream, head);
    if (endStream) stream.peerEnded();
  }

  #trailers(id: number, wellFormed: boolean): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      if (this.#resetHere.has(id)) return this.account.idle(1);
      throw new ProtocolError(ErrorCode.streamClosed, "headers of a closed stream");
    }
    if (stream.hasPeerEnded) return this.#streamError(stream, ErrorCode.streamClosed);
    if (!wellFormed || !stream.bodyFits(0, true)) {
      return this.#streamError(stream, ErrorCode.protocol);
    }
    stream.peerEnded();
  }

  /** Handles a data frame of a stream that has ended. */
  #stale(id: number): void {
    // The peer sent the frame before it learned of the reset.
    if (this.#resetHere.has(id)) return;
    this.account.idle(1);
    this.account.spendReset();
    this.#reset(id, ErrorCode.streamClosed);
  }

  #streamError(stream: H2Stream, code: number): void {
    this.account.spendReset();
    this.#reset(stream.id, code);
    stream.lost();
  }

  /** Yields when the requests of one read have held the loop for too long. */
  #checkTurn(): void {
    // Checked at every fourth call only: reading the clock costs as much as a small frame.
    if ((++this.#calls & 3) !== 0) return;
    if (this.#clock.monotonicMs() - this.#readMs > turnMs) this.#yielding = true;
  }

  #peerReset(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ProtocolError(ErrorCode.frameSize, "reset");
    if (id === 0 || id > this.#lastStream) throw protocol("reset of no stream");
    const stream = this.#streams.get(id);
    if (stream === undefined) return this.account.idle(1);
    stream.lost();
    if (this.#readMs - stream.openedMs < youngMs) this.account.spendReset();
    else this.account.idle(1);
  }

  #ping(flags: number, stream: number, payload: Buffer): void {
    if (stream !== 0) throw protocol("ping of a stream");
    if (payload.length !== 8) throw new ProtocolError(ErrorCode.frameSize, "ping");
    const asks = (flags & Flag.ack) === 0 && !this.#pings.take(payload);
    this.account.idle(asks ? this.#answerCost() : 1);
    if (asks) this.#pong(Buffer.from(payload));
  }

  /** Answers to a peer that does not read accumulate, so they cost more. */
  #answerCost(): number {
    return this.#socket.writableLength > 0 ? unreadAnswerCost : 1;
  }

  #priority(stream: number, payload: Buffer): void {
    if (stream === 0) throw protocol("priority of no stream");
    if (payload.length !== 5) throw new ProtocolError(ErrorCode.frameSize, "priority");
    if ((payload.readUInt32BE(0) & 0x7fff_ffff) === stream) throw protocol("depends on itself");
    this.account.idle(1);
  }

  #settings(flags: number, stream: number, payload: Buffer): void {
    if (stream !== 0) throw protocol("settings of a stream");
    const isAck = (flags & Flag.ack) !== 0;
    if (payload.length % 6 !== 0 || (isAck && payload.length > 0)) {
      throw new ProtocolError(ErrorCode.frameSize, "settings");
    }
    if (isAck) return this.account.idle(1);
    this.#greeted = true;
    this.account.idle(this.#answerCost() + payload.length / 60);
    const before = this.#peerStreamWindow;
    for (let at = 0; at < payload.length; at += 6) {
      this.#setting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    }
    this.#control(FrameType.settings, Flag.ack, 0, nothing);
    if (this.#peerStreamWindow !== before) this.#windowsChanged();
  }

  #setting(id: number, value: number): void {
    if (id === Setting.initialWindowSize) {
      if (value > windowMax) throw new ProtocolError(ErrorCode.flowControl, "window too large");
      this.#peerStreamWindow = value;
    } else if (id === Setting.maxFrameSize) {
      if (value < frameBytesMax || value > 0xff_ffff) throw protocol("frame size out of range");
      this.#peerFrameBytes = value;
    } else if (id === Setting.enablePush && value > 1) throw protocol("push is 0 or 1");
  }

  /** Updates all streams once per SETTINGS frame. */
  #windowsChanged(): void {
    this.account.idle(this.#streams.size / 64);
    for (const stream of this.#streams.values()) {
      if (!stream.widen(0)) throw new ProtocolError(ErrorCode.flowControl, "window too large");
    }
  }

  #windowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ProtocolError(ErrorCode.frameSize, "window update");
    if (id > this.#lastStream) throw protocol("window update of no stream");
    this.account.idle(1);
    const by = payload.readUInt32BE(0) & 0x7fff_ffff;
    const stream = this.#streams.get(id);
    if (id === 0) {
      if (by === 0) throw protocol("a window update of nothing");
      this.#sendWindow += by;
      if (this.#sendWindow > windowMax) throw new ProtocolError(ErrorCode.flowControl, "window");
      this.#unblock();
    } else if (stream !== undefined) {
      if (by === 0) this.#streamError(stream, ErrorCode.protocol);
      else if (!stream.widen(by)) this.#streamError(stream, ErrorCode.flowControl);
    }
    this.account.taken();
  }

  /** Resumes blocked streams in turn until the window is used up; a stream that is blocked again goes to the end. */
  #unblock(): void {
    for (const stream of this.#blocked) {
      if (this.#sendWindow === 0) return;
      this.#blocked.delete(stream);
      stream.pump();
    }
  }
}
