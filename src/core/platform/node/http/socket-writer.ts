/**
 * Writes of whole blocks to one socket, for crowds: what is written is kept and sent, in order.
 *
 * Direct  a plain socket with nothing waiting gives a block to its handle, which tries write(2) at once:
 *         no callback, no stream bookkeeping, no exception when the kernel has no room. What the
 *         kernel does not take libuv keeps and sends; until it is gone the writer is full.
 * Queued  everything else (TLS, sockets and hosts that look different): `socket.write`.
 *
 * Why this is safe: the handle is internal (docs/adr/0009), so Node itself is asked once how it calls
 * it. A handle is its socket's for good, and one that was closed refuses.
 * Bytes the stream still holds for the socket (a head, a rest) always go first: then nothing is direct.
 * Fast    a crowd's memory is cold, and each object looked at per write is a wait: the socket itself is
 *         not, which is a quarter of what our own code takes of a delivery.
 */
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getSystemErrorName } from "node:util";

export interface SocketWriter {
  /** @returns false when full: write no more until `onDrain`. The block given is kept and sent. */
  write(block: Uint8Array): boolean;
  /** Calls `f` once when there is room again. It keeps one function: that of the stream whose write returned false. */
  onDrain(f: () => void): void;
}

/** The part of Node's stream handle that is used here. */
interface Handle {
  /** @returns 0: taken whole; below 0: negative error code; undefined: the handle is closed; else the write that waits with a rest. */
  writeBuffer(request: null, block: Uint8Array): number | undefined | PendingWrite;
}

/** The stream's count of the bytes it holds. */
interface Held {
  readonly length: number;
}

/** A write that waits, as node:net fills it in. */
interface PendingWrite {
  /** Keeps the buffer alive until it is sent. */
  buffer?: Uint8Array;
  oncomplete?: (status: number) => void;
  /** Not null: the write was done before `oncomplete` was set, so the caller must call `oncomplete` itself. */
  writeStatus?: number | null;
}

export function socketWriter(socket: Socket): SocketWriter {
  return directWriter(socket) ?? new QueuedWriter(socket);
}

/** Returns a writer that bypasses the stream; undefined when blocks must be written through the stream. */
export function directWriter(socket: Duplex): SocketWriter | undefined {
  if (!(socket instanceof Socket)) return undefined;
  const handle = directHandle(socket);
  return handle === undefined ? undefined : new DirectWriter(socket, handle);
}

/** Undefined when Node's internals differ from those that direct writing relies on. This is the only feature test. */
export function directHandle(socket: Socket): Handle | undefined {
  // A TLSSocket's handle works differently, and so may any other subclass.
  if (Object.getPrototypeOf(socket) !== Socket.prototype) return undefined;
  const handle = handleOf(socket);
  if (typeof handle !== "object" || handle === null || !("writeBuffer" in handle)) return undefined;
  writesAlone ??= seenWritingAlone(socket, handle);
  return writesAlone === true ? (handle as Handle) : undefined;
}

/** Returns Node's internal count, which is cheaper to read; where Node has none, one that asks the socket. */
function heldBy(socket: Socket): Held {
  const { _writableState: state } = socket as unknown as { _writableState?: Partial<Held> };
  if (typeof state?.length === "number") return state as Held;
  return {
    get length() {
      return socket.writableLength;
    },
  };
}

function handleOf(socket: Socket): unknown {
  // Missing in the types because it is internal.
  return (socket as unknown as { _handle?: unknown })._handle;
}

/** Whether this version of Node writes blocks without a request object; undefined: not known yet. */
let writesAlone: boolean | undefined;

/** Observes how Node writes an empty block. Undefined when Node delays the write, as on a stream that waits. */
function seenWritingAlone(socket: Socket, handle: { writeBuffer?: unknown }): boolean | undefined {
  const own = handle.writeBuffer;
  if (typeof own !== "function") return false;
  let alone: boolean | undefined;
  handle.writeBuffer = (...given: unknown[]): unknown => {
    alone = given.length === 2 && given[0] === null;
    return Reflect.apply(own, handle, given);
  };
  socket.write(new Uint8Array(0));
  delete handle.writeBuffer;
  return alone;
}

class DirectWriter implements SocketWriter {
  readonly #socket: Socket;
  readonly #handle: Handle;
  readonly #held: Held;
  /** Number of writes that wait for room in the kernel. */
  #waiting = 0;
  #drained: (() => void) | undefined;

  constructor(socket: Socket, handle: Handle) {
    this.#socket = socket;
    this.#handle = handle;
    this.#held = heldBy(socket);
  }

  write(block: Uint8Array): boolean {
    if (this.#waiting > 0 || this.#held.length > 0) return this.#queue(block);
    const answer = this.#handle.writeBuffer(null, block);
    if (answer === 0 || answer === undefined) return true;
    return typeof answer === "number" ? this.#gone(answer) : this.#wait(answer, block);
  }

  onDrain(f: () => void): void {
    this.#drained = f;
  }

  #queue(block: Uint8Array): false {
    this.#waiting++;
    this.#socket.write(block, this.#taken);
    return false;
  }

  #wait(pending: PendingWrite, block: Uint8Array): false {
    this.#waiting++;
    pending.buffer = block;
    pending.oncomplete = this.#done;
    if (typeof pending.writeStatus === "number") this.#done(pending.writeStatus);
    return false;
  }

  readonly #done = (status: number): void => {
    if (status < 0) this.#gone(status);
    this.#taken();
  };

  readonly #taken = (): void => {
    if (--this.#waiting > 0) return;
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.();
  };

  /** The other end has closed: behaves as a failed write of Node's own. */
  #gone(status: number): true {
    if (this.#socket.destroyed) return true;
    const code = getSystemErrorName(status);
    this.#socket.destroy(Object.assign(new Error(`write ${code}`), { code, errno: status }));
    return true;
  }
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
