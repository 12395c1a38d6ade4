/**
 * The Watch service: many watches on one stream, each a cursor of the store.
 *
 *   create ─▶ "created" answer ─▶ events, in revision order, whole revisions ─▶ canceled
 *
 * E1  Nothing is queued per watch: a stream whose backlog is above its limit refuses what the store
 *     delivers, and the store's cursors wait. So a slow client costs its backlog and no more.
 * E2  Progress never overtakes events: the answer goes through the same ordered stream, and only when
 *     every watch of the stream stands at the commit revision it names.
 * E3  A watch that needs compacted history is canceled once, with the true compact revision.
 * E4  All events of one revision are in one response, unless the client asked for fragments.
 */
import { must } from "#base/assert.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { FullStore } from "#store/full-store.ts";
import type { Commit, Revision, StoreWatch } from "#store/store.ts";
import type { Input } from "#wire/etcd-codec.ts";
import * as m from "#wire/etcd-messages.ts";
import { prefixBytes } from "#wire/grpc.ts";
import { stream, type Method, type ServerStream, type StreamEnd } from "./call.ts";
import type { Identity } from "./identity.ts";
import { span } from "./range.ts";
import { WatchFrames } from "./watch-frames.ts";
import type { Cut } from "./watch-responses.ts";

export interface WatchLimits {
  /** Maximum watches of all streams. Beyond it a watch is created and cancelled immediately, with the reason. */
  readonly watchesMax: number;
  /** A stream with more unsent bytes gets no further responses. */
  readonly streamBacklogBytes: number;
  /** Approximate size at which responses are split between revisions. */
  readonly responseBytes: number;
  /** Size at which a fragmented response is split between events: etcd's request limit plus overhead. */
  readonly fragmentBytes: number;
  /** Interval of progress messages for a watch with progress_notify and no events in between. */
  readonly progressMs: number;
}

interface WatchDeps {
  readonly store: FullStore;
  readonly clock: Clock;
  readonly identity: Identity;
}

/** Means "no watch" on the wire. */
const noWatchId = -1;

export class WatchService {
  readonly #deps: WatchDeps;
  readonly #limits: WatchLimits;
  readonly #shared: Shared;

  constructor(deps: WatchDeps, limits: WatchLimits) {
    this.#deps = deps;
    this.#shared = { watches: 0, frames: new WatchFrames(deps.identity) };
    this.#limits = limits;
  }

  methods(): Readonly<Record<string, Method>> {
    return { Watch: stream((call) => this.#open(call)) };
  }

  #open(call: ServerStream): StreamEnd {
    const watches = new WatchStream({ ...this.#deps, call, shared: this.#shared }, this.#limits);
    return {
      message: (bytes) => watches.request(m.watchRequest.decode(bytes)),
      // As in etcd, a client that sends no more still receives.
      halfClosed: () => undefined,
      closed: () => watches.close(),
    };
  }
}

/** State shared by the streams of one server. */
interface Shared {
  watches: number;
  readonly frames: WatchFrames;
}

interface Watch extends Cut {
  readonly id: number;
  readonly startRevision: number;
  readonly progressNotify: boolean;
  /** Set as soon as the store has created the watch; no sink is called before. */
  cursor: StoreWatch | undefined;
  /** Whether an event was sent since the last progress message. */
  heard: boolean;
  blocked: boolean;
}

class WatchStream {
  readonly #deps: WatchDeps & { readonly call: ServerStream; readonly shared: Shared };
  readonly #limits: WatchLimits;
  readonly #watches = new Map<number, Watch>();
  #nextId = 0;
  #draining = false;
  #progressTimer: Timer | undefined;

  constructor(
    deps: WatchDeps & { readonly call: ServerStream; readonly shared: Shared },
    limits: WatchLimits,
  ) {
    this.#deps = deps;
    this.#limits = limits;
  }

  request(request: m.WatchRequest): void {
    if (request.create !== undefined) this.#create(request.create);
    else if (request.cancel !== undefined) this.#cancel(request.cancel.watchId);
    else if (request.progress !== undefined) this.#progress([...this.#watches.values()], noWatchId);
  }

  close(): void {
    this.#progressTimer?.cancel();
    for (const { cursor } of this.#watches.values()) cursor?.close();
    this.#deps.shared.watches -= this.#watches.size;
    this.#watches.clear();
  }

  #create(request: m.WatchCreateRequest): void {
    const refused = this.#refuseCreate(request);
    if (refused !== undefined) {
      this.#send({ watchId: noWatchId, created: true, canceled: true, cancelReason: refused });
      return;
    }
    const id = request.watchId === 0 ? this.#takeId() : request.watchId;
    this.#send({ watchId: id, created: true });
    if (this.#isBelowAll(request.startRevision)) {
      this.#compacted(id, this.#deps.identity.compactRevision(this.#deps.store));
      return;
    }
    const watch = this.#newWatch(request, id);
    this.#watches.set(id, watch);
    this.#deps.shared.watches++;
    const range = span(request.key === "" ? "\0" : request.key, request.rangeEnd);
    // The store calls sinks in a later microtask, so `created` precedes every event.
    watch.cursor = this.#deps.store.watchFrom(range, this.#start(request.startRevision), {
      deliver: (commits) => this.#deliver(watch, commits),
      compacted: (revision) => this.#compacted(id, revision),
    });
    if (request.progressNotify) this.#armProgress();
  }

  #newWatch(request: m.WatchCreateRequest, id: number): Watch {
    const { prevKv, fragment } = request;
    const noPut = request.filters.includes(m.FilterType.noPut);
    const noDelete = request.filters.includes(m.FilterType.noDelete);
    return {
      id,
      startRevision: request.startRevision,
      progressNotify: request.progressNotify,
      asked: [prevKv, noPut, noDelete, fragment].join(),
      prevKv,
      noPut,
      noDelete,
      responseBytes: this.#limits.responseBytes,
      fragmentBytes: fragment ? this.#limits.fragmentBytes : Number.POSITIVE_INFINITY,
      cursor: undefined,
      heard: false,
      blocked: false,
    };
  }

