/**
 * The ETag frontend: lists and named views for clients that poll.
 *
 *   GET /etag/api/v1/pods                     the whole list, ETag, X-Count, X-Revision
 *   GET /views/NAME, /views/NAME/ZONE         a view of the operator's file (view-definition.ts)
 *     If-None-Match: "..."                    304 in O(1) when nothing changed; or If-Modified-Since
 *     ?labelSelector= ?fieldSelector=         of a list: a view of its own
 *     ?wait=30s                               with If-None-Match or since: answers at the next change
 *     ?since=REVISION                         only changes and deletions since X-Revision
 *     Accept: text/event-stream               the same as server-sent events; Last-Event-ID resumes
 *                                           (not of joined views: joined-poll.ts)
 *
 * Holds  the ETag names the content, not a moment: equal on every replica; a compressed body has a tag
 *        of its own (`+gzip`, `+zstd` inside the quotes) and any of them is recognised. Empty is a
 *        value. While the upstream is away the last state is served, and Age-Of-Data says how old it
 *        is. A 304 repeated on its connection is answered synchronously (`again`). Requests that wait on
 *        a mirror that ends (its definition changed) get 503 at once.
 */
import { badRequest, failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { Pace } from "#platform/pace.ts";
import type { Replay, ReplayableResponse } from "#platform/replay.ts";
import type { WatchStreamDeps } from "#server/watch-stream.ts";
import { chooseCoding } from "./accept-encoding.ts";
import type { Coding } from "./body-part.ts";
import { hasContent } from "./conditions.ts";
import type { RelayLimits } from "../limits.ts";
import type { RelayMetrics } from "../metrics.ts";
import { notModifiedHead, type Poll, pollHeaders } from "./poll-head.ts";
import type { Pollable, Since } from "./pollable.ts";
import { waitMs } from "./poll-query.ts";
import type { PolledView } from "../views/polled-view.ts";

interface EtagDeps {
  readonly clock: Clock;
  readonly streams: WatchStreamDeps;
  readonly metrics: RelayMetrics;
}

export interface EtagRead<V extends PolledView = PolledView> {
  readonly source: Pollable<V>;
  readonly request: PlainRequest;
  readonly query: URLSearchParams;
  /** Zone of the content; "": all rows. */
  readonly zone: string;
  /** Whether this caller may still read the content according to cached reviews. */
  readonly allowed: () => boolean;
}

interface Moment<V extends PolledView> extends Poll {
  readonly view: V;
  readonly coding: Coding | undefined;
}

export class EtagFrontend {
  readonly #deps: EtagDeps;
  readonly #limits: RelayLimits;

  constructor(deps: EtagDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  async answer<V extends PolledView>(read: EtagRead<V>): Promise<PlainResponse> {
    const { source, request, query } = read;
    const since = source.since(query);
    if (read.zone !== "" && (since !== undefined || asksForEvents(request))) throw noZoneChanges();
    current(source);
    if (asksForEvents(request)) {
      await upToDate(source);
      const { streams } = this.#deps;
      return source.events(request, { streams, timeoutMs: this.#limits.watchMsMin });
    }
    const endMs = this.#deps.clock.monotonicMs() + waitMs(query, this.#limits);
    source.flush();
    await upToDate(source);
    let now = this.#moment(read);
    // A change that was reverted, or that belongs to another zone, wakes this loop without changing the content.
    while (isKnown(read, now) || since?.isNewest(now.view) === true) {
      const leftMs = endMs - this.#deps.clock.monotonicMs();
      if (leftMs <= 0 || request.signal.aborted) break;
      await this.#change(now, leftMs, request.signal);
      await upToDate(source);
      now = this.#moment(read);
    }
    if (isKnown(read, now)) return this.#notModified(read, now);
    return since === undefined ? this.#whole(now) : this.#changes(read, now, since);
  }

  #moment<V extends PolledView>(read: EtagRead<V>): Moment<V> {
    const { source } = read;
    const view = source.view();
    const content = view.content(read.zone);
    const coding = chooseCoding(read.request.headers["accept-encoding"]);
    const tag = coding === undefined ? content.etag : `${content.etag}+${coding}`;
    return { ageMs: source.ageMs, view, content, tag, coding };
  }

  #change({ view, content }: Poll, leftMs: number, signal: AbortSignal): Promise<void> {
    if (view.waiting >= this.#limits.pollersMax) {
      throw failure(429, "TooManyRequests", "too many long polls", { retryAfterSeconds: 1 });
    }
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        forget();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = this.#deps.clock.after("relay.poll", leftMs, done);
      const forget = content.onChange(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  #notModified<V extends PolledView>(read: EtagRead<V>, now: Moment<V>): PlainResponse {
    this.#deps.metrics.notModified.add([]);
    const headers = pollHeaders(now);
    const plain = { kind: "bytes", status: 304, headers, body: [] } as const;
    // A waiting poll cannot be replayed: its time limit starts anew with each request.
    if (read.query.has("wait")) return plain;
    const repeatable: ReplayableResponse = { ...plain, again: this.#again(read, now) };
    return repeatable;
  }

  /** Returns the replay of the same poll: its head, as long as caller and content are the same. */
  #again<V extends PolledView>(read: EtagRead<V>, { tag, coding }: Moment<V>): Replay {
    const { metrics } = this.#deps;
    const { zone, source } = read;
    return () => {
      if (!source.isServing || !read.allowed()) return undefined;
      source.flush();
      const view = source.view();
      if (!view.isUpToDate) return undefined;
      const content = view.content(zone);
      const current = coding === undefined ? content.etag : `${content.etag}+${coding}`;
      if (current !== tag) return undefined;
      metrics.repeated();
      return notModifiedHead({ ageMs: source.ageMs, view, content, tag });
    };
  }

  async #whole(now: Moment<PolledView>): Promise<PlainResponse> {
    const { content, coding, view } = now;
    // Body and head describe the same state: changes during the compression are part of the next answer.
    const { body } = content;
    const headers = { ...pollHeaders(now), "content-type": view.contentType };
    if (coding === undefined) {
      const plain = await body.plain(new Pace(this.#deps.clock));
      return { kind: "bytes", status: 200, headers, body: plain, isShared: true };
    }
    const packed = await body.packed(coding);
    const coded = { ...headers, "content-encoding": coding };
    return { kind: "bytes", status: 200, headers: coded, body: [packed], isShared: true };
  }

  /** Answers with the newest state of every object changed after `since`, and the names of the deleted ones. */
  async #changes<V extends PolledView>(
    { source }: EtagRead<V>,
    now: Moment<V>,
    since: Since<V>,
  ): Promise<PlainResponse> {
    const { view, content } = now;
    // A list of changes does not represent the content, so the content's tag is in the body, not in the header.
    const { etag: _, ...poll } = pollHeaders(now);
    const revision = source.newestPosition(view);
    const headers = { ...poll, "x-revision": revision, "content-type": "application/json" };
    const body = await since.changes(view, content.etag, new Pace(this.#deps.clock));
    if (!(body instanceof Error)) {
      return { kind: "bytes", status: 200, headers, body, isShared: true };
    }
    this.#deps.metrics.expired.add([]);
    throw body;
  }
}

/** Waits until the requested view has every change of the mirror; throws like `current`. */
async function upToDate(source: Pollable): Promise<void> {
  current(source);
  for (let made = source.view(); !made.isUpToDate; made = source.view()) {
    await made.whenUpToDate();
    current(source);
  }
}

/** Throws 503 when the mirror has ended because the definition of its resource changed, or the resource is gone. */
function current({ isServing, title }: Pollable): void {
  if (isServing) return;
  const text = `${title} is another now, or gone: the relay has to list it anew`;
  throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
}

/** A zone may get all rows at first and only its own later: no list of changes leads from one to the other. */
function noZoneChanges(): Error {
  return badRequest("a zone is read whole: since and event streams are for the view itself");
}

export function asksForEvents(request: PlainRequest): boolean {
  return (request.headers["accept"] ?? "").startsWith("text/event-stream");
}

function isKnown({ request }: Pick<EtagRead, "request">, { content }: Poll): boolean {
  return hasContent(request, content.etag, content.changedMs);
}
