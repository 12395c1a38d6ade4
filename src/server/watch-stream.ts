/**
 * A watch on its way out: the sink registry fills, and the answer the rim opens.
 *
 *            deliver                 write
 *   registry --------> WatchStream --------> ByteSink (socket)   or ObjectEventSink (direct caller)
 *            <-------- resume       <-------- drained
 *
 * Holds  1. no event is kept here: a batch is written whole or refused whole (until the rim has opened
 *        the stream, and while the socket is full), and `resume` asks again. 2. nothing follows the
 *        end. 3. one write per batch; the block is shared by all watchers that got the same batch.
 * Time   ends cleanly after `timeoutMs`, with a bookmark just before; the periodic ones are registry's.
 */
import type { AnyObject } from "#api/object.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type {
  ByteSink,
  Headers,
  ObjectEvent,
  ObjectEventSink,
  PlainResponse,
} from "#platform/http.ts";
import { toStatus } from "./status.ts";
import {
  type Batch,
  blockBytesMax,
  bookmarkObject,
  type FrameJoiner,
  type StreamItem,
  type WatchFormat,
} from "./watch-frames.ts";

/** What a watch of the registry offers to its reader. */
export interface StreamSource {
  resume(): void;
  bookmark(): void;
  close(): void;
}

export interface WatchStreamDeps {
  readonly clock: Clock;
  readonly joiner: FrameJoiner;
  /** Every open stream, so that a closing server can end them. */
  readonly open: Set<WatchStream>;
  /** Counts what was sent. */
  sent(events: number, bytes: number): void;
}

export interface WatchStreamOptions {
  readonly apiVersion: string;
  readonly kind: string;
  readonly timeoutMs: number;
  readonly allowBookmarks: boolean;
  /** Turns stored objects into the version asked for; for direct callers. */
  readonly convert: (object: AnyObject) => AnyObject;
}

/** As upstream: a bookmark this long before the stream ends by its timeout. */
const lastBookmarkMs = 2_000;

interface Outlet {
  /** False when full. */
  send(items: readonly StreamItem[]): boolean;
  fail(error: unknown): void;
  end(): void;
  onDrain(f: () => void): void;
}

export class WatchStream {
  readonly #deps: WatchStreamDeps;
  readonly #options: WatchStreamOptions;
  #source: StreamSource | undefined;
  #outlet: Outlet | undefined;
  #state: "waiting" | "flowing" | "full" | "ended" = "waiting";
  /** Set when registry ended the watch before the rim opened the stream. */
  #early: { readonly error: unknown } | undefined;
  readonly #timers: Timer[] = [];

  constructor(deps: WatchStreamDeps, options: WatchStreamOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** For registry: false means nothing was kept. */
  deliver(items: readonly StreamItem[]): boolean {
    if (this.#state === "ended") return true;
    if (this.#state !== "flowing" || this.#outlet === undefined) return false;
    if (!this.#outlet.send(items)) this.#fill(this.#outlet);
    return true;
  }

  /** For registry: the watch is over, with an ERROR event when `error` is given. */
  end(error?: unknown): void {
    if (this.#state === "waiting") this.#early = { error };
    else this.#finish(error);
  }

  /** The registry's watch, once it exists. */
  attach(source: StreamSource): void {
    this.#source = source;
  }

  /** The answer for sockets. */
  byteResponse(format: WatchFormat, headers: Headers): PlainResponse {
    const open = (sink: ByteSink): (() => void) => this.#open(this.#byteOutlet(format, sink));
    return { kind: "stream", status: 200, headers, open };
  }

  /** The answer for direct callers: frozen objects, nothing encoded. */
  eventResponse(): PlainResponse {
    const open = (sink: ObjectEventSink): (() => void) => this.#open(this.#eventOutlet(sink));
    return { kind: "events", status: 200, headers: {}, open };
  }

  #open(outlet: Outlet): () => void {
    this.#outlet = outlet;
    this.#state = "flowing";
    this.#deps.open.add(this);
    this.#arm();
    if (this.#early !== undefined) this.#finish(this.#early.error);
    else this.#source?.resume();
    return () => this.#close();
  }

  #arm(): void {
    const { clock } = this.#deps;
    const { timeoutMs, allowBookmarks } = this.#options;
    this.#timers.push(clock.after("server.watch", timeoutMs, () => this.#finish(undefined)));
    if (!allowBookmarks) return;
    const last = (): void => this.#source?.bookmark();
    const delayMs = Math.max(0, timeoutMs - lastBookmarkMs);
    this.#timers.push(clock.after("watch.bookmark", delayMs, last));
  }

  #fill(outlet: Outlet): void {
    this.#state = "full";
    outlet.onDrain(() => {
      if (this.#state !== "full") return;
      this.#state = "flowing";
      this.#source?.resume();
    });
  }

  #finish(error: unknown): void {
    if (this.#state === "ended") return;
    const outlet = this.#outlet;
    this.#close();
    if (error !== undefined) outlet?.fail(error);
    outlet?.end();
  }

  #close(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    for (const timer of this.#timers) timer.cancel();
    this.#deps.open.delete(this);
    this.#source?.close();
  }

  #byteOutlet(format: WatchFormat, sink: ByteSink): Outlet {
    return {
      send: (items) => this.#sendBytes(format, sink, items),
      fail: (error) => void sink.write([format.error(error)]),
      end: () => sink.end(),
      onDrain: (f) => sink.onDrain(f),
    };
  }

  #sendBytes(format: WatchFormat, sink: ByteSink, items: readonly StreamItem[]): boolean {
    const make = (): Batch => this.#batch(format, items);
    const { blocks, bytes } =
      format.shared === true ? this.#deps.joiner.batch(format.key, items, make) : make();
    this.#deps.sent(items.length, bytes);
    let room = true;
    for (const block of blocks) room = sink.write([block]);
    return room;
  }

  #batch(format: WatchFormat, items: readonly StreamItem[]): Batch {
    const blocks: Uint8Array[] = [];
    let frames: Uint8Array[] = [];
    let length = 0;
    let bytes = 0;
    for (const item of items) {
      const frame = this.#frame(format, item);
      if (length + frame.length > blockBytesMax && frames.length > 0) {
        blocks.push(this.#deps.joiner.join(format.key, frames));
        frames = [];
        length = 0;
      }
      frames.push(frame);
      length += frame.length;
      bytes += frame.length;
    }
    if (frames.length > 0) blocks.push(this.#deps.joiner.join(format.key, frames));
    return { blocks, bytes };
  }

  #frame(format: WatchFormat, item: StreamItem): Uint8Array {
    if (item.type !== "BOOKMARK" && item.object !== undefined) {
      return format.event(item.type, item.object);
    }
    return format.bookmark(bookmarkObject(this.#options.apiVersion, this.#options.kind, item));
  }

  #eventOutlet(sink: ObjectEventSink): Outlet {
    const { apiVersion, kind, convert } = this.#options;
    const event = (item: StreamItem): ObjectEvent => ({
      type: item.type,
      object:
        item.object === undefined
          ? bookmarkObject(apiVersion, kind, item)
          : convert(item.object.object),
    });
    return {
      send: (items) => {
        this.#deps.sent(items.length, 0);
        sink.deliver(items.map(event));
        return true;
      },
      fail: (error) => sink.deliver([{ type: "ERROR", object: toStatus(error) }]),
      end: () => sink.end(),
      onDrain: () => {},
    };
  }
}
