/**
 * One stream of an HTTP/2 connection, from the server's side, speaking gRPC: head, messages, trailers.
 *
 *   open ──▶ peer ended ──▶ answered        `lost` from anywhere: reset, or the connection is gone
 *
 * Holds  after `answered` or `lost` nothing is sent; `take.closed` is called once, at the end.
 */
import {
  Flag,
  frameHead,
  frameHeadBytes,
  FrameType,
  grpcHead,
  grpcOkTrailers,
  grpcTrailers,
  writeFrameHead,
} from "#wire/grpc-frames.ts";
import { encodeGrpcMessage } from "#wire/grpc.ts";
import type { PeerAccount } from "./peer-account.ts";

/** Receives the client's data. */
export interface Take {
  /** Borrowed until return. */
  data(bytes: Buffer): void;
  /** What the client sent along with the head has been read, and the client may send more. */
  waits?(): void;
  ended(): void;
  closed(): void;
}

/** What a stream asks of the connection that carries it; `H2Connection` is the only one. */
interface StreamCarrier {
  readonly account: PeerAccount;
  /** Bytes that the socket has not taken yet. */
  readonly unsentBytes: number;
  readonly peerStreamWindow: number;
  /** Sends bytes that are whole frames. */
  write(bytes: Buffer): void;
  /** How much of `wanted` bytes of data may go out now, of a stream with this window. */
  allowance(wanted: number, streamWindow: number): number;
  /** One message as data frames. The caller asked for the allowance. Not changed any more. */
  writeData(stream: number, bytes: Buffer): void;
  /** A whole unary answer. The caller asked for the allowance. */
  writeWhole(stream: number, frame: Buffer): void;
  /** The answer is sent, and what the peer still sends is of no interest. */
  stopPeer(stream: number): void;
  /** The connection's window did not let out all of the stream's data: `pump` is called when it opens. */
  block(stream: H2Stream): void;
  forget(stream: H2Stream): void;
  onDrain(f: () => void): void;
}

const windowMax = 0x7fff_ffff;
/** With more streams of a connection that wait for their peer, each may have less waiting. */
const fullBacklogs = 16;

export class H2Stream {
  readonly id: number;
  take: Take | undefined;
  readonly #connection: StreamCarrier;
  /** When its head came. */
  readonly openedMs: number;
  /** The window is the peer's initial one and this: updates less what was sent. */
  #credit = 0;
  #headSent = false;
  #peerEnded = false;
  #over = false;
  /** What the peer's windows did not let out yet. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** The trailers, sent once all data has been; undefined until the call has an outcome. */
  #trailers: Buffer | undefined;
  #received = 0;
  /** What the body must add up to; -1: not said. */
  #bodyLeft: number;
  /** Bytes of its request, while its call runs whether or not the stream is over. */
  #runningBytes = 0;
  /** It looks at its backlog before it sends. */
  isPaced = false;

  // One is made per call, and so without an object of options.
  constructor(connection: StreamCarrier, id: number, openedMs: number, bodyBytes: number) {
    this.#connection = connection;
    this.id = id;
    this.openedMs = openedMs;
    this.#bodyLeft = bodyBytes;
  }

