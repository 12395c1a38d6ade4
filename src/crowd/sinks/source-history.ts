/** Which revisions of a source its API server can still send: asked by watches, because no request lists them. */
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#platform/clock.ts";
import { errorOf, isHistoryGone } from "./history-gone.ts";
import type { SinkSource } from "./source-reader.ts";

interface HistoryDeps {
  readonly client: Client;
  readonly clock: Clock;
}

/** Maximum time in which a server refuses a revision. The watch itself is asked to end after one second. */
const answerMsMax = 2_000;

interface Newest {
  /** Revision of the API. */
  readonly api: string;
  /** Revision that the server's watches have reached; that of a resource at rest may be behind `api` by minutes. */
  readonly watched: string;
}

export async function newestRevisions(
  { client }: HistoryDeps,
  { encoding, selection }: SinkSource,
  signal: AbortSignal,
): Promise<Newest> {
  // No object has the name: a list from a watch cache has no limit.
  const { namespace } = selection;
  const call = { ...given({ namespace }), fieldSelector: "metadata.name=_", signal };
  const consistent = await client.list<AnyObject>(encoding.ref, call);
  const cached = await client.list<AnyObject>(encoding.ref, { ...call, resourceVersion: "0" });
  return {
    api: consistent.metadata.resourceVersion ?? "",
    watched: cached.metadata.resourceVersion ?? "",
  };
}

/** Returns `from` when a watch can begin there, otherwise the oldest revision up to `newest` where one can. */
export async function oldestRevision(
  deps: HistoryDeps,
  source: SinkSource,
  { from, newest }: { readonly from: string; readonly newest: string },
  signal: AbortSignal,
): Promise<string> {
  const refused = await refusal(deps, source, from, signal);
  if (refused === undefined) return from;
  // Upstream's watch cache names the oldest one: `too old resource version: 5 (812)`.
  const named = /\((\d{1,19})\)$/.exec(refused.message)?.[1];
  if (named !== undefined && BigInt(named) > BigInt(from) && BigInt(named) <= BigInt(newest)) {
    if ((await refusal(deps, source, named, signal)) === undefined) return named;
  }
  return searched(deps, source, { gone: BigInt(from), there: BigInt(newest) }, signal);
}

async function searched(
  deps: HistoryDeps,
  source: SinkSource,
  { gone, there }: { gone: bigint; there: bigint },
  signal: AbortSignal,
): Promise<string> {
  while (there - gone > 1n) {
    const middle = (gone + there) / 2n;
    const refused = await refusal(deps, source, middle.toString(), signal);
    if (refused === undefined) there = middle;
    else gone = middle;
  }
  return there.toString();
}

/** Returns the server's refusal of a watch from the revision. Undefined: it can begin there. */
async function refusal(
  { client, clock }: HistoryDeps,
  { encoding, selection }: SinkSource,
  resourceVersion: string,
  signal: AbortSignal,
): Promise<ApiError | undefined> {
  const answered = new AbortController();
  const timer = clock.after("sink.history", answerMsMax, () => answered.abort());
  const until = AbortSignal.any([signal, answered.signal]);
  const how = { resourceVersion, allowWatchBookmarks: true, timeoutSeconds: 1, signal: until };
  let refused: unknown;
  try {
    await client.watch<AnyObject>(encoding.ref, { ...selection, ...how }, ([event]) => {
      if (event?.type === "ERROR") refused = errorOf(event.object);
      answered.abort();
    });
  } catch (error) {
    if (!answered.signal.aborted) refused = error;
  } finally {
    timer.cancel();
  }
  signal.throwIfAborted();
  if (refused === undefined) return undefined;
  if (refused instanceof ApiError && isHistoryGone(refused)) return refused;
  throw refused;
}
