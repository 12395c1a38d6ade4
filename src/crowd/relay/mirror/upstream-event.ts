/** Events of an upstream's stream of one resource, and the error of a stream out of order. */
import type { ViewState } from "#watch/watch-item.ts";
import type { FormedObject } from "./object-form.ts";

export interface ObjectEvent {
  readonly type: "SET" | "DELETED";
  readonly object: FormedObject;
}

export interface BookmarkEvent {
  readonly type: "BOOKMARK";
  readonly revision: number;
  /** State of the upstream at `revision`, when the bookmark contains it (a relay's does). */
  readonly view?: ViewState | undefined;
}

export type UpstreamEvent = ObjectEvent | BookmarkEvent;

/** The stream is out of order: only a new list gives the true state. */
export class OutOfOrderError extends Error {
  constructor(revision: number, key: string, at: number) {
    super(`upstream sent ${key} at resourceVersion ${revision} after ${at}`);
    this.name = "OutOfOrderError";
  }
}
