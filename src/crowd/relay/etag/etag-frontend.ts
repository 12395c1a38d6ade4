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
import { WatchStream, type WatchStreamDeps } from "#server/watch-stream.ts";
import { chooseCoding } from "./accept-encoding.ts";
import type { Coding } from "./body-part.ts";
import { changeList } from "./change-list.ts";
import { hasContent } from "./conditions.ts";
import { eventFormat } from "./event-stream.ts";
import type { RelayLimits } from "../limits.ts";
import type { RelayMetrics } from "../metrics.ts";
import { kindId } from "../mirror/mirrored-kind.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import { notModifiedHead, type Poll, pollHeaders } from "./poll-head.ts";
import { sinceOf, waitMs } from "./poll-query.ts";
import type { View } from "../views/view.ts";

interface EtagDeps {
  readonly clock: Clock;
  readonly streams: WatchStreamDeps;
  readonly metrics: RelayMetrics;
}

export interface EtagRead {
  readonly resource: Mirrored;
  readonly request: PlainRequest;
  readonly query: URLSearchParams;
  /** The view asked for; another object when the mirror started anew. */
  readonly view: () => View;
  /** "" for everything. */
  readonly zone: string;
  /** Whether this caller may still read this according to cached reviews. */
  readonly allowed: () => boolean;
}

interface Moment extends Poll {
  readonly coding: Coding | undefined;
}

export class EtagFrontend {
  readonly #deps: EtagDeps;
  readonly #limits: RelayLimits;

  constructor(deps: EtagDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  async answer(read: EtagRead): Promise<PlainResponse> {
    const { resource, request, query } = read;
    const since = sinceOf(query);
    if (read.zone !== "" && (since !== undefined || asksForEvents(request))) throw noZoneChanges();
    current(resource);
    if (asksForEvents(request)) return this.#events(read);
    const endMs = this.#deps.clock.monotonicMs() + waitMs(query, this.#limits);
    resource.mirror.flush();
    await upToDate(read);
    let now = this.#moment(read);
    // A change that was undone, or of another zone, wakes this loop without changing the content.
    while (this.#isUnchanged(read, now, since)) {
      const leftMs = endMs - this.#deps.clock.monotonicMs();
      if (leftMs <= 0 || request.signal.aborted) break;
      await this.#change(now, leftMs, request.signal);
      await upToDate(read);
      now = this.#moment(read);
    }
    if (isKnown(read, now)) return this.#notModified(read, now);
    return since === undefined ? this.#whole(now) : this.#changes(now, since);
  }

  #moment(read: EtagRead): Moment {
    const view = read.view();
    const content = view.content(read.zone);
    const coding = chooseCoding(read.request.headers["accept-encoding"]);
    const tag = coding === undefined ? content.etag : `${content.etag}+${coding}`;
    return { mirror: read.resource.mirror, view, content, tag, coding };
  }

  #isUnchanged(read: EtagRead, now: Moment, since: number | undefined): boolean {
    return isKnown(read, now) || (since !== undefined && since >= now.view.revision);
  }

  #change({ view, content }: Moment, leftMs: number, signal: AbortSignal): Promise<void> {
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

  #notModified(read: EtagRead, now: Moment): PlainResponse {
    this.#deps.metrics.notModified.add([]);
    const headers = pollHeaders(now);
    const plain = { kind: "bytes", status: 304, headers, body: [] } as const;
    // A poll that waits must look at its clock each time.
    if (read.query.has("wait")) return plain;
    const repeatable: ReplayableResponse = { ...plain, again: this.#again(read, now) };
    return repeatable;
  }

  /** The same poll once more: its head, as long as caller and content are the same. */
  #again(read: EtagRead, { mirror, tag, coding }: Moment): Replay {
    const { metrics } = this.#deps;
    const { zone } = read;
    return () => {
      if (!mirror.serving || !read.allowed()) return undefined;
      mirror.flush();
      const view = read.view();
      if (!view.isUpToDate) return undefined;
      const content = view.content(zone);
      const current = coding === undefined ? content.etag : `${content.etag}+${coding}`;
      if (current !== tag) return undefined;
      metrics.repeated();
      return notModifiedHead({ mirror, view, content, tag });
    };
  }

  async #whole(now: Moment): Promise<PlainResponse> {
    const { content, coding, view } = now;
    // Body and head belong to one state: changes during the compression are part of the next answer.
    const { body } = content;
    const headers = { ...pollHeaders(now), "content-type": view.spec.form.contentType };
    if (coding === undefined) {
      const plain = await body.plain(new Pace(this.#deps.clock));
      return { kind: "bytes", status: 200, headers, body: plain, isShared: true };
    }
    const packed = await body.packed(coding);
    const coded = { ...headers, "content-encoding": coding };
    return { kind: "bytes", status: 200, headers: coded, body: [packed], isShared: true };
  }

  /** The newest state of everything that changed after `since`, and the names of what went. */
  async #changes(now: Moment, since: number): Promise<PlainResponse> {
    const { mirror, view, content } = now;
    // The list of changes is no representation of the content: its tag is in the body.
    const { etag: _, ...poll } = pollHeaders(now);
    const revision = String(mirror.revision);
    const headers = { ...poll, "x-revision": revision, "content-type": "application/json" };
    const { etag } = content;
    const body = await view.changes(since, async () => {
      const pace = new Pace(this.#deps.clock);
      const made = await changeList(mirror, view, { since, etag }, pace);
      if (!(made instanceof Error)) return made;
      this.#deps.metrics.expired.add([]);
      throw made;
    });
    return { kind: "bytes", status: 200, headers, body, isShared: true };
  }

  #events(read: EtagRead): PlainResponse {
    const { resource, request } = read;
    const { mirror } = resource;
    const { form, predicate } = read.view().spec;
    const { apiVersion, kind } = resource.kind;
    const timeoutMs = this.#limits.watchMsMin;
    const stream = new WatchStream(this.#deps.streams, {
      apiVersion,
      kind,
      timeoutMs,
      isMaking: true,
      allowBookmarks: true,
      convert: ({ object }) => object,
    });
    const last = Number(request.headers["last-event-id"] ?? Number.NaN);
    const resumes = Number.isSafeInteger(last) && mirror.refusal(last) === undefined;
    const start = resumes ? { after: last } : "state";
    const startRevision = resumes ? 0 : mirror.cache.state.revision;
    stream.attach(mirror.cache.watch({ predicate, bookmarks: true, start }, stream));
    const headers = { "content-type": "text/event-stream", "cache-control": "no-cache" };
    return stream.byteResponse(eventFormat(form, startRevision), headers);
  }
}

/** Waits for the view asked for to have what the mirror has; throws as `current`. */
async function upToDate({ resource, view }: EtagRead): Promise<void> {
  current(resource);
  for (let made = view(); !made.isUpToDate; made = view()) {
    await made.whenUpToDate();
    current(resource);
  }
}

/** Throws when the mirror has ended, with the definition of its resource, or its resource is gone. */
function current({ mirror, kind }: Mirrored): void {
  if (mirror.serving) return;
  const text = `${kindId(kind)} is another now, or gone: the relay has to list it anew`;
  throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
}

/** A zone's content may be everything now and narrowed then: no list of changes leads from one to the other. */
function noZoneChanges(): Error {
  return badRequest("a zone is read whole: since and event streams are for the view itself");
}

export function asksForEvents(request: PlainRequest): boolean {
  return (request.headers["accept"] ?? "").startsWith("text/event-stream");
}

function isKnown({ request }: EtagRead, { content }: Moment): boolean {
  return hasContent(request, content.etag, content.changedMs);
}
