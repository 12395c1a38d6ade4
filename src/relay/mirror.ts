/**
 * The mirror of one resource: a watch cache fed by one upstream stream, and the judge of that stream.
 *
 * In     `replace` with a whole list at one revision, `apply` with events in the upstream's order.
 * Holds  1. state(revision) is the upstream's, for every closed revision outside of a gap. 2. what a
 *        stream repeats is dropped; what comes too late to be in order is OutOfOrderError, and the
 *        next list mends it. 3. a later list becomes the events it takes, each at its object's own
 *        revision: watchers see a difference, never a flood, and are never sent away.
 * Open   upstream may tell several changes of one revision one by one (a lease that takes its objects
 *        along). They are applied as one when they come together; later parts get fractions. Nothing
 *        marks the last part: a revision stays open until something above it is told, or a list holds
 *        it. No bookmark names an open revision, and an upstream watch resumes below it.
 * Gap    a list at L after a loss at C says what is there, not what came and went between. Positions
 *        strictly between C and L are therefore refused (410) from then on, but for one at which a
 *        list beside the stream showed this very state. L is good; C is good when it is closed: of an
 *        open one an object may be missing here that was gone again before L.
 * Late   what a stream tells after its time is found out when it comes. A cut may swallow it first:
 *        so a watch resumes as many as `overlapFrames` frames heard within `overlapMs` before the end
 *        of the last one, which tells them again. What came is dropped as a repeat, what did not
 *        come is out of order.
 */
import { expired } from "#api/status.ts";
import { Ring } from "#base/ring.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Change } from "#watch/cache-state.ts";
import { WatchCache } from "#watch/cache.ts";
import { wholeRevision } from "#watch/cache-event.ts";
import { noHistory } from "#watch/history.ts";
import type { MemoPool } from "#watch/memo-pool.ts";
import { type ObjectSource, SharedObject } from "#watch/shared-object.ts";
import { SortedSet } from "#watch/sorted-set.ts";
import { compilePredicate } from "#watch/predicate.ts";
import type { ViewState } from "#watch/watch-item.ts";
import { fieldValue, selectableFields } from "#api/selectable-fields.ts";
import { PassedRevisions } from "./passed-revisions.ts";
import { memberHash } from "./digest.ts";
import type { RelayLimits } from "./limits.ts";
import type { MirroredKind } from "./mirrored-kind.ts";
import type { FormedObject } from "./object-form.ts";

export type UpstreamEvent =
  | { readonly type: "SET" | "DELETED"; readonly object: FormedObject }
  | {
      readonly type: "BOOKMARK";
      readonly revision: number;
      /** What the upstream holds at `revision`, when it says so (a relay does). */
      readonly view?: ViewState | undefined;
    };

/** The stream broke its promise of order: only a list tells what is true now. */
export class OutOfOrderError extends Error {
  constructor(revision: number, key: string, at: number) {
    super(`upstream sent ${key} at resourceVersion ${revision} after ${at}`);
    this.name = "OutOfOrderError";
  }
}

/** What the mirror holds is not what the upstream holds: only a list tells what is true now. */
export class ChecksumError extends Error {
  constructor(held: ViewState, told: ViewState, revision: number) {
    const text = (view: ViewState): string => `${view.count} objects ${view.checksum}`;
    super(`the mirror holds ${text(held)} at ${revision}, its upstream ${text(told)}`);
    this.name = "ChecksumError";
  }
}

/** Positions strictly between, but for those at which a list showed the state held here. */
interface Gap {
  readonly above: number;
  readonly below: number;
  readonly good: readonly number[];
}

/** Changes of one resource by the revision they are told at. */
type Timeline = Map<number, Change[]>;

const everything = compilePredicate({ namespace: "", namespaced: true });
const indexedField = "spec.nodeName";
/** Parts of one revision; the sum stays exact for revisions up to 2^41. */
const part = 2 ** -12;
const tooOld = "The resourceVersion for the provided watch is too old.";

/** Frames of late, and what was told before each: where a watch may have to resume. */
interface Heard {
  readonly ms: number;
  readonly before: number;
}

