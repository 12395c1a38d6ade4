/**
 * The ETag face: lists for clients that poll, under /etag before the path an API server has.
 *
 *   GET /etag/api/v1/pods                     the whole list, ETag, X-Count, X-Revision
 *     If-None-Match: "..."                    304 in O(1) when nothing changed
 *     ?labelSelector= ?fieldSelector=         a view of its own
 *     ?wait=30s                               with If-None-Match or since: answers at the next change
 *     ?since=REVISION                         only what changed and what went, since X-Revision
 *     Accept: text/event-stream               the same as server-sent events; Last-Event-ID resumes
 *
 * Holds  the ETag names the content, not a moment: equal on every replica; a compressed body has a tag
 *        of its own (`+gzip` inside the quotes) and either tag is recognised. Empty is a value. While
 *        the upstream is away the last state is served, and Age-Of-Data says how old it is.
 */
import { badRequest, failure } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import type { WatchFormat } from "#server/watch-frames.ts";
import { toStatus } from "#server/status.ts";
import { WatchStream, type WatchStreamDeps } from "#server/watch-stream.ts";
import type { CachedObject } from "#watch/cached-object.ts";
import { textOfKey } from "#watch/shared-object.ts";
import type { WatchItem } from "#watch/watch-item.ts";
import { acceptsGzip } from "./body-memo.ts";
import type { RelayLimits } from "./limits.ts";
import type { RelayMetrics } from "./metrics.ts";
import type { Mirrored } from "./mirrored.ts";
import { selectorsOf } from "./read-query.ts";
import type { View } from "./view.ts";

export interface EtagDeps {
  readonly clock: Clock;
  readonly streams: WatchStreamDeps;
  readonly metrics: RelayMetrics;
}

export interface EtagRead {
  readonly resource: Mirrored;
  readonly request: PlainRequest;
  /** "" for all. */
  readonly namespace: string;
  readonly query: URLSearchParams;
}

const encoder = new TextEncoder();
const json = "application/json";

export class EtagFace {
  readonly #deps: EtagDeps;
  readonly #limits: RelayLimits;

  constructor(deps: EtagDeps, limits: RelayLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  async answer(read: EtagRead): Promise<PlainResponse> {
    const { resource, request, query } = read;
    const view = this.#view(read);
    if ((request.headers["accept"] ?? "").startsWith("text/event-stream")) {
      return this.#events(read, view);
    }
    resource.mirror.flush();
    const since = sinceOf(query);
    if (this.#isUnchanged(read, view, since)) {
      await this.#change(view, waitMs(query, this.#limits), request.signal);
    }
    const now = view.ended ? this.#view(read) : view;
    if (matches(request, now.etag)) return this.#notModified(read, now);
    return since === undefined ? this.#whole(read, now) : this.#changes(read, now, since);
  }

  #view({ resource, namespace, query }: EtagRead): View {
    const selectors = selectorsOf(resource.kind, query);
    if (selectors === "pass") throw badRequest("the selector does not parse, or names no field");
    const scope = resource.kind.namespaced ? namespace : "";
    return resource.views.get(scope, query.get("labelSelector") ?? "", selectors);
  }

  #isUnchanged({ request }: EtagRead, view: View, since: number | undefined): boolean {
    return matches(request, view.etag) || (since !== undefined && since >= view.revision);
  }

  #change(view: View, waitMs: number, signal: AbortSignal): Promise<void> {
    if (waitMs === 0 || signal.aborted) return Promise.resolve();
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
      const timer = this.#deps.clock.after("relay.poll", waitMs, done);
      const forget = view.onChange(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  #notModified(read: EtagRead, view: View): PlainResponse {
    this.#deps.metrics.notModified.add([]);
    const tag = acceptsGzip(read.request) ? `${view.etag}+gzip` : view.etag;
    const headers = { ...this.#headers(read, view), etag: `"${tag}"` };
    return { kind: "bytes", status: 304, headers, body: [] };
  }

  async #whole(read: EtagRead, view: View): Promise<PlainResponse> {
    const body = view.body();
    const headers = { ...this.#headers(read, view), "content-type": json };
    if (!acceptsGzip(read.request)) {
      const tagged = { ...headers, etag: `"${view.etag}"` };
      return { kind: "bytes", status: 200, headers: tagged, body: body.chunks };
    }
    const tagged = { ...headers, etag: `"${view.etag}+gzip"`, "content-encoding": "gzip" };
    return { kind: "bytes", status: 200, headers: tagged, body: [await body.packed()] };
  }

  /** The newest state of everything that changed after `since`, and the names of what went. */
  #changes(read: EtagRead, view: View, since: number): PlainResponse {
    const { resource } = read;
    const refused = resource.mirror.refusal(since);
    const changed = refused ?? changesAfter(resource, view, since);
    if (changed instanceof Error) {
      this.#deps.metrics.expired.add([]);
      throw changed;
    }
    const { apiVersion, kind } = resource.kind;
    const head = JSON.stringify({
      kind: "ChangeList",
      apiVersion: "relay.pilothouse.dev/v1",
      of: { apiVersion, kind },
      since: String(since),
      resourceVersion: String(resource.mirror.revision),
      etag: view.etag,
      deleted: changed.deleted,
    });
    const body: Uint8Array[] = [encoder.encode(`${head.slice(0, -1)},"items":[`)];
    changed.items.forEach((object, at) => {
      if (at > 0) body.push(encoder.encode(","));
      body.push(object.json);
    });
    body.push(encoder.encode("]}\n"));
    const headers = {
      ...this.#headers(read, view),
      "x-revision": String(resource.mirror.revision),
      "content-type": json,
    };
    return { kind: "bytes", status: 200, headers, body: [Buffer.concat(body)] };
  }

  #headers({ resource }: EtagRead, view: View): Headers {
    return {
      "cache-control": "no-cache, private",
      vary: "Accept, Accept-Encoding, Authorization",
      "last-modified": new Date(view.changedMs).toUTCString(),
      "x-count": String(view.count),
      "x-revision": String(view.revision),
      "age-of-data": String(Math.ceil(resource.mirror.ageMs / 1000)),
    };
  }

  #events(read: EtagRead, view: View): PlainResponse {
    const { resource, request } = read;
    const { apiVersion, kind } = resource.kind;
    const timeoutMs = this.#limits.watchMsMin;
    const stream = new WatchStream(this.#deps.streams, {
      apiVersion,
      kind,
      timeoutMs,
      allowBookmarks: true,
      convert: (object) => object,
    });
    const last = Number(request.headers["last-event-id"] ?? Number.NaN);
    const resumes = Number.isSafeInteger(last) && resource.mirror.refusal(last) === undefined;
    const start = resumes ? { after: last } : "state";
    const options = { predicate: view.predicate, bookmarks: true, start } as const;
    const startRevision = resumes ? 0 : resource.mirror.cache.revision;
    stream.attach(resource.mirror.cache.watch(options, stream));
    const headers = { "content-type": "text/event-stream", "cache-control": "no-cache" };
    return stream.byteResponse(sseFormat(startRevision), headers);
  }
}

