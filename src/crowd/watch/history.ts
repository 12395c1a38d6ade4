/** Events that are older than the ring. Most sources of a cache can read them again (the store can). */
import type { CacheEvent } from "./cache-event.ts";

export interface HistorySink {
  /** Takes whole revisions in order. Never throws, never waits. @returns false when full, as WatchSink. */
  deliver(events: readonly CacheEvent[]): boolean;
  /** The requested events have been compacted. */
  compacted(): void;
}

export interface HistoryReader {
  /** Every event of the resource up to this revision was delivered and accepted. */
  readonly position: number;
  resume(): void;
  close(): void;
}

export interface History {
  /** Delivers the events of the resource after `after`, oldest first, and then new ones, until closed. */
  read(after: number, sink: HistorySink): HistoryReader;
}

/** For sources without history: events that left the ring cannot be read again. */
export const noHistory: History = {
  read(_after, sink) {
    sink.compacted();
    return { position: 0, resume() {}, close() {} };
  },
};
