/**
 * Answers that a listener may repeat without a request: a relay's 304 to a poll that comes again, byte by
 * byte, on its connection. An extension of the plain contract (`http.ts`) that only a relay makes use of:
 * a handler need not offer it, and a listener may never call it.
 */
import type { Headers, PlainResponse } from "./http.ts";

/** An answer without body. One object serves all clients: a listener may keep its bytes as long as the object lives. */
export interface ReplayHead {
  readonly status: number;
  readonly headers: Headers;
}

/**
 * Answers the very same request, sent again on its connection; undefined when it must go the usual way.
 * Synchronous.
 */
export type Replay = () => ReplayHead | undefined;

export type ReplayableResponse = Extract<PlainResponse, { readonly kind: "bytes" }> & {
  readonly again: Replay;
};

export function replayOf(response: PlainResponse): Replay | undefined {
  return "again" in response ? (response as ReplayableResponse).again : undefined;
}