export interface MirrorDeps {
  readonly clock: Clock;
  readonly memos: MemoPool;
  /** How long ago the oldest event was heard of those just brought to watchers. */
  readonly dispatched?: (ageMs: number) => void;
}

export interface MirrorCounts {
  events: number;
  duplicates: number;
  reconciled: number;
  outOfOrder: number;
  /** Bookmarks whose sum was compared, and those that differed. */
  checked: number;
  mismatched: number;
}

export class Mirror {
  readonly kind: MirroredKind;
  readonly cache: WatchCache;
  readonly counts: MirrorCounts = {
    events: 0,
    duplicates: 0,
    reconciled: 0,
    outOfOrder: 0,
    checked: 0,
    mismatched: 0,
  };
  readonly #clock: Clock;
  readonly #limits: RelayLimits;
  readonly #source: ObjectSource;
  readonly #waiters = new Set<{ readonly revision: number; readonly done: () => void }>();
  #gaps: readonly Gap[] = [];
  /** Gaps beyond the number remembered: no position below this is good. */
  #gapFloor = 0;
  /** Lists beside the stream found the state since the change at `at` to be that at each of `to` too. */
  #proof: { readonly at: number; readonly to: readonly number[] } = { at: 0, to: [] };
  /** The newest list holds everything at or below. */
  #coveredTo = 0;
  #ready = false;
  #isClosed = false;
  #connected = false;
  #heardMs: number;
  #flushedMs = Number.NEGATIVE_INFINITY;
  #flushTimer: Timer | undefined;
  /** The newest revision that something above it has closed; below it all are. */
  #closedAt = 0;
  readonly #late: Ring<Heard>;
  /** The upstream's sums say that the mirror is wrong; "unfounded": a list said it is not. */
  #suspicion: "none" | "open" | "unfounded" = "none";
  #endedMs = 0;
  #framesSinceEnd = false;
  /** When the oldest event was heard that watchers have not been brought. */
  #undispatchedMs: number | undefined;
  readonly #dispatched: (ageMs: number) => void;
  readonly #passed: PassedRevisions;