  get #window(): number {
    return this.#connection.peerStreamWindow + this.#credit;
  }

  get hasPeerEnded(): boolean {
    return this.#peerEnded;
  }

  /** Nothing that is sent from now on would reach the peer. */
  get isClosed(): boolean {
    return this.#over || this.#trailers !== undefined;
  }

  /**
   * When many streams of a connection wait for their windows, each counts as more than it holds; when the
   * whole server holds too much for slow peers, every waiting stream counts as full.
   */
  get backlogBytes(): number {
    const { unsentBytes, account } = this.#connection;
    if (this.#pendingBytes === 0) return unsentBytes;
    if (account.isServerFull) return Number.POSITIVE_INFINITY;
    return this.#pendingBytes * Math.max(1, account.pacedWaiting / fullBacklogs) + unsentBytes;
  }

  onDrain(f: () => void): void {
    this.#connection.onDrain(() => {
      if (this.#over) return;
      // The socket has room, but this stream's own window may still be shut.
      if (this.#pendingBytes > 0) this.#onDrained = f;
      else f();
    });
  }

  #onDrained: (() => void) | undefined;

  sendHead(): void {
    if (this.#headSent || this.isClosed) return;
    this.#headSent = true;
    this.#writeHeaders(grpcHead, 0);
  }

  /** A framed message, which others may be sent too: it is not changed any more. */
  send(frame: Buffer): void {
    if (this.isClosed) return;
    this.sendHead();
    const { length } = frame;
    const free = this.#pending.length === 0;
    if (free && this.#connection.allowance(length, this.#window) === length) {
      this.#credit -= length;
      this.#connection.writeData(this.id, frame);
      return;
    }
    this.#pending.push(frame);
    this.#wait(frame.length);
    this.pump();
  }

  /** So many bytes more, or less, wait for windows. */
  #wait(change: number): void {
    const before = this.#pendingBytes;
    this.#pendingBytes += change;
    this.#connection.account.waiting(
      change,
      this.isPaced,
      (before === 0) !== (this.#pendingBytes === 0),
    );
  }

  /** The whole answer of a unary call in one piece, where windows allow: the usual case. */
  answer(frame: Buffer): void {
    if (this.isClosed) return;
    const fits = this.#connection.allowance(frame.length, this.#window) === frame.length;
    if (this.#headSent || !fits || frame.length > wholeAnswerMax) {
      this.send(frame);
      return this.end(grpcOkTrailers);
    }
    this.#connection.writeWhole(this.id, frame);
    this.#answered();
  }

  /** The same of one message that is in several pieces. */
  answerPieces(pieces: readonly Buffer[]): void {
    const [first] = pieces;
    if (pieces.length === 1) return this.answer(first as Buffer);
    for (const piece of pieces) this.send(piece);
    this.end(grpcOkTrailers);
  }

  /** An answer of plain HTTP; `head` is a block. */
  reply(head: Buffer, body: Buffer): void {
    if (this.isClosed) return;
    this.#headSent = true;
    this.#writeHeaders(head, 0);
    this.send(body);
    this.end(noTrailers);
  }

  /** Trailers, after all data. */
  end(trailers: Buffer): void {
    if (this.isClosed) return;
    this.#trailers = trailers;
    this.pump();
  }

  /** Ends it without an answer. */
  reset(): void {
    if (this.#over) return;
    this.#connection.stopPeer(this.id);
    this.#finish();
  }

  fail(code: number, message: string): void {
    const trailers = grpcTrailers(code, encodeGrpcMessage(message));
    if (this.#headSent) this.end(trailers);
    else if (!this.isClosed) this.end(Buffer.concat([grpcHead, trailers]));
  }

  /** Sends what the windows allow. */
  pump(): void {
    while (this.#pending.length > 0 && !this.#over) {
      const first = this.#pending[0] as Buffer;
      const window = this.#window;
      const allowed = this.#connection.allowance(first.length, window);
      // Without a window of its own, only an update of that helps.
      if (allowed === 0 && first.length > 0) {
        if (window > 0) this.#connection.block(this);
        return;
      }
      this.#connection.writeData(this.id, first.subarray(0, allowed));
      this.#credit -= allowed;
      this.#wait(-allowed);
      if (allowed === first.length) this.#pending.shift();
      else this.#pending[0] = first.subarray(allowed);
    }
    if (this.#trailers !== undefined && !this.#over) {
      this.#writeHeaders(this.#trailers, Flag.endStream);
      this.#answered();
    }
    const drained = this.#onDrained;
    this.#onDrained = undefined;
    drained?.();
  }

  // From the connection.

  /** @returns false when that is more than a window can be. */
  widen(by: number): boolean {
    this.#credit += by;
    if (this.#window > windowMax) return false;
    if (this.#pendingBytes > 0) this.pump();
    return true;
  }

  /** @returns false when the body is not what its head said. */
  bodyFits(bytes: number, last: boolean): boolean {
    if (this.#bodyLeft < 0) return true;
    if (bytes > this.#bodyLeft) return false;
    this.#bodyLeft -= bytes;
    return !last || this.#bodyLeft === 0;
  }

  /** @returns how much of the stream's window to give back to the peer, if it is time to. */
  received(bytes: number, step: number): number {
    this.#received += bytes;
    if (this.#received < step || this.#peerEnded) return 0;
    const renewal = this.#received;
    this.#received = 0;
    return renewal;
  }

  /** What is handed over next is the last of it. */
  peerWillEnd(): void {
    this.#peerEnded = true;
  }

  peerEnded(): void {
    this.#peerEnded = true;
    if (!this.#over) this.take?.ended();
  }

  /** The peer reset it, or is gone. */
  lost(): void {
    this.#finish();
  }

  /** What came with its head has been read. */
  headRead(): void {
    if (!this.#over && !this.#peerEnded) this.take?.waits?.();
  }

  // Of its call.

  /** A message of it is whole. */
  messageTaken(): void {
    this.#connection.account.earn();
  }

  /**
   * The call goes on without its client, until `rest`: till then it keeps the stream's slot, and its
   * request counts.
   */
  run(requestBytes: number): void {
    this.#runningBytes = requestBytes + 1;
    this.#connection.account.run(this.#runningBytes);
  }

  rest(): void {
    const bytes = this.#runningBytes;
    this.#runningBytes = 0;
    if (bytes === 0) return;
    this.#connection.account.rest(bytes);
    if (this.#over) this.#connection.account.streamGone();
  }

  /** Bytes, and frames, that wait for windows. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get pendingFrames(): number {
    return this.#pending.length;
  }

  /** @returns false when the connection's unfinished messages have more room than they may. */
  takeMessageRoom(change: number): boolean {
    return this.#connection.account.takeMessageRoom(change);
  }

  get isServerBusy(): boolean {
    return this.#connection.account.isServerBusy;
  }

  /** Its connection's peer does not take what it asked for: new calls wait for `whenTaken`. */
  get mustWait(): boolean {
    return this.#connection.account.isUnreadFull;
  }

  whenTaken(f: () => void): void {
    this.#connection.account.postpone(f);
  }

  #answered(): void {
    if (!this.#peerEnded) this.#connection.stopPeer(this.id);
    this.#finish();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#pending = [];
    if (this.#pendingBytes > 0) this.#wait(-this.#pendingBytes);
    this.#connection.forget(this);
    if (this.#runningBytes === 0) this.#connection.account.streamGone();
    this.take?.closed();
  }

  #writeHeaders(block: Buffer, flags: number): void {
    const head = frameHead(FrameType.headers, flags | Flag.endHeaders, this.id, block.length);
    this.#connection.write(head);
    this.#connection.write(block);
  }
}

const noTrailers = Buffer.alloc(0);

/** A larger answer is not copied to be joined with its head. */
const wholeAnswerMax = 4096;

/** Head, one message and trailers of a successful unary call. */
export function wholeAnswer(stream: number, frame: Buffer): Buffer {
  const [headers, end] = [Flag.endHeaders, Flag.endHeaders | Flag.endStream];
  const dataAt = frameHeadBytes + grpcHead.length;
  const trailersAt = dataAt + frameHeadBytes + frame.length;
  const bytes = Buffer.allocUnsafe(trailersAt + frameHeadBytes + grpcOkTrailers.length);
  writeFrameHead(bytes, 0, FrameType.headers, headers, stream, grpcHead.length);
  grpcHead.copy(bytes, frameHeadBytes);
  writeFrameHead(bytes, dataAt, FrameType.data, 0, stream, frame.length);
  frame.copy(bytes, dataAt + frameHeadBytes);
  writeFrameHead(bytes, trailersAt, FrameType.headers, end, stream, grpcOkTrailers.length);
  grpcOkTrailers.copy(bytes, trailersAt + frameHeadBytes);
  return bytes;
}
