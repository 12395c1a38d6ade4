/** What the ETag frontend answers polls from: a view with its mirrors, of one resource (`plain-poll.ts`) or joined of several (`joined-poll.ts`). */
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Pace } from "#platform/pace.ts";
import type { WatchStreamDeps } from "#server/watch-stream.ts";
import type { PolledView } from "../views/polled-view.ts";

/** A position that a reader names with `since`. */
export interface Since<V extends PolledView> {
  /** The view has nothing that the reader lacks. */
  isNewest(view: V): boolean;
  /** A list of changes as a body; `etag` of the content it leads to. An Error: the position is too old. */
  changes(view: V, etag: string, pace: Pace): Promise<readonly Uint8Array[] | Error>;
}

export interface EventDeps {
  readonly streams: WatchStreamDeps;
  readonly timeoutMs: number;
}

export interface Pollable<V extends PolledView = PolledView> {
  /** For refusals: what it is made of. */
  readonly title: string;
  /** Every mirror has its first list. */
  readonly isReady: boolean;
  /** Every mirror may still be read. */
  readonly isServing: boolean;
  readonly ageMs: number;
  /** Brings what the mirrors applied to their views. */
  flush(): void;
  /** The view asked for; another object when a mirror started anew. */
  view(): V;
  /** Undefined: none is asked for. Throws 400. */
  since(query: URLSearchParams): Since<V> | undefined;
  /** X-Revision of the list of changes. */
  newestPosition(view: V): string;
  events(request: PlainRequest, deps: EventDeps): PlainResponse;
}
