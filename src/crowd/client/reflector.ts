/**
 * The reflector keeps a sink equal to the server's state of one resource: it lists once, then watches from
 * there for ever, and resumes at the last resourceVersion seen.
 *
 *   list ──► watch ──(cut, timeout)──► watch from the last resourceVersion
 *     ▲        └──────(410)──────────┐
 *     └──────────────────────────────┘  the sink gets the new list as a whole and takes the difference
 *
 * With `watchList` the list comes as the first events of the watch, and needs no second request. A server
 * that refuses this is always listed from then on.
 *
 * In     answers of a Client. Out: `replace` with a whole list, `apply` with batches in order.
 * Bounds one request at a time; failures wait `backoff` (0.1 s to 30 s with jitter), or as long as a 429
 *        asks for; a watch is renewed after 5 to 10 minutes so that load spreads over replicas.
 * After  client-go tools/cache/reflector.go; differs in that a plain cut never relists.
 */
import type { KubeObject } from "#api/object.ts";
import { headOf } from "#api/json/object-head.ts";
import { ApiError } from "#api/status.ts";
import { sleep } from "#platform/clock.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { Backoff } from "./backoff.ts";
import type { Client, ListOf, ResourceRef, WatchedEvent } from "./client.ts";
import { InitialEvents } from "./initial-events.ts";
import { isStatus, apiErrorOf } from "./transport.ts";
import { isNotFound, isTransient, retryAfterMs } from "./api-errors.ts";

export interface ReflectorDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
}

export interface Selection {
  readonly ref: ResourceRef;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Requests PartialObjectMetadata: no spec, no status. */
  readonly metadataOnly?: boolean;
  /** Requests the initial state object by object in the watch instead of as one large list. */
  readonly watchList?: boolean;
  /**
   * For protobuf: objects are decoded on arrival and kept decoded, which is faster to read again and takes three times
   * the memory. Otherwise their fields are decoded when they are read.
   */
  readonly keepsDecoded?: boolean;
}

export interface ReflectorSink<T> {
  /** Replaces the state with that at `resourceVersion`. */
  replace(items: readonly T[], resourceVersion: string): void;
  /** Applies changes to the state: only ADDED, MODIFIED, DELETED and BOOKMARK. Must not throw. */
  apply(events: readonly WatchedEvent<T>[]): void;
}

const backoffLimits = { firstMs: 100, mostMs: 30_000 };
/** As upstream, each watch lives 5 to 10 minutes. */
const watchSecondsMin = 300;
/** A watch that ended sooner without an event counts as a failure, to avoid a tight loop. */
const shortWatchMs = 1_000;
/** After this many consecutive watches without the end of initial events, the server is assumed not to support them. */
const unmarkedMax = 3;
/** Page size of lists from storage; a list from the server's cache ("0") has no pages. */
const pageObjects = 5_000;

export async function runReflector<T extends KubeObject>(
  deps: ReflectorDeps,
  selection: Selection,
  sink: ReflectorSink<T>,
  signal: AbortSignal,
): Promise<void> {
  await new Reflector(deps, selection, sink, signal).run();
}

class Reflector<T extends KubeObject> {
  readonly #deps: ReflectorDeps;
  readonly #selection: Selection & { readonly isReadOnly: boolean };
  readonly #sink: ReflectorSink<T>;
  readonly #signal: AbortSignal;
  readonly #backoff: Backoff;
  /** resourceVersion for the next watch; undefined: list first. */
  #position: string | undefined;
  /** "0" accepts any state of the server; after a 410 only the newest is acceptable. */
  #listFrom: "0" | "" = "0";
  #hasListed = false;
  /** Set by an ERROR event of the current watch. */
  #refused: ApiError | undefined;
  #eventsInWatch = 0;
  /** The initial events of a watch, until their end mark. */
  #initial: InitialEvents<T> | undefined;
  #watchesList: boolean;
  #unmarked = 0;

