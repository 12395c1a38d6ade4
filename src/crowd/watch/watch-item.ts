/**
 * Types of the items that a watch delivers, shared by watch caches and the code that writes the stream.
 *
 * All watchers that see an event get the same item with the same CachedObject inside, so an encoding
 * made for one serves all.
 */
import type { WatchEventType } from "#platform/http.ts";
import type { CachedObject } from "#forms/cached-object.ts";

/** Count and checksum of the selected objects at a revision; a client can compute the same. */
export interface ViewState {
  readonly count: number;
  /** 32 hexadecimal digits. */
  readonly checksum: string;
}

/** A change with both of its states, for watchers to which only one of them may be visible. */
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
  /** Of a MODIFIED item: for sinks that filter by more than the store's selectors. */
  readonly change?: WatchChange;
  /** BOOKMARK that ends the initial events. */
  readonly initialEventsEnd?: boolean;
  /** Of a BOOKMARK for a watcher that asked for checksums, if the sum at this revision is available. */
  readonly view?: ViewState | undefined;
}

export interface WatchSink {
  /** The sink builds a form of its own of each object (a Table row, metadata, protobuf), so it gets one turn's worth at a time. */
  readonly isMaking?: boolean;
  /**
   * Takes whole batches in order; the array is shared and never changed. Never throws, never waits. A sink
   * that holds nothing must accept the batch, however large it is.
   * @returns false when the sink is full: nothing of the batch was kept; the sink calls `resume()` to get it again.
   */
  deliver(items: readonly WatchItem[]): boolean;
  /** Ends the watch. `error` is sent as an ERROR event (410 Expired); absent at shutdown. */
  end(error?: Error): void;
}
