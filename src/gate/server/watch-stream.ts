/**
 * The output side of a watch: the sink that the registry fills, and the answer that the transport opens.
 *
 *            deliver                 write
 *   registry --------> WatchStream --------> ByteSink (socket)   or ObjectEventSink (direct caller)
 *            <-------- resume       <-------- drained
 *
 * Holds  1. No event is kept here: a batch is written whole or refused whole, and `resume` asks for it again. It is
 *        refused until the transport has opened the stream, and while the socket is full. 2. Nothing follows the end.
 *        3. One write per batch; all watchers with the same batch share the block. 4. A batch with objects that are not
 *        ready to be shown is refused, and asked for again when they are ready: events stay in order, and none is lost.
 *        5. So is a batch for which this turn of the loop has no more time (stream-turns.ts).
 * Time   ends cleanly after `timeoutMs`, with a bookmark just before. The registry sends the periodic bookmarks.
 */
import { toStatus } from "#api/status.ts";
import type { AnyObject } from "#api/object.ts";
import type { Clock } from "#platform/clock.ts";
import { Deadlines, type DeadlineStep, type Expiring } from "#platform/deadlines.ts";
import type {
  BeginningListener,
  ByteSink,
  Headers,
  ObjectEvent,
  ObjectEventSink,
  PlainResponse,
} from "#platform/http.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { CounterCell } from "#metrics/metric-set.ts";
import {
  type Batch,
  blockBytesMax,
  bookmarkObject,
  type FrameJoiner,
  type StreamItem,
  type WatchFormat,
} from "#forms/watch-frames.ts";
import type { StreamTurns } from "./stream-turns.ts";

/** The interface of a registry's watch for its reader. */
interface StreamSource {
  resume(): void;
  bookmark(): void;
  close(): void;
}

/** Dependencies that all streams of one frontend share. */
export interface WatchStreamDeps {
  readonly deadlines: Deadlines;
  readonly joiner: FrameJoiner;
  readonly turns: StreamTurns;
  /** All open streams, so that a closing server can end them. */
  readonly open: WatchRegister;
  /** Counters of sent events and bytes. */
  readonly sent: { readonly events: CounterCell; readonly bytes: SentBytes };
}

interface SentBytes {
  /** `bytes`: total size of `events` events. */
  observeTogether(bytes: number, events: number): void;
}

export interface WatchRegister {
  add(stream: WatchStream): void;
  delete(stream: WatchStream): void;
}

interface WatchStreamOptions {
  readonly apiVersion: string;
  readonly kind: string;
  /** Name of the caller whose time the stream uses. Absent: no known caller. */
  readonly caller?: string;
  readonly timeoutMs: number;
  readonly allowBookmarks: boolean;
  /** Whether the initial state ends with a bookmark with `initialEventsEnd`. */
  readonly hasEndOfInitialEvents?: boolean;
  /** Called once, when the bookmark that ends the initial events is written. */
  readonly initialEventsSent?: () => void;
  /** Whether the format differs from the stored bytes, so that each object is encoded (`WatchSink`). */
  readonly isMaking?: boolean;
  /** Converts stored objects to the requested version, for direct callers. */
  readonly convert: (cached: CachedObject) => AnyObject;
  /** Prepares objects before they can be shown. Absent: they need no preparation. */
  readonly prepared?: {
    isReady(cached: CachedObject): boolean;
    hold(objects: readonly CachedObject[]): Promise<Disposable>;
  };
}

/** Time of the last bookmark before a stream ends by its timeout, as upstream. */
const lastBookmarkMs = 2_000;

/** The deadlines of a server's streams. A watch may last up to one step longer than requested. */
export function streamDeadlines(clock: Clock): Deadlines {
  return new Deadlines(clock, { name: "server.watch", stepMs: 50 });
}

/** Number of items from which a batch counts as long. Initial batches have 250; live ones rarely have 125. */
const longBatchItems = 125;

/** The output of a stream. Bytes and objects have a class each, so that the hot call stays fast with two shapes. */
interface Outlet {
  /** Whether sending takes long, because bytes are encrypted and copied. */
  readonly takesTurns: boolean;
  /** @returns false when full. */
  send(items: readonly StreamItem[]): boolean;
  fail(error: unknown): void;
  end(): void;
  leave(): void;
  onDrain(f: () => void): void;
}

export class WatchStream implements Expiring {
  readonly #deps: WatchStreamDeps;
  readonly #options: WatchStreamOptions;
  #source: StreamSource | undefined;
  #outlet: Outlet | undefined;
  #state: "waiting" | "flowing" | "full" | "ended" = "waiting";
  /** Set when the registry ended the watch before the HTTP layer opened the stream. */
  #early: { readonly error: unknown } | undefined;
  #deadline: DeadlineStep | undefined;
  /** Prepared objects of the next batch. */
  #held: Disposable | undefined;
  /** Listener for the progress of the initial events; undefined once they are sent. */
  #beginning: BeginningListener | undefined;
  #initialEventsSent: (() => void) | undefined;
  /** Action at the deadline. */
  #due: "bookmark" | "end" = "end";

