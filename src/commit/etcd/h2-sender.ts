/**
 * What one connection sends: all of a turn of the loop goes out as one write.
 *
 * Holds  frames go out in the order in which they were given; nothing is sent after `close`.
 */
import type { Duplex } from "node:stream";
import { directWriter, type SocketWriter } from "#platform/node/http/socket-writer.ts";
import { pieces } from "#wire/buffer-pool.ts";
import { Outbox, sent, type Outgoing } from "./outbox.ts";

/** Small frames are joined into one buffer up to this size; larger ones are handed on as they are. */
const joinBytesMax = 64 * 1024;

interface SenderEvents {
  /** So many bytes are about to be written. */
  flushing(bytes: number): void;
  flushed(): void;
  /** The socket took everything, or has room again. */
  drained(): void;
}

export class H2Sender {
  readonly #socket: Duplex;
  readonly #events: SenderEvents;
  readonly #out = new Outbox();
  /** Where the socket allows it, for what goes out in one piece. */
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

  /** Of all data frames so far, what the socket took; a little less, when other frames wait with them. */
  get takenBytes(): number {
    return this.#dataBytes - this.unsentBytes;
  }

  /** Whole frames. Given. */
  write(bytes: Buffer): void {
    if (this.#closed) return;
    this.#out.push(bytes);
    this.#flushLater();
  }

  /** As data frames of at most `step` bytes. Not changed any more. */
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

  /** A socket that took everything emits no event, so waiters are called in a later turn. */
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

/** The bytes were taken by the host, or copied. */
function taken(out: Outgoing): void {
  pieces.sent(out.parts);
  sent(out);
}
