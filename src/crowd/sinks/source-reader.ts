/**
 * One source of a sink: a selection of objects, followed from where the sink stands.
 *
 *   no position      list ──► SNAPSHOT_BEGIN, every object, SNAPSHOT_END ──► watch
 *   a position       watch from there
 *   history is gone  list ──► the difference to what the sink knows ──► watch
 *
 * S1  Every event is put once and in order; after a restart from the position that landed with it.
 * S2  A gap is closed by the difference, deletions included; a sink that cannot tell what it knows gets a
 *     whole snapshot between marks, and what is not in it is gone.
 * S3  Nothing is read while the buffer is full: the watch ends, and goes on later from its position.
 * S4  A source of a replay ends: with SNAPSHOT_END, or with a POSITION of its last revision once the watch has passed it.
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { given } from "#base/given.ts";
import { retryAfterMs } from "#client/api-errors.ts";
import { Backoff } from "#client/backoff.ts";
import type { Client, ListOf, WatchedEvent } from "#client/client.ts";
import { keyOf } from "#client/indexer.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import { Deltas } from "./deltas.ts";
import { type Encoding, encodeTold, type Told } from "./formats.ts";
import { errorOf, isHistoryGone } from "./history-gone.ts";
import {
  comparing,
  parsePosition,
  type Position,
  PositionCounter,
  snapshotBegun,
} from "./position.ts";
import type { RecordBuffer } from "./record-buffer.ts";
import type { RouteTemplate } from "./route-template.ts";
import type { KnownObject, RecordType, SinkSession } from "./sink-driver.ts";

export interface SinkSource {
  /** Name, unique within the sink and stored in it: `apps/v1/deployments`, with its namespace and selectors. */
  readonly name: string;
  readonly encoding: Encoding;
  readonly route: RouteTemplate;
  readonly selection: {
    readonly namespace?: string;
    readonly labelSelector?: string;
    readonly fieldSelector?: string;
  };
  /** What a replay sends of the source before its reader ends. Absent: everything, without end. */
  readonly replay?: Replay;
}

export type Replay =
  /** The whole state, between marks. */
  | { readonly kind: "state" }
  /** The events after `from`, up to `until`, both as decimal revisions. */
  | { readonly kind: "history"; readonly from: string; readonly until: string };

export interface SourceDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly counts: SourceCounts;
}

interface SourceCounts {
  /** Called for each record put into the buffer. */
  readonly took: (source: string, type: RecordType) => void;
}

const backoffLimits = { firstMs: 100, mostMs: 30_000 };
const watchSecondsMin = 300;
/** Duration of a replay's watch: servers send a bookmark before its end, which shows that nothing more comes. */
const replayWatchSeconds = 10;
const shortWatchMs = 1_000;
const pageObjects = 500;
/** Interval at which the position of a source without events is written, so that a restart finds its history. */
const positionMs = 300_000;

const nothing = { object: undefined, json: undefined } as const;

/** The source's history is compacted and records of this session may not be written yet, so a new session must begin. */
export class HistoryGoneError extends Error {
  constructor(source: string) {
    super(`the history of ${source} is gone: its state is compared`);
    this.name = "HistoryGoneError";
  }
}

export class SourceReader {
  readonly #deps: SourceDeps;
  readonly #source: SinkSource;
  readonly #session: SinkSession;
  readonly #buffer: RecordBuffer;
  readonly #backoff: Backoff;
  readonly #counter = new PositionCounter();
  readonly #deltas = new Deltas();
  /** Text of the position in the last record. */
  #text: string | undefined;
  /** Position at which the next watch begins; newer than `#text` after bookmarks. */
  #position: Position | undefined;
  #hasPut = false;
  #isDone: boolean;
  #positionPutMs: number;

  constructor(
    deps: SourceDeps,
    source: SinkSource,
    to: { readonly session: SinkSession; readonly buffer: RecordBuffer },
  ) {
    this.#deps = deps;
    this.#source = source;
    this.#session = to.session;
    this.#buffer = to.buffer;
    this.#backoff = new Backoff(deps, backoffLimits);
    this.#text = to.session.positions.get(source.name);
    this.#position = parsePosition(this.#text);
    this.#isDone = this.#isOfState && this.#position !== undefined;
    this.#positionPutMs = deps.clock.monotonicMs();
  }

