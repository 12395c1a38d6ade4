/**
 * Source of the ETag frontend's answers: a view with its mirrors, of one resource (`plain-poll.ts`) or joined of
 * several (`joined-poll.ts`).
 */
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Pace } from "#platform/pace.ts";
import type { WatchStreamDeps } from "#server/watch-stream.ts";
import type { PolledView } from "../views/polled-view.ts";

/** A position that a client names with `since`. */
export interface Since<V extends PolledView> {
  /** Whether the view has no change after this position. */
  isNewest(view: V): boolean;
  /** Returns a list of changes as a body, with the `etag` of the content after them. An Error: the position is too old. */
  changes(view: V, etag: string, pace: Pace): Promise<readonly Uint8Array[] | Error>;
}

export interface EventDeps {
  readonly streams: WatchStreamDeps;
  readonly timeoutMs: number;
}

export interface Pollable<V extends PolledView = PolledView> {
  /** Name of the view's resources, for error messages. */
  readonly title: string;
  /** Whether every mirror has its first list. */
  readonly isReady: boolean;
  /** Whether every mirror may still be read. */
  readonly isServing: boolean;
  readonly ageMs: number;
  /** Passes all changes that the mirrors have applied on to their views. */
  flush(): void;
  /** Returns the view; another object after a mirror has started anew. */
  view(): V;
  /** Returns the position in the query. Undefined: the query has none. Throws 400. */
  since(query: URLSearchParams): Since<V> | undefined;
  /** Value of the X-Revision header of a list of changes. */
  newestPosition(view: V): string;
  events(request: PlainRequest, deps: EventDeps): PlainResponse;
}