  #refuseCreate({ key, rangeEnd, watchId }: m.WatchCreateRequest): string | undefined {
    const { start, end } = span(key === "" ? "\0" : key, rangeEnd);
    if (start >= end) return "mvcc: watcher range is empty";
    if (this.#watches.has(watchId) && watchId !== 0) {
      return "mvcc: duplicate watch ID provided on the WatchStream";
    }
    const { watchesMax } = this.#limits;
    if (this.#deps.shared.watches < watchesMax) return undefined;
    return `etcdserver: too many watchers: at most ${watchesMax}`;
  }

  /** The lowest revision of the first event. */
  #start(startRevision: number): Revision {
    const { store, identity } = this.#deps;
    if (startRevision === 0) return (store.commitRevision + 1) as Revision;
    // Revisions up to 1 have no changes, so a start there needs no history.
    const floor = identity.compactRevision(store) <= 1 ? store.compactRevision + 1 : 0;
    return Math.max(startRevision, floor) as Revision;
  }

  /** etcd reports "nothing compacted" as -1, and accepts that as a revision too. */
  #isBelowAll(startRevision: number): boolean {
    const { store, identity } = this.#deps;
    return startRevision < 0 && startRevision < identity.compactRevision(store);
  }

  #takeId(): number {
    while (this.#watches.has(this.#nextId)) this.#nextId++;
    return this.#nextId++;
  }

  #cancel(id: number): void {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    watch.cursor?.close();
    this.#forget(id);
    this.#send({ watchId: id, canceled: true });
  }

  #forget(id: number): void {
    if (this.#watches.delete(id)) this.#deps.shared.watches--;
  }

  #deliver(watch: Watch, commits: readonly Commit[]): boolean {
    const { call, shared, store, identity } = this.#deps;
    if (call.backlogBytes > this.#limits.streamBacklogBytes) {
      watch.blocked = true;
      this.#resumeLater();
      return false;
    }
    const compactRevision = identity.compactRevision(store);
    const context = { shared: shared.watches > 1, compactRevision };
    for (const frame of shared.frames.of(watch.id, watch, commits, context)) {
      watch.heard = true;
      call.sendPieces(frame);
    }
    return true;
  }

  #resumeLater(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#deps.call.onDrain(() => {
      this.#draining = false;
      for (const watch of this.#watches.values()) {
        if (!watch.blocked) continue;
        watch.blocked = false;
        watch.cursor?.resume();
      }
    });
  }

  #compacted(id: number, compactRevision: number): void {
    this.#forget(id);
    // As in etcd, this header has no revision.
    const header = this.#deps.identity.header(0);
    this.#send({ header, watchId: id, canceled: true, compactRevision });
  }

  #progress(watches: readonly Watch[], id: number): void {
    const { commitRevision } = this.#deps.store;
    const synced = watches.every(
      ({ cursor, startRevision }) =>
        must(cursor, "a watch without cursor").position >= commitRevision &&
        startRevision <= commitRevision,
    );
    if (synced && watches.length > 0) this.#send({ watchId: id });
  }

  #armProgress(): void {
    this.#progressTimer ??= this.#deps.clock.after("etcd.progress", this.#limits.progressMs, () => {
      this.#progressTimer = undefined;
      this.#progressDue();
    });
  }

  #progressDue(): void {
    const asked = [...this.#watches.values()].filter(({ progressNotify }) => progressNotify);
    // The timer is set first, so that a failing answer is not the last one.
    if (asked.length > 0) this.#armProgress();
    for (const watch of asked) {
      if (!watch.heard) this.#progress([watch], watch.id);
      watch.heard = false;
    }
  }

  #send(response: Input<m.WatchResponse>): void {
    const { call, identity, store } = this.#deps;
    const header = response.header ?? identity.header(store.commitRevision);
    call.send(m.watchResponse.encode({ ...response, header }, prefixBytes));
  }
}