  constructor(deps: MirrorDeps, kind: MirroredKind, limits: RelayLimits) {
    this.kind = kind;
    this.#clock = deps.clock;
    this.#dispatched = deps.dispatched ?? (() => {});
    this.#passed = new PassedRevisions(deps.clock, limits);
    this.#limits = limits;
    this.#late = new Ring(limits.overlapFrames);
    this.#heardMs = deps.clock.monotonicMs();
    this.#source = {
      fieldValue: (object, field) => fieldValue(kind.group, kind.resource, object, field),
      memos: deps.memos,
      freeze: false,
    };
    const indexed = selectableFields(kind.group, kind.resource).includes(indexedField);
    this.cache = new WatchCache(
      {
        history: noHistory,
        whole: () => !this.open,
        digestOf: memberHash,
        crowd: { nextTurn: (f) => void deps.clock.after("watch.flush", 0, f) },
        pacer: {
          windowMs: limits.latestWindowMs,
          nowMs: () => deps.clock.monotonicMs(),
          after: (delayMs, f) => void deps.clock.after("watch.flush", delayMs, f),
        },
      },
      { objects: [], revision: 0 },
      { ...limits, indexedField: indexed ? indexedField : undefined },
    );
  }

  /** True once the first list is in: from then on there is something to serve, whatever happens. */
  get ready(): boolean {
    return this.#ready;
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** How long ago the upstream was last known to have nothing newer; 0 while its stream is up. */
  get ageMs(): number {
    return this.#connected ? 0 : this.#clock.monotonicMs() - this.#heardMs;
  }

  /** Newest revision included, as a resourceVersion. */
  get revision(): number {
    return wholeRevision(this.cache.state.revision);
  }

  /** The state held is the state at this revision, which no event may have told yet. */
  get proven(): number {
    return this.#proofs.at(-1) ?? this.revision;
  }

  /** Whether a list beside the stream showed the state held to be that of `revision`, above the newest event. */
  proves(revision: number): boolean {
    return this.#proofs.includes(revision);
  }

  /** Positions above the newest event at which the state is known to be the one held. */
  get #proofs(): readonly number[] {
    const { at, to } = this.#proof;
    if (at !== this.cache.state.changedAt) return [];
    return to.filter((position) => position > this.revision);
  }

  /** The upstream answered, or sent bytes. */
  heard(): void {
    this.#connected = true;
    this.#heardMs = this.#clock.monotonicMs();
  }

  /** The stream is over, one way or the other. */
  ended(): void {
    if (!this.#framesSinceEnd) return;
    this.#framesSinceEnd = false;
    this.#endedMs = this.#clock.monotonicMs();
  }

  lost(): void {
    if (this.#connected) this.#heardMs = this.#clock.monotonicMs();
    this.#connected = false;
  }

  /** More of the newest revision may be on its way. */
  get open(): boolean {
    const { revision } = this;
    if (revision <= this.#coveredTo || revision === this.#closedAt) return false;
    return wholeRevision(this.cache.state.changedAt) === revision;
  }

  /** The newest revision that holds nothing but what is held. */
  get #closed(): number {
    return this.open ? this.revision - 1 : this.revision;
  }

  /** Where the upstream's watch goes on: below what is open, and below what may have come late. */
  get resumeFrom(): number {
    // Repeats are known by the ring: below it they would look late.
    const overlap = Math.max(this.#beforeLate(), wholeRevision(this.cache.state.floor));
    return Math.max(Math.min(this.#closed, overlap), this.#coveredTo);
  }

  #beforeLate(): number {
    const sinceMs = this.#endedMs - this.#limits.overlapMs;
    for (let at = this.#late.oldest; at < this.#late.next; at++) {
      const heard = this.#late.get(at);
      if (heard !== undefined && heard.ms >= sinceMs) return heard.before;
    }
    return this.revision;
  }

  /** Why a watch cannot start strictly after `revision`, or a snapshot be taken there; else undefined. */
  refusal(revision: number): Error | undefined {
    const inGap = this.#gaps.some((gap) => isIn(gap, revision));
    const floor = Math.max(this.#gapFloor, this.cache.state.floor);
    if (!inGap && revision >= floor) return undefined;
    return expired(`too old resource version: ${revision} (${wholeRevision(floor)})`);
  }

  /** The whole state at `revision`, as a fresh list of the upstream told it. */
  replace(list: readonly FormedObject[], revision: number): void {
    this.heard();
    const objects = this.#objects(list);
    if (!this.#ready || revision < this.revision) {
      // A first list; or the upstream went back in time, and no position of before means anything.
      this.cache.reset({ objects, revision }, expired(tooOld));
      this.#gaps = [];
      this.#gapFloor = 0;
      this.#proof = { at: 0, to: [] };
      this.#ready = true;
    } else {
      this.#reconcile(objects, revision);
    }
    this.#coveredTo = revision;
    this.#late.clear();
    this.flush();
    this.cache.bookmark(0, 1);
    this.#wake();
  }

  /**
   * A list made beside the running stream. One that the stream has overtaken says nothing new; one
   * that finds no difference proves the state to be newer than its last event, and leaves the stream
   * to tell what came and went between; only a difference is taken, and leaves a gap.
   */
  verify(list: readonly FormedObject[], revision: number): void {
    if (revision <= this.proven) return;
    if (this.#difference(this.#objects(list), revision).size > 0) {
      this.replace(list, revision);
      return;
    }
    this.#heardMs = this.#clock.monotonicMs();
    const to = [...this.#proofs, revision].slice(-this.#limits.gapsMax);
    this.#proof = { at: this.cache.state.changedAt, to };
    this.#wake();
  }

  /**
   * @returns whether any of it was news.
   * Throws OutOfOrderError or ChecksumError; what came before it in `events` is applied.
   */
  apply(events: readonly UpstreamEvent[]): boolean {
    this.heard();
    const before = this.cache.state.revision;
    try {
      for (let at = 0; at < events.length;) at = this.#applyRevision(events, at);
    } finally {
      if (this.cache.state.changedAt > before) {
        this.#undispatchedMs ??= this.#heardMs;
        this.#passed.note(this.cache.state.revision);
      }
      this.#flushSoon();
      this.#wake();
    }
    return this.cache.state.revision > before;
  }

  /** Bookmarks for one of `slots` shares of the watchers; who is at an open revision gets it later. */
  bookmark(slot: number, slots: number): void {
    this.flush();
    this.cache.bookmark(slot, slots);
  }

  /** How many of the objects held are not in `list`. */
  missingFrom(list: readonly FormedObject[]): number {
    const listed = new Set(list.map(({ key }) => key));
    let missing = 0;
    this.cache.state.scan("", "\xff", ({ key }) => {
      if (!listed.has(key)) missing++;
      return true;
    });
    return missing;
  }

  /** Brings what was applied to watchers now. */
  flush(): void {
    this.#flushTimer?.cancel();
    this.#flushTimer = undefined;
    this.#flushedMs = this.#clock.monotonicMs();
    this.cache.dispatch();
    if (this.#undispatchedMs === undefined) return;
    this.#dispatched(this.#clock.monotonicMs() - this.#undispatchedMs);
    this.#undispatchedMs = undefined;
  }

  /** For how long each watcher that is not up to date has been behind, in milliseconds. */
  behindMs(): readonly number[] {
    return this.cache.positionsBehind().map((position) => this.#passed.ageMs(position));
  }

  /** Calls `done` once the state is that of `revision` or later; the result calls it off. */
  whenReached(revision: number, done: () => void): () => void {
    const waiter = { revision, done };
    this.#waiters.add(waiter);
    return () => void this.#waiters.delete(waiter);
  }

  /** The upstream does not serve it any more: watches end, and who asks passes until there is a list again. */
  withdraw(): void {
    this.flush();
    this.#ready = false;
    this.cache.end();
  }

  close(): void {
    this.#isClosed = true;
    this.#flushTimer?.cancel();
    this.cache.end();
  }

  /** What it holds may be told. */
  get serving(): boolean {
    return this.#ready && !this.#isClosed;
  }

  /** Nothing comes any more: who read from it must ask elsewhere. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** All events of one revision that stand together. @returns the index after them. */
  #applyRevision(events: readonly UpstreamEvent[], start: number): number {
    const first = events[start];
    if (first === undefined) return start + 1;
    const revision = first.type === "BOOKMARK" ? first.revision : first.object.revision;
    this.#hear(first.type, revision);
    if (first.type === "BOOKMARK") {
      if (first.view !== undefined) this.#check(first.view, revision);
      return start + 1;
    }
    const changes = new Map<string, Change>();
    let at = start;
    for (; at < events.length; at++) {
      const event = events[at];
      if (event === undefined || event.type === "BOOKMARK") break;
      if (event.object.revision !== revision) break;
      this.counts.events++;
      if (this.#isNews(event.object)) changes.set(event.object.key, this.#change(event));
    }
    if (changes.size > 0) this.cache.apply(this.#position(revision), [...changes.values()]);
    return at;
  }

  /** A frame at `revision`: it closes whatever is below it. */
  #hear(type: UpstreamEvent["type"], revision: number): void {
    this.#late.push({ ms: this.#clock.monotonicMs(), before: this.#closed });
    this.#framesSinceEnd = true;
    if (revision <= this.revision) return;
    this.#closedAt = this.revision;
    if (type === "BOOKMARK") this.cache.advance(revision);
    if (!this.cache.bookmarksDue) return;
    this.flush();
    this.cache.payBookmarks();
  }

  /** Throws ChecksumError. A list that follows and finds no difference ends the checks: they are wrong. */
  #check(told: ViewState, revision: number): void {
    if (revision !== this.revision || this.open || this.#suspicion === "unfounded") return;
    this.flush();
    const held = this.cache.viewState(everything);
    if (held === undefined) return;
    this.counts.checked++;
    if (held.count === told.count && held.checksum === told.checksum) return;
    this.counts.mismatched++;
    this.#suspicion = "open";
    throw new ChecksumError(held, told, revision);
  }

  #change(event: Exclude<UpstreamEvent, { type: "BOOKMARK" }>): Change {
    const { key } = event.object;
    return { key, next: event.type === "SET" ? this.#shared(event.object) : undefined };
  }

  #isNews({ key, revision }: FormedObject): boolean {
    if (revision > this.revision) return true;
    if (revision <= this.#coveredTo || this.#knows(key, revision)) {
      this.counts.duplicates++;
      return false;
    }
    if (revision === this.revision) return true;
    this.counts.outOfOrder++;
    throw new OutOfOrderError(revision, key, this.revision);
  }

  /** By the state as well: a revision of more changes than the ring keeps is told again like others. */
  #knows(key: string, revision: number): boolean {
    return (
      this.cache.state.get(key)?.revision === revision || this.cache.state.holds(revision, key)
    );
  }

  #position(revision: number): number {
    return revision > this.cache.state.revision ? revision : this.#nextPart();
  }

  #nextPart(): number {
    const next = this.cache.state.revision + part;
    if (wholeRevision(next) === this.revision) return next;
    throw new OutOfOrderError(this.revision, "too many parts", this.revision);
  }

  #reconcile(objects: readonly SharedObject[], revision: number): void {
    const gap = { above: this.#closed, below: revision, good: this.#proofs };
    const error = expired(`too old resource version: ${gap.above + 1} (${revision})`);
    this.cache.expireStarts((position) => isIn(gap, position), error);
    const timeline = this.#difference(objects, revision);
    const at = [...timeline.keys()].sort((a, b) => a - b);
    for (const position of at) {
      this.cache.apply(this.#position(position), timeline.get(position) ?? []);
    }
    this.cache.advance(revision);
    if (this.#suspicion === "open") this.#suspicion = at.length > 0 ? "none" : "unfounded";
    this.counts.reconciled++;
    if (gap.below - gap.above > 1) this.#remember(gap);
  }

  /** What leads from the cache's state to `objects`, each change no earlier than it can have been. */
  #difference(objects: readonly SharedObject[], revision: number): Timeline {
    const timeline: Timeline = new Map();
    const from = this.revision;
    const put = (at: number, change: Change): void => {
      const position = Math.max(at, from);
      const known = timeline.get(position);
      if (known === undefined) timeline.set(position, [change]);
      else known.push(change);
    };
    const wanted = SortedSet.from(objects);
    this.cache.state.scan("", "\xff", ({ key }) => {
      if (wanted.get(key) === undefined) put(revision, { key, next: undefined });
      return true;
    });
    for (const next of objects) {
      const { key } = next;
      const known = this.cache.state.get(key);
      if (known?.revision === next.revision) continue;
      if (known !== undefined && isAnother(known, next)) {
        put(next.revision - 1, { key, next: undefined });
      }
      put(next.revision, { key, next });
    }
    return timeline;
  }

  #remember(gap: Gap): void {
    const { floor } = this.cache.state;
    const gaps = [...this.#gaps.filter(({ below }) => below > floor), gap];
    while (gaps.length > this.#limits.gapsMax) this.#gapFloor = gaps.shift()?.below ?? 0;
    this.#gaps = gaps;
  }

  #objects(list: readonly FormedObject[]): readonly SharedObject[] {
    const objects = list.map((formed) => this.#shared(formed));
    return objects.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #shared({ key, value, revision }: FormedObject): SharedObject {
    return new SharedObject(this.#source, key, value, revision);
  }

  #flushSoon(): void {
    const { flushMs } = this.#limits;
    const waitedMs = this.#clock.monotonicMs() - this.#flushedMs;
    if (flushMs === 0 || waitedMs >= flushMs) return this.flush();
    this.#flushTimer ??= this.#clock.after("watch.flush", flushMs - waitedMs, () => this.flush());
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (waiter.revision > this.proven) continue;
      this.#waiters.delete(waiter);
      waiter.done();
    }
  }
}

function isIn({ above, below, good }: Gap, position: number): boolean {
  return above < position && position < below && !good.includes(position);
}

/** The same name, deleted and made anew between two looks. */
function isAnother(a: SharedObject, b: SharedObject): boolean {
  return a.object.metadata?.uid !== b.object.metadata?.uid;
}