  get #isOfState(): boolean {
    return this.#source.replay?.kind === "state";
  }

  /** Reads the source until `signal` aborts or its replay is put. Rejects with HistoryGoneError, or when the known objects cannot be read from the sink. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isDone) {
      try {
        if (this.#position === undefined) await this.#list(signal);
        else await this.#watch(this.#position, signal);
        this.#backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        await this.#failed(error, signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { name } = this.#source;
    if (this.#hasPut) throw new HistoryGoneError(name);
    const isOfState = this.#isOfState;
    const isNew = this.#text === undefined && !isOfState;
    const known = isNew ? undefined : await this.#known();
    const isSnapshot = isOfState || known === undefined || this.#text === snapshotBegun;
    // A replay that ends early leaves a sink that knows its objects: a comparison completes it.
    this.#text = isSnapshot && !isOfState ? snapshotBegun : comparing;
    if (isOfState || known === undefined) this.#putMark("SNAPSHOT_BEGIN", "");
    const revision = await this.#pages(known ?? new Map(), signal);
    if (revision === undefined) return;
    this.#text = revision;
    this.#position = parsePosition(revision);
    this.#putMark(isSnapshot ? "SNAPSHOT_END" : "POSITION", revision);
    this.#isDone = isOfState;
  }

  /** @returns the list's resourceVersion. Undefined: the reader was stopped. */
  async #pages(known: Map<string, KnownObject>, signal: AbortSignal): Promise<string | undefined> {
    const { encoding, selection } = this.#source;
    let next: string | undefined;
    let revision = "";
    do {
      await untilRoom(this.#buffer, signal);
      const from = given({ continue: next });
      const call = { ...selection, ...from, limit: pageObjects, signal };
      const page = await this.#deps.client.list<AnyObject>(encoding.ref, call);
      if (signal.aborted) return undefined;
      revision ||= page.metadata.resourceVersion ?? "";
      for (const item of page.items) this.#compare(known, withKind(page, item), revision);
      next = page.metadata.continue === "" ? undefined : page.metadata.continue;
    } while (next !== undefined);
    for (const [key, { uid }] of known) this.#putGone(key, uid, revision);
    return revision;
  }

  /** Puts the difference of a listed object, and removes it from `known`; objects that remain there have been deleted. */
  #compare(known: Map<string, KnownObject>, object: AnyObject, revision: string): void {
    const key = keyOf(object);
    const before = known.get(key);
    known.delete(key);
    const { uid = "", resourceVersion = "" } = object.metadata ?? {};
    if (before !== undefined && before.uid !== uid) this.#putGone(key, before.uid, revision);
    if (before?.uid !== uid || this.#isOfState) return this.#putObject("ADDED", object);
    if (before.resourceVersion !== resourceVersion) this.#putObject("MODIFIED", object);
  }

  async #watch(position: Position, signal: AbortSignal): Promise<void> {
    const { client, clock, random } = this.#deps;
    const { encoding, selection } = this.#source;
    const started = clock.monotonicMs();
    const taking = new Taking(position);
    const until = AbortSignal.any([signal, taking.stopped.signal]);
    const { resourceVersion } = position;
    const timeoutSeconds =
      this.#source.replay === undefined
        ? watchSecondsMin + random.below(watchSecondsMin)
        : replayWatchSeconds;
    const call = { ...selection, resourceVersion, allowWatchBookmarks: true, timeoutSeconds };
    await client.watch<AnyObject>(encoding.ref, { ...call, signal: until }, (events) =>
      this.#take(events, taking),
    );
    if (taking.refused !== undefined) throw taking.refused;
    if (taking.stopped.signal.aborted) return untilRoom(this.#buffer, signal);
    if (taking.events === 0 && clock.monotonicMs() - started < shortWatchMs) {
      throw new Error("watch ended at once");
    }
  }

  #take(events: readonly WatchedEvent<AnyObject>[], taking: Taking): void {
    for (const event of events) {
      if (taking.stopped.signal.aborted || taking.refused !== undefined) return;
      taking.events++;
      if (event.type === "ERROR") taking.refused = errorOf(event.object);
      else if (this.#isPast(event)) this.#end(taking);
      else if (event.type === "BOOKMARK") this.#bookmark(event.object);
      else if (!taking.skips(event.object)) this.#takeObject(event.type, event);
      if (this.#buffer.isFull) taking.stopped.abort();
    }
  }

  /** Whether all events of the replay came before this one; several may share the last revision. */
  #isPast({ type, object }: WatchedEvent<AnyObject>): boolean {
    const { replay } = this.#source;
    const at = parsePosition(object.metadata?.resourceVersion)?.resourceVersion;
    if (replay?.kind !== "history" || at === undefined) return false;
    const beyond = BigInt(at) - BigInt(replay.until);
    return type === "BOOKMARK" ? beyond >= 0n : beyond > 0n;
  }

  #end(taking: Taking): void {
    const { replay } = this.#source;
    if (replay?.kind !== "history") return;
    const at = this.#position?.resourceVersion ?? "0";
    if (BigInt(at) < BigInt(replay.until)) this.#text = replay.until;
    this.#isDone = true;
    this.#putMark("POSITION", replay.until);
    taking.stopped.abort();
  }

  #takeObject(type: RecordType, { object, json }: WatchedEvent<AnyObject>): void {
    this.#text = this.#counter.next(object.metadata?.resourceVersion ?? "");
    this.#position = parsePosition(this.#text);
    this.#putObject(type, object, json);
  }

  #bookmark({ metadata }: AnyObject): void {
    const position = parsePosition(metadata?.resourceVersion);
    if (position === undefined) return;
    this.#position = position;
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#positionPutMs < positionMs) return;
    this.#text = position.resourceVersion;
    this.#putMark("POSITION", position.resourceVersion);
  }

  async #known(): Promise<Map<string, KnownObject> | undefined> {
    try {
      return await this.#session.known(this.#source.name);
    } catch (error) {
      throw new SinkAskedError(error);
    }
  }

  #putObject(type: RecordType, object: AnyObject, json?: Uint8Array): void {
    const { uid = "", resourceVersion = "", namespace = "", name = "" } = object.metadata ?? {};
    const id = `${uid}/${resourceVersion}`;
    this.#put({ type, id, namespace, name, resourceVersion, object, json }, uid);
  }

  #putGone(key: string, uid: string, resourceVersion: string): void {
    const slash = key.indexOf("/");
    const namespace = slash < 0 ? "" : key.slice(0, slash);
    const name = key.slice(slash + 1);
    const id = `${uid}/${resourceVersion}`;
    this.#put({ ...nothing, type: "DELETED", id, namespace, name, resourceVersion }, uid);
  }

  #putMark(type: RecordType, resourceVersion: string): void {
    this.#positionPutMs = this.#deps.clock.monotonicMs();
    const id = `${this.#source.name}/${type}/${resourceVersion}`;
    this.#put({ ...nothing, type, id, namespace: "", name: "", resourceVersion }, "");
  }

  #put(told: Told, uid: string): void {
    const { name: source, encoding, route } = this.#source;
    const { type, id, namespace, name, resourceVersion } = told;
    const metadata = { namespace, name, uid };
    const record = {
      type,
      source,
      position: this.#text ?? "",
      key: namespace === "" ? name : `${namespace}/${name}`,
      uid,
      resourceVersion,
      id,
      route: name === "" ? route.ofMarks(encoding.ref) : route.of(encoding.ref, { metadata }),
      value: encodeTold(encoding, told, this.#deltas),
    };
    this.#hasPut = true;
    this.#deps.counts.took(source, type);
    this.#buffer.put(record, this.#deps.clock.monotonicMs());
  }

  async #failed(error: unknown, signal: AbortSignal): Promise<void> {
    if (error instanceof HistoryGoneError || error instanceof SinkAskedError) throw error;
    const isGone = isHistoryGone(error);
    if (isGone) this.#position = undefined;
    const delayMs = isGone ? 0 : Math.max(this.#backoff.nextMs(), retryAfterMs(error) ?? 0);
    const lasting = error instanceof ApiError && error.code >= 400 && error.code < 500 && !isGone;
    this.#deps.log[lasting ? "warn" : "info"]("a sink's source waits", {
      source: this.#source.name,
      isGone,
      delayMs,
      error: error instanceof Error ? error.message : String(error),
    });
    if (isGone && this.#hasPut) throw new HistoryGoneError(this.#source.name);
    await sleep(this.#deps.clock, "client.backoff", delayMs, signal);
  }
}

