/**
 * The one conversation a relay has with its upstream about a resource: list once, then watch for
 * ever, resuming at the last resourceVersion.
 *
 *   list ──► watch ──(cut, timeout)──► watch from the last resourceVersion
 *     ▲        └──(410, out of order)──┐
 *     └────────────────────────────────┘   the mirror takes the difference
 *
 * Holds  at most one list and one watch of the resource under way; no list by the clock. A second
 *        list may run beside the watch when readers need proof of freshness (`list`, freshness.ts).
 * Bounds a page `pageBytesMax`, a frame `frameBytesMax`; failures wait with full jitter, and beyond what a 429 asks for.
 */
import { assert } from "#base/assert.ts";
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { Backoff } from "#client/backoff.ts";
import { textOrJson } from "#client/direct.ts";
import { apiErrorOf } from "#client/transport.ts";
import { JsonFrames } from "#client/json-frames.ts";
import { isNotFound, isTransient, retryAfterMs } from "#client/api-errors.ts";
import type { ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { Pace } from "#platform/pace.ts";
import type { Random } from "#platform/random.ts";
import { viewChecksumAnnotation, viewCountAnnotation } from "#forms/watch-frames.ts";
import { members, parseSpan, type Span, textOf } from "./json-bytes.ts";
import { ChecksumError } from "./checksum-check.ts";
import { findMissing } from "./difference.ts";
import type { RelayLimits } from "../limits.ts";
import type { Mirror } from "./mirror.ts";
import { checksumsParameter } from "../kubernetes/read-query.ts";
import { collectionPath, isBuiltin, kindId } from "./mirrored-kind.ts";
import { ShrinkGuard, type Suspect } from "./shrink-guard.ts";
import {
  type FormedObject,
  NoRevisionError,
  objectForm,
  revisionOf,
  type ToObject,
} from "./object-form.ts";
import { decodePage, type UpstreamPage } from "./upstream-page.ts";
import { type BookmarkEvent, OutOfOrderError, type UpstreamEvent } from "./upstream-event.ts";

interface UpstreamDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly http: ByteTransport;
  /** Returns the headers of a request, with the relay's own credential. */
  readonly headers: () => Readonly<Record<string, string>>;
}

interface UpstreamCounts {
  lists: number;
  watches: number;
  watching: number;
  expired: number;
  failures: number;
}

interface Listing {
  readonly objects: readonly FormedObject[];
  readonly revision: number;
}

/** Minimum number of events in a chunk after which the reader yields a turn of the loop. */
const turnEventsMin = 32;
/** A watch without news that ends sooner than this counts as a failure, which prevents a tight loop. */
const shortWatchMs = 1_000;
/** Number of 404 answers that withdraw a resource: a server that has just started may answer one by mistake. */
const withdrawnAfter = 2;
/** Number of server errors that mark a resource as unavailable: the first one may be transient. */
const awayAfter = 2;
const statusBytesMax = 1024 * 1024;
/** Status codes of /readyz for a healthy API server, including one that does not let the relay ask. */
const wellStatuses: ReadonlySet<number> = new Set([200, 401, 403]);

export class Upstream {
  readonly mirror: Mirror;
  readonly counts: UpstreamCounts = { lists: 0, watches: 0, watching: 0, expired: 0, failures: 0 };
  readonly guard: ShrinkGuard;
  readonly #deps: UpstreamDeps;
  readonly #limits: RelayLimits;
  readonly #toObject: ToObject;
  readonly #path: string;
  readonly #backoff: Backoff;
  readonly #pace: Pace;
  #listed = false;
  #refused = false;
  #newsInWatch = false;
  /** Number of consecutive 404 answers. */
  #missing = 0;
  /** Number of consecutive server errors. */
  #unavailable = 0;
  #away = false;

  constructor(deps: UpstreamDeps, mirror: Mirror, limits: RelayLimits) {
    this.#deps = deps;
    this.mirror = mirror;
    this.guard = new ShrinkGuard(deps, limits);
    this.#limits = limits;
    this.#toObject = objectForm(mirror.kind);
    this.#path = collectionPath(mirror.kind);
    this.#pace = new Pace(deps.clock);
    const { backoffFirstMs: firstMs, backoffMostMs: mostMs } = limits;
    this.#backoff = new Backoff(deps, { firstMs, mostMs, jitter: "full" });
  }

  /** Whether the relay expects no list: then reads pass through, and readiness ignores this resource. */
  get passes(): boolean {
    return !this.mirror.ready && (this.refused || this.away);
  }

  /** Whether the upstream denies the relay the right to list this resource, which time alone does not change. */
  get refused(): boolean {
    return this.#refused;
  }

  /**
   * The upstream is well, and cannot tell this resource: the server of its aggregated API is away, or the
   * webhook that converts it. Of a built-in kind it is the upstream itself that is not well.
   */
  get away(): boolean {
    return this.#away;
  }

