/**
 * Passes on the body of an answer as it arrives, at its reader's pace.
 *
 * Holds  only the sender's end completes the body. Any other end breaks the connection, so that a partial body does not
 *        look complete. When the client disconnects, the request to the sender ends.
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