  constructor(
    deps: ReflectorDeps,
    selection: Selection,
    sink: ReflectorSink<T>,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    const { watchList = false, keepsDecoded = false, ...rest } = selection;
    this.#selection = { ...rest, isReadOnly: !keepsDecoded };
    this.#watchesList = watchList;
    this.#sink = sink;
    this.#signal = signal;
    this.#backoff = new Backoff({ random: deps.random }, backoffLimits);
  }

  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      try {
        if (this.#position !== undefined) await this.#watch(this.#position);
        else if (this.#watchesList) await this.#watchFromState();
        else await this.#list();
      } catch (error) {
        if (this.#signal.aborted) return;
        await this.#failed(error);
      }
    }
  }

  async #list(): Promise<void> {
    const { ref, ...selectors } = this.#selection;
    const items: T[] = [];
    let next: string | undefined;
    let resourceVersion: string | undefined;
    do {
      const start = next === undefined ? { resourceVersion: this.#listFrom } : { continue: next };
      const paged = this.#listFrom === "" ? { limit: pageObjects } : {};
      const call = { ...selectors, ...start, ...paged, signal: this.#signal };
      const page = await this.#deps.client.list<T>(ref, call);
      if (this.#signal.aborted) return;
      for (const item of page.items) items.push(withKind(page, item));
      resourceVersion ??= page.metadata.resourceVersion;
      next = page.metadata.continue === "" ? undefined : page.metadata.continue;
    } while (next !== undefined);
    this.#replace(items, resourceVersion ?? "");
  }

  #replace(items: readonly T[], resourceVersion: string): void {
    this.#position = resourceVersion;
    this.#hasListed = true;
    this.#backoff.reset();
    this.#sink.replace(items, resourceVersion);
  }

  async #watchFromState(): Promise<void> {
    this.#initial = new InitialEvents<T>();
    try {
      await this.#watch(this.#listFrom);
      this.#unmarked = this.#initial === undefined ? 0 : this.#unmarked + 1;
      this.#watchesList = this.#unmarked < unmarkedMax;
    } catch (error) {
      if (this.#initial === undefined || !isUnsupported(error)) throw error;
      this.#watchesList = false;
    } finally {
      this.#initial = undefined;
    }
  }

  async #watch(position: string): Promise<void> {
    const { ref, ...selectors } = this.#selection;
    const { client, clock, random } = this.#deps;
    const started = clock.monotonicMs();
    this.#refused = undefined;
    this.#eventsInWatch = 0;
    const timeoutSeconds = watchSecondsMin + random.below(watchSecondsMin);
    const sendInitialEvents = this.#initial !== undefined;
    const from = { resourceVersion: position, sendInitialEvents, allowWatchBookmarks: true };
    const call = { ...selectors, ...from };
    await client.watch<T>(ref, { ...call, timeoutSeconds, signal: this.#signal }, (events) =>
      this.#take(events),
    );
    if (this.#refused !== undefined) throw this.#refused;
    if (this.#eventsInWatch > 0) this.#backoff.reset();
    else if (clock.monotonicMs() - started < shortWatchMs) throw new Error("watch ended at once");
  }

  #take(events: readonly WatchedEvent<T>[]): void {
    if (this.#signal.aborted || this.#refused !== undefined) return;
    let good = events;
    const bad = events.findIndex((event) => event.type === "ERROR");
    if (bad >= 0) {
      const status: unknown = events[bad]?.object;
      this.#refused = apiErrorOf(isStatus(status) ? (status.code ?? 500) : 500, status, undefined);
      good = events.slice(0, bad);
    }
    if (this.#initial !== undefined) good = this.#takeInitial(this.#initial, good);
    const last = good.at(-1);
    const version = last && headOf(last.object).resourceVersion;
    if (version === undefined) return;
    this.#eventsInWatch += good.length;
    this.#sink.apply(good);
    this.#position = version;
  }

  /** @returns the events after the initial ones. */
  #takeInitial(
    initial: InitialEvents<T>,
    events: readonly WatchedEvent<T>[],
  ): readonly WatchedEvent<T>[] {
    const taken = initial.take(events);
    if (taken === 0) return [];
    this.#initial = undefined;
    const end = events[taken - 1];
    this.#replace(initial.objects(), (end && headOf(end.object).resourceVersion) ?? "");
    return events.slice(taken);
  }

  async #failed(error: unknown): Promise<void> {
    if (this.#eventsInWatch > 0) this.#backoff.reset();
    this.#eventsInWatch = 0;
    const { clock } = this.#deps;
    const gone = isGone(error);
    if (gone) {
      this.#position = undefined;
      this.#listFrom = "";
    }
    const delayMs = Math.max(this.#backoff.nextMs(), retryAfterMs(error) ?? 0);
    this.#say(error, gone, delayMs);
    await sleep(clock, "client.backoff", delayMs, this.#signal);
  }

  /**
   * Logs why the reflector waits. A refusal that time does not cure (no rights, no such resource) is a warning for
   * people to see. A resource that was served and is served no longer is not: its definition is gone, and the informer
   * ends soon.
   */
  #say(error: unknown, gone: boolean, delayMs: number): void {
    const isUnserved = this.#hasListed && isNotFound(error);
    const lasting = error instanceof ApiError && !gone && !isUnserved && !isTransient(error);
    this.#deps.log[lasting ? "warn" : "debug"]("reflector waits", {
      resource: this.#selection.ref.resource,
      gone,
      delayMs,
      error: error instanceof Error ? error.message : String(error),
    });
  }
}

/** Stock servers omit apiVersion and kind in list items; the local copy always has them. */
function withKind<T extends KubeObject>(page: ListOf<T> & KubeObject, item: T): T {
  if (item.kind !== undefined || page.kind === undefined) return item;
  const kind = page.kind.replace(/List$/, "");
  return { apiVersion: page.apiVersion, ...item, kind };
}

/** Whether the server does not support initial events, or not for this resource. */
function isUnsupported(error: unknown): boolean {
  return error instanceof ApiError && [400, 405, 422].includes(error.status.code ?? 0);
}

/** Whether the position is lost, so that a new list is necessary. */
function isGone(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.status.code === 410) return true;
  // A server restored from an older state will never know our position.
  const causes = error.status.details?.causes ?? [];
  return causes.some((cause) => cause.reason === "ResourceVersionTooLarge");
}
