/**
 * An answer whose body is passed on as it comes, at its reader's pace.
 *
 * Holds  only the sender's own end completes it; any other end is a cut, so that part of a body does not
 *        look like all of it. A client that leaves ends the request behind it.
 */
import type { ByteResponse } from "#platform/byte-transport.ts";
import type { ByteSink, Headers, PlainResponse } from "#platform/http.ts";
import type { Release } from "./open-streams.ts";
import { untilDrained } from "./join.ts";

/** Rewrites bytes as they pass through; some may remain at the end. */
export interface Rewriter {
  write(chunk: Uint8Array): readonly Uint8Array[];
  end(): readonly Uint8Array[];
}

const unchanged: Rewriter = { write: (chunk) => [chunk], end: () => [] };

export function streamed(
  response: Pick<ByteResponse, "stream">,
  head: { readonly status: number; readonly headers: Headers },
  ending: AbortController,
  release: Release,
  rewriter: Rewriter = unchanged,
): PlainResponse {
  const open = (sink: ByteSink): (() => void) => flow(response, sink, ending, release, rewriter);
  return { kind: "stream", ...head, open };
}

/** @returns a function that ends the flow. */
function flow(
  response: Pick<ByteResponse, "stream">,
  sink: ByteSink,
  ending: AbortController,
  release: Release,
  rewriter: Rewriter,
): () => void {
  let isEnded = false;
  const cut = (): void => {
    if (!isEnded) sink.abort?.();
    finish();
  };
  const finish = (): void => {
    release();
    if (isEnded) return;
    isEnded = true;
    sink.end();
  };
  const send = (chunks: readonly Uint8Array[]): Promise<void> | undefined =>
    chunks.length === 0 || sink.closed ? undefined : untilDrained(sink, sink.write(chunks));
  const last = async (): Promise<void> => {
    await send(rewriter.end());
    finish();
  };
  response
    .stream((chunk) => send(rewriter.write(chunk)))
    .then(last)
    .catch(cut);
  return () => {
    ending.abort();
    cut();
  };
}
