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
  /** The client's data that arrived with the head has been read, and the client may send more. */
  waits?(): void;
  ended(): void;
  closed(): void;
}

/** The part of `H2Connection` that a stream uses. */
interface StreamCarrier {
  readonly account: PeerAccount;
  /** Bytes that the socket has not taken yet. */
  readonly unsentBytes: number;
  readonly peerStreamWindow: number;
  /** Sends bytes that form whole frames. */
  write(bytes: Buffer): void;
  /** How many of `wanted` data bytes may be sent now on a stream with this window. */
  allowance(wanted: number, streamWindow: number): number;
  /** Sends one message as data frames within the allowance that the caller obtained. The bytes must not change. */
  writeData(stream: number, bytes: Buffer): void;
  /** Sends a whole unary answer within the allowance that the caller obtained. */
  writeWhole(stream: number, frame: Buffer): void;
  /** Asks the peer to stop sending: the answer is complete. */
  stopPeer(stream: number): void;
  /** Registers a stream with data blocked by the connection's window; `pump` is called when the window opens. */
  block(stream: H2Stream): void;
  forget(stream: H2Stream): void;
  onDrain(f: () => void): void;
}

const windowMax = 0x7fff_ffff;
/** When a connection has more streams waiting for their peer, each of them gets a smaller backlog. */
const fullBacklogs = 16;

export class H2Stream {
  readonly id: number;
  take: Take | undefined;
  readonly #connection: StreamCarrier;
  /** Time when the head arrived. */
  readonly openedMs: number;
  /** The stream's window is the peer's initial window plus this: updates minus data sent. */
  #credit = 0;
  #headSent = false;
  #peerEnded = false;
  #over = false;
  /** Data blocked by the peer's windows. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** The trailers, sent after all data; undefined until the call has an outcome. */
  #trailers: Buffer | undefined;
  #received = 0;
  /** Bytes of the body still to come according to its head; -1: unknown. */
  #bodyLeft: number;
  /** Bytes of its request while the call runs, even if the stream has ended. */
  #runningBytes = 0;
  /** Whether the sender checks the backlog before it sends. */
  isPaced = false;

  // Takes positional arguments, because one stream is made per call.
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

  /** Whether data sent from now on cannot reach the peer. */
  get isClosed(): boolean {
    return this.#over || this.#trailers !== undefined;
  }

  /**
   * Bytes that wait to be sent. When many streams of a connection wait for their windows, each counts as more than it
   * holds. When the whole server holds too much for slow peers, every waiting stream counts as full.
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
      // The socket has room, but the stream's own window may still be closed.
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

  /** Sends a framed message. The frame may be shared with other streams and must not change. */
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

  /** Changes the number of bytes that wait for windows. */
  #wait(change: number): void {
    const before = this.#pendingBytes;
    this.#pendingBytes += change;
    this.#connection.account.waiting(
      change,
      this.isPaced,
      (before === 0) !== (this.#pendingBytes === 0),
    );
  }

  /** Sends a unary answer in one piece if the windows allow, which is the common case. */
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

  /** The same for a message in several pieces. */
  answerPieces(pieces: readonly Buffer[]): void {
    const [first] = pieces;
    if (pieces.length === 1) return this.answer(first as Buffer);
    for (const piece of pieces) this.send(piece);
    this.end(grpcOkTrailers);
  }

  /** Sends a plain HTTP answer; `head` is an encoded header block. */
  reply(head: Buffer, body: Buffer): void {
    if (this.isClosed) return;
    this.#headSent = true;
    this.#writeHeaders(head, 0);
    this.send(body);
    this.end(noTrailers);
  }

  /** Sends the trailers after all data. */
  end(trailers: Buffer): void {
    if (this.isClosed) return;
    this.#trailers = trailers;
    this.pump();
  }

  /** Ends the stream without an answer. */
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

  /** Sends as much as the windows allow. */
  pump(): void {
    while (this.#pending.length > 0 && !this.#over) {
      const first = this.#pending[0] as Buffer;
      const window = this.#window;
      const allowed = this.#connection.allowance(first.length, window);
      // If the stream's own window is closed, only an update of that window helps.
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

  // --- called by the connection ---

  /** @returns false when the window would exceed HTTP/2's maximum. */
  widen(by: number): boolean {
    this.#credit += by;
    if (this.#window > windowMax) return false;
    if (this.#pendingBytes > 0) this.pump();
    return true;
  }

  /** @returns false when the body's length contradicts its head. */
  bodyFits(bytes: number, last: boolean): boolean {
    if (this.#bodyLeft < 0) return true;
    if (bytes > this.#bodyLeft) return false;
    this.#bodyLeft -= bytes;
    return !last || this.#bodyLeft === 0;
  }

  /** @returns the window to give back to the peer now, if any. */
  received(bytes: number, step: number): number {
    this.#received += bytes;
    if (this.#received < step || this.#peerEnded) return 0;
    const renewal = this.#received;
    this.#received = 0;
    return renewal;
  }

  /** The next data is the last. */
  peerWillEnd(): void {
    this.#peerEnded = true;
  }

  peerEnded(): void {
    this.#peerEnded = true;
    if (!this.#over) this.take?.ended();
  }

  /** The peer reset the stream, or the connection was lost. */
  lost(): void {
    this.#finish();
  }

  /** The bytes that arrived with the head have been read. */
  headRead(): void {
    if (!this.#over && !this.#peerEnded) this.take?.waits?.();
  }

  // --- called by the call ---

  /** A message is complete. */
  messageTaken(): void {
    this.#connection.account.earn();
  }

  /**
   * Notes that the call may run on without its client, until `rest`. Until then it keeps the stream's slot, and its
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

  /** Bytes and frames that wait for windows. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get pendingFrames(): number {
    return this.#pending.length;
  }

  /** @returns false when the connection's incomplete messages exceed their limit. */
  takeMessageRoom(change: number): boolean {
    return this.#connection.account.takeMessageRoom(change);
  }

  get isServerBusy(): boolean {
    return this.#connection.account.isServerBusy;
  }

  /** Whether new calls have to wait for `whenTaken`, because the peer does not read. */
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

/** Larger answers are not copied to be joined with their head. */
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
