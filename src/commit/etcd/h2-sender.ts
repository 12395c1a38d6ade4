/**
 * The sending side of one connection: all frames of one turn of the loop go out as one write.
 *
 * Holds  frames go out in the order in which they were passed in; nothing is sent after `close`.
 */
import type { Duplex } from "node:stream";
import { directWriter, type SocketWriter } from "#platform/node/http/socket-writer.ts";
import { pieces } from "#wire/buffer-pool.ts";
import { Outbox, sent, type Outgoing } from "./outbox.ts";

/** Small frames are joined into one buffer up to this size; larger ones are passed on without a copy. */
const joinBytesMax = 64 * 1024;

interface SenderEvents {
  /** Called before this many bytes are written. */
  flushing(bytes: number): void;
  flushed(): void;
  /** Called when the socket has taken everything or has room again. */
  drained(): void;
}

export class H2Sender {
  readonly #socket: Duplex;
  readonly #events: SenderEvents;
  readonly #out = new Outbox();
  /** Writes output that is in one piece directly, where the socket supports it. */
  readonly #direct: SocketWriter | undefined;
  readonly #waitingForDrain = new Set<() => void>();
  #dataBytes = 0;
  #flushing = false;
  #closed = false;

  constructor(socket: Duplex, events: SenderEvents) {
    this.#socket = socket;
    this.#events = events;
    this.#direct = directWriter(socket);
    socket.on("drain", () => this.#drained());
  }

  /** Bytes that the socket has not taken yet. */
  get unsentBytes(): number {
    return this.#out.bytes + this.#socket.writableLength;
  }

  /** Bytes of data frames taken by the socket; slightly less when other frames wait with them. */
  get takenBytes(): number {
    return this.#dataBytes - this.unsentBytes;
  }

  /** Takes ownership of whole frames. */
  write(bytes: Buffer): void {
    if (this.#closed) return;
    this.#out.push(bytes);
    this.#flushLater();
  }

  /** Sends data frames of at most `step` bytes. The bytes must not change. */
  writeData(stream: number, bytes: Buffer, step: number): void {
    if (this.#closed) return;
    this.#dataBytes += bytes.length;
    if (bytes.length <= step) this.#out.dataFrame(stream, bytes);
    else {
      for (let at = 0; at < bytes.length; at += step) {
        this.#out.dataFrame(stream, bytes.subarray(at, at + step));
      }
    }
    this.#flushLater();
  }

  /** Calls `f` once, when the socket has room. */
  onDrain(f: () => void): void {
    this.#waitingForDrain.add(f);
    if (!this.#flushing) this.#checkDrained();
  }

  flush(): void {
    this.#events.flushing(this.#out.bytes);
    this.#flushing = false;
    const out = this.#out.take();
    if (this.#socket.destroyed) return;
    if (out.parts.length > 0) this.#send(out);
    this.#events.flushed();
    this.#checkDrained();
  }

  close(): void {
    this.#closed = true;
    this.#waitingForDrain.clear();
  }

  #flushLater(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    process.nextTick(() => this.flush());
  }

  #send(out: Outgoing): void {
    const { parts, bytes } = out;
    const copied = parts.length > 1;
    if (bytes > joinBytesMax || (!copied && this.#direct === undefined))
      return this.#sendParts(out);
    const whole = copied ? Buffer.concat(parts, bytes) : (parts[0] as Buffer);
    const writer = this.#direct ?? this.#socket;
    // Buffers that have to wait and are not copies are left to the garbage collector.
    if (writer.write(whole) || copied) taken(out);
  }

  #sendParts(out: Outgoing): void {
    const { parts } = out;
    const last = parts.length - 1;
    this.#socket.cork();
    for (let i = 0; i < last; i++) this.#socket.write(parts[i]);
    this.#socket.write(parts[last], (error) => {
      // After a lost connection the buffers may still be referenced.
      if (!error) taken(out);
    });
    this.#socket.uncork();
  }

  /** Calls waiters in a later turn, because a socket that took everything emits no event. */
  #checkDrained(): void {
    if (this.#waitingForDrain.size === 0 || this.#socket.writableNeedDrain) return;
    setImmediate(() => this.#drained());
  }

  #drained(): void {
    if (this.#closed) return;
    this.#events.drained();
    const waiting = [...this.#waitingForDrain];
    this.#waitingForDrain.clear();
    for (const f of waiting) f();
  }
}

/** Returns the blocks: the host has taken or copied the bytes. */
function taken(out: Outgoing): void {
  pieces.sent(out.parts);
  sent(out);
}
