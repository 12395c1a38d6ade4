/**
 * A watch on a connection of a client that only reads: chunk frames on the socket, until it ends.
 *
 * Holds  one object per watch, not per connection: a sink kept after its watch has ended is closed, and
 *        cannot affect a later watch of the same connection.
 */
import type { Socket } from "node:net";
import type { ByteSink } from "../../http.ts";
import { frameOf } from "./http1.ts";
import type { Backlog } from "./backlog.ts";
import type { SocketWriter } from "./socket-writer.ts";

/** Owner of the socket; notified when the last chunk has been passed to the socket. */
export interface StreamOwner {
  streamEnds(next: "serve" | "leave"): void;
}

const lastChunk = "0\r\n\r\n";

export class Http1Stream implements ByteSink {
  readonly #socket: Socket;
  readonly #writer: SocketWriter;
  readonly #backlog: Backlog;
  /** Undefined: the stream has ended. */
  #owner: StreamOwner | undefined;

  constructor(socket: Socket, writer: SocketWriter, owner: StreamOwner, backlog: Backlog) {
    this.#backlog = backlog;
    this.#socket = socket;
    this.#writer = writer;
    this.#owner = owner;
  }

  write(chunks: readonly Uint8Array[]): boolean {
    // A stream that has ended writes nothing.
    if (this.#owner === undefined) return true;
    const frame = frameOf(chunks);
    if (this.#writer.write(frame)) return true;
    this.#backlog.add(frame.length);
    return false;
  }

  onDrain(f: () => void): void {
    this.#writer.onDrain(() => {
      this.#backlog.clear();
      f();
    });
  }

  end(): void {
    this.#finish("serve");
  }

  leave(): void {
    this.#finish("leave");
  }

  abort(): void {
    if (this.#owner !== undefined) this.#socket.destroy();
  }

  /** Called when the client has left: the stream writes nothing any more. */
  detach(): void {
    this.#owner = undefined;
  }

  get closed(): boolean {
    return this.#owner === undefined || this.#socket.destroyed || !this.#socket.writable;
  }

  #finish(next: "serve" | "leave"): void {
    if (this.closed) return;
    const owner = this.#owner;
    this.#owner = undefined;
    this.#socket.write(lastChunk, "latin1");
    owner?.streamEnds(next);
  }
}
