/**
 * What a watch delivers: the types between a watch cache and the code that writes the stream.
 *
 * All watchers that see an event get the same item with the same CachedObject inside, so an encoding
 * made for one serves all.
 */
import type { WatchEventType } from "#platform/http.ts";
import type { CachedObject } from "#forms/cached-object.ts";

/** What a selection holds at a revision, as a client can add it up. */
export interface ViewState {
  readonly count: number;
  /** 32 hexadecimal digits. */
  readonly checksum: string;
}

/** What a change would be to a watcher that sees only one of its two states. */
export interface WatchChange {
  readonly previous: CachedObject | undefined;
  added(): WatchItem;
  deleted(): WatchItem;
}

/** One step of a watch. */
export interface WatchItem {
  readonly type: Exclude<WatchEventType, "ERROR">;
  /** Undefined for BOOKMARK. For DELETED the last state, with the delete's resourceVersion. */
  readonly object: CachedObject | undefined;
  readonly resourceVersion: string;
  /** Of a MODIFIED: for sinks that select by more than the store knows. */
  readonly change?: WatchChange;
  /** BOOKMARK that ends the initial events. */
  readonly initialEventsEnd?: boolean;
  /** BOOKMARK of a watcher that asked for checksums, when the sum at this revision is at hand. */
  readonly view?: ViewState | undefined;
}

export interface WatchSink {
  /** It makes a form of its own of each object (a Table's row, metadata, protobuf): it gets what one turn can make. */
  readonly isMaking?: boolean;
  /**
   * Whole batches in order; the array is shared, never changed. Never throws, never waits. A sink
   * that holds nothing must accept, however large the batch.
   * @returns false when full: nothing of the batch was kept; `resume()` asks again.
   */
  deliver(items: readonly WatchItem[]): boolean;
  /** The watch is over: `error` is what an ERROR event must carry (410 Expired), absent at shutdown. */
  end(error?: Error): void;
}