  constructor(deps: WatchStreamDeps, options: WatchStreamOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#initialEventsSent = options.initialEventsSent;
  }

  get isMaking(): boolean {
    return this.#options.isMaking === true;
  }

  /** Called by the registry. @returns false when the batch was not accepted. */
  deliver(items: readonly StreamItem[]): boolean {
    if (this.#state !== "flowing" || this.#outlet === undefined) return this.#state === "ended";
    if (this.#options.prepared !== undefined && this.#awaits(items)) return false;
    if (this.#outlet.takesTurns && this.#awaitsTurn(items)) return false;
    try {
      const isLong = items.length >= longBatchItems;
      if (!this.#outlet.send(items)) this.#fill(this.#outlet, isLong);
      else if (isLong) this.#rest();
      if (this.#held !== undefined) this.#drop();
      if (this.#beginning !== undefined) this.#began(items);
      if (this.#initialEventsSent !== undefined) this.#noteEnd(items);
    } catch (error) {
      // An object that cannot be shown in this form ends only this stream, with an ERROR event.
      this.#finish(error);
    }
    return true;
  }

  /** @returns whether the batch must wait for its objects; it is requested again when they are ready. */
  #awaits(items: readonly StreamItem[]): boolean {
    const { prepared } = this.#options;
    const objects = items.flatMap(({ object }) => object ?? []);
    if (prepared === undefined || objects.every((one) => prepared.isReady(one))) return false;
    this.#state = "full";
    prepared.hold(objects).then(
      (held) => {
        this.#drop();
        this.#held = held;
        if (this.#state === "ended") this.#drop();
        else this.#flow();
      },
      (error: unknown) => this.#finish(error),
    );
    return true;
  }

  /** @returns whether the batch must wait for a turn. Bookmarks never wait: they are small and not requested again. */
  #awaitsTurn(items: readonly StreamItem[]): boolean {
    if (items[0]?.type === "BOOKMARK" || this.#deps.turns.hasTime()) return false;
    this.#state = "full";
    this.#deps.turns.later(this, this.#options.caller ?? "", () => this.#flow());
    return true;
  }

  #drop(): void {
    this.#held?.[Symbol.dispose]();
    this.#held = undefined;
  }

  /** Leaves the next batch to another turn of the loop: an initial state may have a hundred batches. */
  #rest(): void {
    if (this.#state === "ended") return;
    this.#state = "full";
    this.#deps.deadlines.turn(() => this.#flow());
  }

  #flow(): void {
    if (this.#state !== "full") return;
    this.#state = "flowing";
    this.#resume();
  }

  /** Resumes the source. If the stream then flows, the initial events are sent; with `initialEventsEnd` the bookmark marks that. */
  #resume(): void {
    this.#source?.resume();
    if (this.#beginning === undefined || this.#options.hasEndOfInitialEvents === true) return;
    if (this.#state === "flowing") this.#begun();
  }

  #began(items: readonly StreamItem[]): void {
    this.#beginning?.moved();
    if (items.at(-1)?.initialEventsEnd === true) this.#begun();
  }

  #noteEnd(items: readonly StreamItem[]): void {
    if (items.at(-1)?.initialEventsEnd !== true) return;
    this.#initialEventsSent?.();
    this.#initialEventsSent = undefined;
  }

  #begun(): void {
    this.#beginning?.left();
    this.#beginning = undefined;
  }

  /** Called by the registry when the watch has ended; sends an ERROR event when `error` is given. */
  end(error?: unknown): void {
    if (this.#state === "waiting") this.#early = { error };
    else this.#finish(error);
  }

  /**
   * Sends a bookmark, ends the stream and closes the connection, so that the client resumes at another server.
   * @returns false when the stream cannot accept a bookmark now; then nothing happens.
   */
  retire(): boolean {
    if (this.#state !== "flowing") return false;
    this.#source?.bookmark();
    const outlet = this.#outlet;
    this.#close();
    outlet?.leave();
    return true;
  }

  /** Attaches the registry's watch. */
  attach(source: StreamSource): void {
    this.#source = source;
  }

  /** The answer for sockets. Status 101 is for clients that asked for a WebSocket (websocket-stream.ts). */
  byteResponse(format: WatchFormat, headers: Headers, status: 200 | 101 = 200): PlainResponse {
    const open = (sink: ByteSink): (() => void) =>
      this.#open(new ByteOutlet(this.#deps, this.#options, format, sink));
    const begins = (listener: BeginningListener): void => void (this.#beginning = listener);
    return { kind: "stream", status, headers, begins, open };
  }

  /** The answer for direct callers: frozen objects, not encoded. */
  eventResponse(): PlainResponse {
    const open = (sink: ObjectEventSink): (() => void) =>
      this.#open(new EventOutlet(this.#deps, this.#options, sink));
    return { kind: "events", status: 200, headers: {}, open };
  }

  #open(outlet: Outlet): () => void {
    this.#outlet = outlet;
    this.#state = "flowing";
    this.#deps.open.add(this);
    this.#arm();
    if (this.#early !== undefined) this.#finish(this.#early.error);
    else this.#resume();
    return () => this.#close();
  }

  #arm(): void {
    const { timeoutMs, allowBookmarks } = this.#options;
    this.#due = allowBookmarks ? "bookmark" : "end";
    const delayMs = allowBookmarks ? Math.max(0, timeoutMs - lastBookmarkMs) : timeoutMs;
    this.#deadline = this.#deps.deadlines.add(this, delayMs);
  }

  /** Called at the deadline. */
  expire(): void {
    if (this.#state === "ended") return;
    if (this.#due === "end") return this.#finish(undefined);
    this.#due = "end";
    const leftMs = Math.min(lastBookmarkMs, this.#options.timeoutMs);
    this.#deadline = this.#deps.deadlines.add(this, leftMs);
    this.#source?.bookmark();
  }

  #fill(outlet: Outlet, isLong: boolean): void {
    this.#state = "full";
    // A socket that takes a block at once drains within the same turn of the loop.
    outlet.onDrain(() => (isLong ? this.#rest() : this.#flow()));
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
    this.#begun();
    this.#drop();
    if (this.#deadline !== undefined) this.#deps.deadlines.delete(this, this.#deadline);
    this.#deps.open.delete(this);
    this.#source?.close();
  }
}

class ByteOutlet implements Outlet {
  readonly takesTurns = true;
  readonly #deps: WatchStreamDeps;
  readonly #options: WatchStreamOptions;
  readonly #format: WatchFormat;
  readonly #sink: ByteSink;

  constructor(
    deps: WatchStreamDeps,
    options: WatchStreamOptions,
    format: WatchFormat,
    sink: ByteSink,
  ) {
    this.#deps = deps;
    this.#options = options;
    this.#format = format;
    this.#sink = sink;
  }

  send(items: readonly StreamItem[]): boolean {
    const { joiner, sent } = this.#deps;
    const format = this.#format;
    const known = format.isShared === true ? joiner.known(format.key, items) : undefined;
    const batch = known ?? this.#batch(items);
    sent.events.count += items.length;
    sent.bytes.observeTogether(batch.bytes, items.length);
    const { blocks } = batch;
    let room = true;
    for (let at = 0; at < blocks.length; at++) room = this.#sink.write(blocks[at] ?? noBlock);
    return room;
  }

  fail(error: unknown): void {
    const frame = this.#format.error(error);
    this.#sink.write(this.#format.message?.(frame) ?? [frame]);
  }

  end(): void {
    this.#sink.end();
  }

  leave(): void {
    if (this.#sink.leave === undefined) this.#sink.end();
    else this.#sink.leave();
  }

  onDrain(f: () => void): void {
    this.#sink.onDrain(f);
  }

  #batch(items: readonly StreamItem[]): Batch {
    const format = this.#format;
    const { joiner } = this.#deps;
    const blocks: (readonly [Uint8Array])[] = [];
    let frames: Uint8Array[] = [];
    let length = 0;
    let bytes = 0;
    for (const item of items) {
      const frame = this.#frame(item);
      if (length + frame.length > blockBytesMax && frames.length > 0) {
        blocks.push([joiner.join(format.key, frames)]);
        frames = [];
        length = 0;
      }
      if (format.message === undefined) frames.push(frame);
      else frames.push(...format.message(frame));
      length += frame.length;
      bytes += frame.length;
    }
    if (frames.length > 0) blocks.push([joiner.join(format.key, frames)]);
    const batch = { blocks, bytes };
    if (format.isShared === true) joiner.remember(format.key, items, batch);
    return batch;
  }

  #frame(item: StreamItem): Uint8Array {
    const format = this.#format;
    if (item.type !== "BOOKMARK" && item.object !== undefined) {
      return format.event(item.type, item.object);
    }
    return format.bookmark(bookmarkObject(this.#options.apiVersion, this.#options.kind, item));
  }
}

const noBlock: readonly Uint8Array[] = [];

class EventOutlet implements Outlet {
  readonly takesTurns = false;
  readonly #deps: WatchStreamDeps;
  readonly #options: WatchStreamOptions;
  readonly #sink: ObjectEventSink;

  constructor(deps: WatchStreamDeps, options: WatchStreamOptions, sink: ObjectEventSink) {
    this.#deps = deps;
    this.#options = options;
    this.#sink = sink;
  }

  send(items: readonly StreamItem[]): boolean {
    this.#deps.sent.events.count += items.length;
    this.#sink.deliver(items.map((item) => this.#event(item)));
    return true;
  }

  fail(error: unknown): void {
    this.#sink.deliver([{ type: "ERROR", object: toStatus(error) }]);
  }

  end(): void {
    this.#sink.end();
  }

  leave(): void {
    this.#sink.end();
  }

  /** Does nothing: an object stream is never full. */
  onDrain(): void {}

  #event(item: StreamItem): ObjectEvent {
    const { apiVersion, kind, convert } = this.#options;
    const object =
      item.object === undefined ? bookmarkObject(apiVersion, kind, item) : convert(item.object);
    return { type: item.type, object };
  }
}