/**
 * Frames as browsers' EventSource wants them; the id is where Last-Event-ID resumes. Objects of the
 * state a stream starts with (up to `startRevision`) come in key order and give none: a stream that
 * is cut among them starts anew.
 */
function sseFormat(startRevision: number): WatchFormat {
  return {
    key: "sse",
    event: (type, object) =>
      object.revision <= startRevision
        ? object.encoded("sse:0", (o) => sseFrame(type, o, ""))
        : object.encoded(`sse:${type[0]}`, (o) => sseFrame(type, o, o.resourceVersion)),
    bookmark: (object) =>
      encoder.encode(`event: BOOKMARK\nid: ${object.metadata?.resourceVersion}\ndata: {}\n\n`),
    error: (error) => encoder.encode(`event: ERROR\ndata: ${JSON.stringify(toStatus(error))}\n\n`),
  };
}

function sseFrame(type: string, object: CachedObject, id: string): Uint8Array {
  const head = `event: ${type}\n${id === "" ? "" : `id: ${id}\n`}data: `;
  return Buffer.concat([encoder.encode(head), object.json, encoder.encode("\n\n")]);
}

interface Changes {
  readonly items: readonly CachedObject[];
  readonly deleted: readonly { readonly namespace: string; readonly name: string }[];
}

/** A watch from `since` to now, read to its end at once: order kept, states merged per object. */
function changesAfter(resource: Mirrored, view: View, since: number): Changes | Error {
  const latest = new Map<string, WatchItem>();
  let error: Error | undefined;
  const cursor = resource.mirror.cache.watch(
    { predicate: view.predicate, bookmarks: false, start: { after: since } },
    {
      deliver(items) {
        for (const item of items) {
          const { object } = item;
          if (object !== undefined) latest.set(`${object.namespace}/${object.name}`, item);
        }
        return true;
      },
      end: (why) => void (error = why),
    },
  );
  cursor.close();
  if (error !== undefined) return error;
  const items: CachedObject[] = [];
  const deleted: { namespace: string; name: string }[] = [];
  for (const { type, object } of latest.values()) {
    if (object === undefined) continue;
    const { namespace, name } = object;
    if (type === "DELETED") deleted.push({ namespace: textOfKey(namespace), name });
    else items.push(object);
  }
  return { items, deleted };
}

/** Whether the client has this content, in either encoding, or takes any. */
function matches(request: PlainRequest, etag: string): boolean {
  const header = request.headers["if-none-match"];
  if (header === undefined) return false;
  return header.split(",").some((part) => {
    const tag = part
      .trim()
      .replace(/^W\//, "")
      .replace(/^"(.*)"$/, "$1");
    return tag === "*" || tag === etag || tag === `${etag}+gzip`;
  });
}

function sinceOf(query: URLSearchParams): number | undefined {
  const text = query.get("since");
  if (text === null || text === "") return undefined;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw badRequest(`since must be a resourceVersion, not ${JSON.stringify(text)}`);
}

function waitMs(query: URLSearchParams, limits: RelayLimits): number {
  const text = query.get("wait");
  if (text === null || text === "") return 0;
  const match = /^([0-9]{1,6})(ms|s|m)?$/.exec(text);
  if (match === null) throw badRequest(`wait must be like 30s, not ${JSON.stringify(text)}`);
  const unit = { ms: 1, s: 1000, m: 60_000 }[match[2] ?? "s"] ?? 1000;
  return Math.min(Number(match[1]) * unit, limits.pollMsMax);
}
