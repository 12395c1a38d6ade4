/**
 * The incoming messages of one call. Incomplete messages are counted, for their connection and for
 * all connections, and must be complete by a deadline.
 */
import { Deframer } from "#wire/grpc.ts";
import type { H2Stream } from "./h2-stream.ts";
import { noRoom, type ServerLoad, type Unfinished } from "./server-load.ts";

export interface InboxLimits {
  readonly messageBytesMax: number;
  readonly messageRoomBytesMax: number;
}

export class Inbox implements Unfinished {
  dueMs = 0;
  roomBytes = 0;
  readonly fail: (error: unknown) => void;
  readonly #stream: H2Stream;
  readonly #load: ServerLoad;
  readonly #limits: InboxLimits;
  readonly #deframer: Deframer;
  /** Bytes counted towards the connection; 0 when no message is expected. */
  #counted = 0;
  #awaited = false;

  constructor(
    deps: { stream: H2Stream; load: ServerLoad; fail: (error: unknown) => void },
    limits: InboxLimits,
    encoding: string,
  ) {
    this.#stream = deps.stream;
    this.#load = deps.load;
    this.fail = deps.fail;
    this.#limits = limits;
    this.#deframer = new Deframer(limits.messageBytesMax, encoding);
  }

  /** Whether bytes of an unfinished message are held. */
  get hasPartialMessage(): boolean {
    return this.#deframer.hasPartialMessage;
  }

  /** Calls `take` with each message that is complete. Throws GrpcError. */
  push(bytes: Buffer, take: (message: Buffer) => void): void {
    this.#deframer.push(bytes, take);
    if (!this.#deframer.hasPartialMessage || this.#stream.isClosed) {
      if (this.#awaited) this.forget();
      return;
    }
    this.await();
    const { roomBytes } = this.#deframer;
    const change = roomBytes - this.#counted;
    if (change === 0) return;
    this.#counted = roomBytes;
    if (!this.#stream.takeMessageRoom(change)) {
      throw noRoom("a connection's unfinished messages", this.#limits.messageRoomBytesMax);
    }
    this.#load.giveRoom(this, roomBytes);
  }

  /** Expects a message, which may have begun already. */
  await(): void {
    this.#awaited = true;
    this.#load.awaitMessage(this);
  }

  /** Discards the held part of a message. */
  forget(): void {
    this.#awaited = false;
    this.#deframer.drop();
    if (this.#counted > 0) this.#stream.takeMessageRoom(-this.#counted);
    this.#counted = 0;
    this.#load.forget(this);
  }
}
