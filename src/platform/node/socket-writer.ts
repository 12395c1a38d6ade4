/**
 * Writes of whole blocks to one socket, for crowds: what is written is kept and sent, in order.
 *
 * Direct  a plain TCP socket with nothing waiting takes a block with one write(2) on its descriptor:
 *         no request object, no callback, no stream bookkeeping. What the kernel does not take goes
 *         the ordinary way, so libuv waits for room; until it is gone the writer is full.
 * Queued  everything else (TLS, pipes, hosts without descriptors): `socket.write`.
 *
 * Why this is safe: the descriptor is internal (docs/adr/0009), so each write checks that the handle
 * it was read from is still the socket's own. Node closes a descriptor only after it took the handle
 * away, in the same turn; a descriptor that was closed, or given to another socket, is never written.
 * Bytes Node still holds for the socket (a head, a rest) always go first: then nothing is direct.
 */
import { writeSync } from "node:fs";
import { Socket } from "node:net";

export interface SocketWriter {
  /** False when full: stop until `onDrain`. What was given is kept and sent. */
  write(block: Uint8Array): boolean;
  /** Calls `f` once when there is room again. One waiter: the stream that was refused. */
  onDrain(f: () => void): void;
}

/** The part of Node's TCP handle that is used. Its `fd` is -1 where the host has none. */
interface Handle {
  readonly fd: number;
}

export function socketWriter(socket: Socket): SocketWriter {
  const handle = directHandle(socket);
  return handle === undefined ? new QueuedWriter(socket) : new DirectWriter(socket, handle);
}

/** Undefined where Node looks different from what the direct way relies on: the one feature test. */
export function directHandle(socket: Socket): Handle | undefined {
  // A TLSSocket's descriptor takes records, not text.
  if (Object.getPrototypeOf(socket) !== Socket.prototype) return undefined;
  const handle = handleOf(socket);
  if (typeof handle !== "object" || handle === null || !("fd" in handle)) return undefined;
  const { fd } = handle;
  return typeof fd === "number" && fd >= 0 ? (handle as Handle) : undefined;
}

function handleOf(socket: Socket): unknown {
  // Not in the types because it is internal.
  return (socket as unknown as { _handle?: unknown })._handle;
}

class DirectWriter implements SocketWriter {
  readonly #socket: Socket;
  readonly #handle: Handle;
  readonly #fd: number;
  /** Writes that wait for the kernel to have room. */
  #waiting = 0;
  #drained: (() => void) | undefined;

  constructor(socket: Socket, handle: Handle) {
    this.#socket = socket;
    this.#handle = handle;
    this.#fd = handle.fd;
  }

  write(block: Uint8Array): boolean {
    const socket = this.#socket;
    if (handleOf(socket) !== this.#handle) return true;
    if (this.#waiting > 0 || socket.writableLength > 0) return this.#queue(block);
    let taken = 0;
    try {
      taken = writeSync(this.#fd, block, 0, block.length);
    } catch (error) {
      if (!isFull(error)) return this.#gone(error);
    }
    if (taken === block.length) return true;
    return this.#queue(taken === 0 ? block : block.subarray(taken));
  }

  onDrain(f: () => void): void {
    this.#drained = f;
  }

  #queue(rest: Uint8Array): false {
    this.#waiting++;
    this.#socket.write(rest, this.#taken);
    return false;
  }

  readonly #taken = (): void => {
    if (--this.#waiting > 0) return;
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.();
  };

  /** The other end is gone: as a failed write of Node's own. */
  #gone(error: unknown): true {
    this.#socket.destroy(error instanceof Error ? error : undefined);
    return true;
  }
}

function isFull(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "EAGAIN" || code === "EWOULDBLOCK" || code === "EINTR";
}

class QueuedWriter implements SocketWriter {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  write(block: Uint8Array): boolean {
    return this.#socket.write(block);
  }

  onDrain(f: () => void): void {
    this.#socket.once("drain", f);
  }
}
