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
import type { H2Connection } from "./h2-connection.ts";

/** Who gets what comes from the client. */
export interface Take {
  /** Borrowed until return. */
  data(bytes: Buffer): void;
  ended(): void;
  closed(): void;
}

export class H2Stream {
  readonly id: number;
  take: Take | undefined;
  readonly #connection: H2Connection;
  #window: number;
  #headSent = false;
  #peerEnded = false;
  #over = false;
  /** What the peer's windows did not let out yet. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** To be sent once all data is out. */
  #trailers: Buffer | undefined;
  #received = 0;

  constructor(connection: H2Connection, id: number) {
    this.#connection = connection;
    this.id = id;
    this.#window = connection.peerStreamWindow;
  }

  /** Nothing that is sent from now on would reach the peer. */
  get closed(): boolean {
    return this.#over || this.#trailers !== undefined;
  }

  get backlogBytes(): number {
    return this.#pendingBytes + this.#connection.unsentBytes;
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
    if (this.#headSent || this.closed) return;
    this.#headSent = true;
    this.#writeHeaders(grpcHead, 0);
  }

  /** A framed message, which others may be sent too: it is not changed any more. */
  send(frame: Buffer): void {
    if (this.closed) return;
    this.sendHead();
    const { length } = frame;
    const free = this.#pending.length === 0;
    if (free && this.#connection.allowance(length, this.#window) === length) {
      this.#window -= length;
      this.#connection.writeData(this.id, frame);
      return;
    }
    this.#pending.push(frame);
    this.#pendingBytes += frame.length;
    this.pump();
  }

  /** The whole answer of a unary call in one piece, where windows allow: the usual case. */
  answer(frame: Buffer): void {
    if (this.closed) return;
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
    if (this.closed) return;
    this.#headSent = true;
    this.#writeHeaders(head, 0);
    this.send(body);
    this.end(noTrailers);
  }

  /** Trailers, after all data. */
  end(trailers: Buffer): void {
    if (this.closed) return;
    this.#trailers = trailers;
    this.pump();
  }

  fail(code: number, message: string): void {
    const trailers = grpcTrailers(code, encodeGrpcMessage(message));
    if (this.#headSent) this.end(trailers);
    else if (!this.closed) this.end(Buffer.concat([grpcHead, trailers]));
  }

  /** Sends what the windows allow. */
  pump(): void {
    while (this.#pending.length > 0 && !this.#over) {
      const first = this.#pending[0] as Buffer;
      const allowed = this.#connection.allowance(first.length, this.#window);
      if (allowed === 0) return this.#connection.block(this);
      this.#connection.writeData(this.id, first.subarray(0, allowed));
      this.#window -= allowed;
      this.#pendingBytes -= allowed;
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

  widen(by: number): void {
    this.#window += by;
    if (this.#pendingBytes > 0) this.pump();
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

  #answered(): void {
    if (!this.#peerEnded) this.#connection.stopPeer(this.id);
    this.#finish();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#connection.forget(this);
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
export const wholeAnswerMax = 4096;

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
