/**
 * A socket as a tunnel's end: raw bytes, backpressure both ways, half-close in either direction.
 *
 * Holds  bytes received behind the head are read first; a peer that vanished silently is detected by TCP
 *        keep-alive, because a shell may be silent for hours.
 */
import type { Duplex } from "node:stream";
import { Socket } from "node:net";
import type { ByteDuplex, TakeChunk } from "../../http.ts";
import type { Backlog } from "./backlog.ts";
import { streamReadable } from "./http-body.ts";

const keepAliveMs = 60_000;

export class SocketDuplex implements ByteDuplex {
  readonly #socket: Duplex;
  readonly #backlog: Backlog | undefined;

  /** `backlog`: for a tunnel to a client of ours. Absent: this process opened the tunnel to the other end. */
  constructor(socket: Duplex, head: Uint8Array, backlog?: Backlog) {
    this.#socket = socket;
    this.#backlog = backlog;
    socket.on("error", () => socket.destroy());
    if (socket instanceof Socket) socket.setTimeout(0).setKeepAlive(true, keepAliveMs);
    if (head.length > 0) socket.unshift(head);
  }

  get closed(): boolean {
    return this.#socket.destroyed || this.#socket.writableEnded;
  }

  stream(take: TakeChunk): Promise<void> {
    return streamReadable(this.#socket, take);
  }

  write(chunks: readonly Uint8Array[]): boolean {
    if (this.closed) return true;
    for (const chunk of chunks) {
      if (!this.#socket.write(chunk)) this.#backlog?.add(chunk.length);
    }
    return !this.#socket.writableNeedDrain;
  }

  /** A closed socket never drains, so its waiting functions are called at once. */
  onDrain(f: () => void): void {
    const once = (): void => {
      this.#socket.off("drain", once).off("close", once);
      this.#backlog?.clear();
      f();
    };
    this.#socket.on("drain", once).on("close", once);
  }

  end(): void {
    this.#socket.end();
  }

  abort(): void {
    this.#socket.destroy();
  }
}
