/** Events older than the ring. The source of a cache can often read them again (the store can). */
import type { CacheEvent } from "./cache-event.ts";

export interface HistorySink {
  /** Whole revisions in order. Never throws, never waits. @returns false when full, as WatchSink. */
  deliver(events: readonly CacheEvent[]): boolean;
  /** What was asked for is gone. */
  compacted(): void;
}

export interface HistoryReader {
  /** Everything of the resource up to here was delivered and taken. */
  readonly position: number;
  resume(): void;
  close(): void;
}

export interface History {
  /** Events of the resource after `after`, oldest first, and on into the present until closed. */
  read(after: number, sink: HistorySink): HistoryReader;
}

/** For sources without history: events that left the ring cannot be read again. */
export const noHistory: History = {
  read(_after, sink) {
    sink.compacted();
    return { position: 0, resume() {}, close() {} };
  },
};
