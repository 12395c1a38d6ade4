/** What an upstream's stream tells of one resource, and how it breaks its word. */
import type { ViewState } from "#watch/watch-item.ts";
import type { FormedObject } from "./object-form.ts";

export interface ObjectEvent {
  readonly type: "SET" | "DELETED";
  readonly object: FormedObject;
}

export interface BookmarkEvent {
  readonly type: "BOOKMARK";
  readonly revision: number;
  /** What the upstream holds at `revision`, when it says so (a relay does). */
  readonly view?: ViewState | undefined;
}

export type UpstreamEvent = ObjectEvent | BookmarkEvent;

/** The stream broke its promise of order: only a list tells what is true now. */
export class OutOfOrderError extends Error {
  constructor(revision: number, key: string, at: number) {
    super(`upstream sent ${key} at resourceVersion ${revision} after ${at}`);
    this.name = "OutOfOrderError";
  }
}