  /** Keeps the mirror equal to the upstream until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#listed) await this.#watch(signal);
        else await this.#listOnce(signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#failed(error, signal);
      }
    }
  }

  /** Lists the upstream's current state of the resource, in pages of one snapshot. */
  async list(signal: AbortSignal): Promise<Listing> {
    this.counts.lists++;
    const objects: FormedObject[] = [];
    let revision: number | undefined;
    let next = "";
    do {
      const more = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
      const page = await this.#page(`limit=${this.#limits.pageObjects}${more}`, signal);
      for (const object of page.objects) objects.push(object);
      revision ??= page.revision;
      next = page.next;
    } while (next !== "");
    return { objects, revision };
  }

  /** Returns the upstream's newest resourceVersion; the request reads at most one object. */
  async newestRevision(signal: AbortSignal): Promise<number> {
    return (await this.#page("limit=1", signal)).revision;
  }

  async #listOnce(signal: AbortSignal): Promise<void> {
    const listing = await this.list(signal);
    if (signal.aborted) return;
    const suspect = this.judge(listing);
    if (suspect !== undefined) return this.#confirm(suspect, signal);
    await this.mirror.replace(listing.objects, listing.revision);
    if (signal.aborted) return;
    this.#listed = true;
    this.#refused = false;
    this.#answered();
    this.#backoff.reset();
  }

  /** Undefined: the list is credible and may be applied. */
  judge({ objects }: Listing): Suspect | undefined {
    const { mirror, guard } = this;
    if (!guard.on || !mirror.ready) return undefined;
    const { state } = mirror.cache;
    return guard.judge(state.size, findMissing(state, objects).length);
  }

  /** Waits for the list that confirms or refutes a suspicious one; until then the mirror keeps its state, and ages. */
  async #confirm(suspect: Suspect, signal: AbortSignal): Promise<void> {
    this.mirror.lost();
    const resource = kindId(this.mirror.kind);
    this.#deps.log.warn("a list lacks too much, a second one must confirm it", {
      resource,
      ...suspect,
    });
    await sleep(this.#deps.clock, "client.backoff", suspect.confirmInMs, signal);
  }

  async #page(query: string, signal: AbortSignal): Promise<UpstreamPage> {
    const response = await this.#send(query, signal);
    const bytes = await response.read(this.#limits.pageBytesMax);
    if (bytes === "too-large") throw new Error(`page exceeds ${this.#limits.pageBytesMax} bytes`);
    return decodePage(bytes, this.#toObject, this.#pace);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const { watchSecondsMin } = this.#limits;
    const started = clock.monotonicMs();
    this.#newsInWatch = false;
    const seconds = watchSecondsMin + random.below(watchSecondsMin);
    const from = this.mirror.resumeFrom;
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${from}&timeoutSeconds=${seconds}&${checksumsParameter}=true`;
    const response = await this.#send(query, signal);
    this.#answered();
    this.counts.watches++;
    assert(this.counts.watching === 0, "two watches of one resource");
    this.counts.watching++;
    this.mirror.heard();
    try {
      await this.#follow(response, signal);
    } finally {
      this.counts.watching--;
      this.mirror.ended();
    }
    if (this.#newsInWatch) this.#backoff.reset();
    else if (clock.monotonicMs() - started < shortWatchMs) throw new Error("watch ended at once");
  }

  async #follow(response: ByteResponse, signal: AbortSignal): Promise<void> {
    const frames = new JsonFrames({ frameBytesMax: this.#limits.frameBytesMax });
    let isOver = false;
    const take = (chunk: Uint8Array): Promise<void> | undefined =>
      signal.aborted || isOver ? undefined : this.#take(frames, chunk);
    try {
      await response.stream((chunk) =>
        this.mirror.free === undefined ? take(chunk) : this.#takeLater(chunk, take),
      );
    } finally {
      isOver = true;
    }
  }

  /** Takes the chunk later: a list is being applied beside the stream, and the state must not change meanwhile. */
  async #takeLater(
    borrowed: Uint8Array,
    take: (chunk: Uint8Array) => Promise<void> | undefined,
  ): Promise<void> {
    const chunk = borrowed.slice();
    while (this.mirror.free !== undefined) await this.mirror.free;
    await take(chunk);
  }

  #take(frames: JsonFrames, chunk: Uint8Array): Promise<void> | undefined {
    const events: UpstreamEvent[] = [];
    let refused: Error | undefined;
    for (const frame of frames.pushBytes(chunk)) {
      const event = this.#event(frame);
      if (event instanceof Error) refused ??= event;
      else if (refused === undefined) events.push(event);
    }
    if (events.length > 0 && this.mirror.apply(events)) this.#newsInWatch = true;
    if (refused !== undefined) throw refused;
    // A socket delivers up to 32 chunks in one turn of the loop.
    return events.length < turnEventsMin ? undefined : this.#pace.turn();
  }

  #event(frame: Uint8Array): UpstreamEvent | Error {
    const all = members(frame, 0);
    const type = all.find((member) => member.key === "type");
    const object = all.find((member) => member.key === "object");
    if (type === undefined || object === undefined) throw new SyntaxError("no watch event");
    const name = textOf(frame, type.value);
    switch (name) {
      case "ADDED":
      case "MODIFIED":
        return { type: "SET", object: this.#toObject(frame, object.value) };
      case "DELETED":
        return { type: "DELETED", object: this.#toObject(frame, object.value) };
      case "BOOKMARK":
        return bookmark(frame, object.value);
      case "ERROR":
        return statusError(frame, object.value);
      default:
        throw new SyntaxError(`unknown watch event ${JSON.stringify(name)}`);
    }
  }

  async #send(query: string, signal: AbortSignal): Promise<ByteResponse> {
    const { http, headers } = this.#deps;
    const response = await http.send({
      method: "GET",
      target: `${this.#path}?${query}`,
      headers: { ...headers(), accept: "application/json" },
      signal,
    });
    if (response.status < 400) return response;
    const bytes = await response.read(statusBytesMax);
    const body = bytes === "too-large" ? "" : textOrJson(bytes);
    throw apiErrorOf(response.status, body, response.headers["retry-after"]);
  }

  async #failed(error: unknown, signal: AbortSignal): Promise<void> {
    this.mirror.lost();
    this.counts.failures++;
    if (this.#newsInWatch) this.#backoff.reset();
    this.#newsInWatch = false;
    const lostPlace = isLost(error);
    if (lostPlace) {
      this.counts.expired++;
      this.#listed = false;
    }
    this.#missing = isNotFound(error) ? this.#missing + 1 : 0;
    await this.#lookWithdrawn(signal);
    await this.#lookAway(error, signal);
    const delayMs = this.#backoff.nextMs() + (retryAfterMs(error) ?? 0);
    const refused = error instanceof ApiError && !lostPlace && !isTransient(error);
    const lasting = refused || error instanceof NoRevisionError;
    this.#refused = lasting;
    this.#deps.log[lasting || this.away ? "warn" : "info"]("upstream waits", {
      resource: kindId(this.mirror.kind),
      lostPlace,
      delayMs,
      error: error instanceof Error ? error.message : String(error),
    });
    await sleep(this.#deps.clock, "client.backoff", delayMs, signal);
  }

  #answered(): void {
    this.#unavailable = 0;
    this.#away = false;
  }

  async #lookAway(error: unknown, signal: AbortSignal): Promise<void> {
    if (!isServerError(error)) return this.#answered();
    this.#unavailable++;
    const mayBe = this.#unavailable >= awayAfter && !isBuiltin(this.mirror.kind);
    this.#away = mayBe && (await this.#isWell(signal));
  }

  /** Withdraws the resource only from a healthy upstream: a load balancer without backends may answer 404 to everything. */
  async #lookWithdrawn(signal: AbortSignal): Promise<void> {
    if (this.#missing < withdrawnAfter || !this.mirror.ready) return;
    if (await this.#isWell(signal)) this.#withdraw();
  }

  /** Whether the upstream is healthy: a load balancer without backends answers 5xx to every path. */
  async #isWell(signal: AbortSignal): Promise<boolean> {
    const { http, headers } = this.#deps;
    try {
      const asked = { method: "GET", target: "/readyz", headers: headers(), signal };
      const response = await http.send(asked);
      await response.read(statusBytesMax);
      return wellStatuses.has(response.status);
    } catch {
      return false;
    }
  }

  /** The upstream does not serve the resource any more (a removed APIService). When it does again, the relay lists it. */
  #withdraw(): void {
    this.#listed = false;
    this.mirror.withdraw();
  }
}