/** The sink did not return its known objects: a failure of the sink, not of the source. */
class SinkAskedError extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "SinkAskedError";
  }
}

/** State of one watch. */
class Taking {
  /** Aborted to end the watch when the buffer is full. */
  readonly stopped = new AbortController();
  refused: ApiError | undefined;
  events = 0;
  #left: Position["skip"];

  constructor({ skip }: Position) {
    this.#left = skip;
  }

  /** Whether the event has been written before. */
  skips({ metadata }: AnyObject): boolean {
    const left = this.#left;
    if (left === undefined) return false;
    const isSame = metadata?.resourceVersion === left.resourceVersion;
    this.#left = isSame && left.events > 1 ? { ...left, events: left.events - 1 } : undefined;
    return isSame;
  }
}

async function untilRoom(buffer: RecordBuffer, signal: AbortSignal): Promise<void> {
  if (!buffer.isFull || signal.aborted) return;
  const ended = Promise.withResolvers<void>();
  const end = (): void => ended.resolve();
  signal.addEventListener("abort", end, { once: true });
  await Promise.race([buffer.room(), ended.promise]);
  signal.removeEventListener("abort", end);
}

/** Adds apiVersion and kind, which stock servers omit in list items. */
function withKind(page: ListOf<AnyObject> & KubeObject, item: AnyObject): AnyObject {
  if (item.kind !== undefined || page.kind === undefined) return item;
  const { apiVersion } = page;
  return {
    ...given({ apiVersion }),
    kind: page.kind.replace(/List$/, ""),
    ...item,
  };
}