/** Whether a new list is needed: history is compacted, the stream is out of order, or the upstream's history is another one. */
function isLost(error: unknown): boolean {
  if (error instanceof OutOfOrderError || error instanceof ChecksumError) return true;
  if (!(error instanceof ApiError)) return false;
  if (error.code === 410) return true;
  const causes = error.status.details?.causes ?? [];
  return causes.some((cause) => cause.reason === "ResourceVersionTooLarge");
}

/** Whether the upstream answered with a server error, as opposed to being unreachable. */
function isServerError(error: unknown): boolean {
  return error instanceof ApiError && error.code >= 500;
}

function bookmark(frame: Uint8Array, span: Span): BookmarkEvent {
  const revision = revisionOf(frame, span);
  const annotations = annotationsOf(parseSpan(frame, span));
  const checksum = annotations[viewChecksumAnnotation];
  const count = annotations[viewCountAnnotation];
  if (checksum === undefined || count === undefined) return { type: "BOOKMARK", revision };
  return { type: "BOOKMARK", revision, view: { checksum, count: Number(count) } };
}

/** Decodes the annotations of an object; a missing one is undefined. */
function annotationsOf(object: unknown): Readonly<Record<string, string | undefined>> {
  const { metadata } = object as { readonly metadata?: AnyObject["metadata"] };
  return metadata?.annotations ?? {};
}

function statusError(frame: Uint8Array, span: Span): Error {
  const status = parseSpan(frame, span);
  const code =
    typeof status === "object" && status !== null && "code" in status ? Number(status.code) : 500;
  return apiErrorOf(code, status, undefined);
}
