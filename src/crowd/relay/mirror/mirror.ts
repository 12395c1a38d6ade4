/**
 * The mirror of one resource: a watch cache fed by one upstream stream, and the judge of that stream.
 *
 * In     `replace` and `verify` with a whole list at one revision, `apply` with events in the upstream's order;
 *        while a list is being taken, in turns of the loop, events wait (`free`).
 * Holds  1. state(revision) is the upstream's, for every closed revision outside of a gap
 *        (known-positions.ts). 2. repeated events are dropped; an event that arrives too late to be in
 *        order throws OutOfOrderError, and the next list repairs the state. 3. a later list is turned into
 *        the events that lead to it (difference.ts): watchers get a difference and are never ended for it.
 * Open   upstream may send several changes of one revision one by one (a lease that expires with its
 *        objects). They are applied as one when they arrive together; later parts get fractional
 *        positions. Nothing marks the last part: a revision stays open until a higher one is seen, or a
 *        list contains it. No bookmark names an open revision, and an upstream watch resumes below it.
 * Late   a late frame is detected when it arrives; if a cut swallowed it, when the next watch repeats it
 *        (overlap.ts).
 */
import { expiredError } from "#api/status.ts";
import { fieldValue, selectableFields } from "#api/selectors/selectable-fields.ts";
import { assert } from "#base/assert.ts";
import { stepsInTurns, type Steps } from "#base/steps.ts";
import type { Clock } from "#platform/clock.ts";
import { nextTurn } from "#platform/pace.ts";
import type { Change } from "#watch/cache-state.ts";
import { WatchCache } from "#watch/cache.ts";
import { wholeRevision } from "#watch/cache-event.ts";
import { type DeliveryPolicy, socketTurns } from "#watch/delivery-scheduler.ts";
import { noHistory } from "#watch/history.ts";
import type { MemoPool } from "#forms/memo-pool.ts";
import { compilePredicate } from "#watch/predicate.ts";
import { type ObjectSource, SharedObject } from "#forms/shared-object.ts";
import type { ViewState } from "#watch/watch-item.ts";
import { ChecksumCheck } from "./checksum-check.ts";
import { EventAges } from "./event-ages.ts";
import { memberHash } from "../views/digest.ts";
import { isIn, KnownPositions } from "./known-positions.ts";
import type { RelayLimits } from "../limits.ts";
import type { MirroredKind } from "./mirrored-kind.ts";
import type { FormedObject } from "./object-form.ts";
import { Overlap } from "./overlap.ts";
import { RevisionWaiters } from "./revision-waiters.ts";
import { sharedSteps, type Takeover, takeoverSteps } from "./takeover.ts";
import { type ObjectEvent, OutOfOrderError, type UpstreamEvent } from "./upstream-event.ts";

const everything = compilePredicate({ namespace: "", namespaced: true });
const indexedField = "spec.nodeName";
/** Position step within one revision; the sum is exact for revisions up to 2^41. */
const part = 2 ** -12;
const tooOld = "The resourceVersion for the provided watch is too old.";

interface MirrorDeps {
  readonly clock: Clock;
  readonly memos: MemoPool;
  /** Called after a dispatch with the time since its oldest event was received. */
  readonly dispatched?: (ageMs: number) => void;
}

interface MirrorCounts {
  events: number;
  duplicates: number;
  reconciled: number;
  outOfOrder: number;
}

export class Mirror {
  readonly kind: MirroredKind;
  readonly cache: WatchCache;
  readonly counts: MirrorCounts = { events: 0, duplicates: 0, reconciled: 0, outOfOrder: 0 };
  readonly checksums = new ChecksumCheck();
  readonly #clock: Clock;
  readonly #stepsPerTurn: number;
  readonly #source: ObjectSource;
  readonly #waiters = new RevisionWaiters();
  readonly #positions: KnownPositions;
  readonly #overlap: Overlap;
  readonly #ages: EventAges;
  /** Revision of the newest list, which contains everything at or below it. */
  #coveredTo = 0;
  /** Newest revision known to be complete because a higher one arrived; all revisions below it are complete too. */
  #closedAt = 0;
  #ready = false;
  #isClosed = false;
  #connected = false;
  #heardMs: number;
  /** Set while a list is prepared: until then the state must not change. */
  #taking: Promise<void> | undefined;

  constructor(deps: MirrorDeps, kind: MirroredKind, limits: RelayLimits) {
    this.kind = kind;
    this.#clock = deps.clock;
    this.#stepsPerTurn = limits.listStepsPerTurn;
    this.#heardMs = deps.clock.monotonicMs();
    this.#source = {
      fieldValue: (object, field) => fieldValue(kind.group, kind.resource, object, field),
      memos: deps.memos,
      freeze: false,
    };
    this.#ages = new EventAges(deps.clock, limits);
    this.cache = this.#makeCache(deps, limits);
    this.#positions = new KnownPositions(this.cache.state, limits);
    this.#overlap = new Overlap(deps.clock, limits);
  }

  #makeCache({ clock, dispatched }: MirrorDeps, limits: RelayLimits): WatchCache {
    const { group, resource } = this.kind;
    const indexed = selectableFields(group, resource).includes(indexedField);
    return new WatchCache(
      {
        clock,
        history: noHistory,
        isWhole: () => !this.open,
        digestOf: memberHash,
        onDispatched: () => {
          const ageMs = this.#ages.dispatched();
          if (ageMs !== undefined) dispatched?.(ageMs);
        },
      },
      { objects: [], revision: 0 },
      {
        ...limits,
        indexedField: indexed ? indexedField : undefined,
        delivery: deliveryOf(limits),
      },
    );
  }

  /** Whether the first list has been applied, so that there is a state to serve. */
  get ready(): boolean {
    return this.#ready;
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Time since the state was last known to be the upstream's newest; 0 while the stream is connected. */
  get ageMs(): number {
    return this.#connected ? 0 : this.#clock.monotonicMs() - this.#heardMs;
  }

  /** The newest included revision, as a resourceVersion. */
  get revision(): number {
    return wholeRevision(this.cache.state.revision);
  }

  /** The revision up to which the state is proven current; it may be above the newest event's. */
  get proven(): number {
    return this.#positions.proofs.at(-1) ?? this.revision;
  }

  /** Whether a list made beside the stream has shown that the state is that of `revision`, which no event has had yet. */
  proves(revision: number): boolean {
    return this.#positions.proofs.includes(revision);
  }

  /** Notes that the upstream answered or sent bytes. */
  heard(): void {
    this.#connected = true;
    this.#heardMs = this.#clock.monotonicMs();
  }

  /** Notes that the upstream's stream has ended, in order or by an error. */
  ended(): void {
    this.#overlap.ended();
  }

  lost(): void {
    if (this.#connected) this.#heardMs = this.#clock.monotonicMs();
    this.#connected = false;
  }

  /** Whether more events of the newest revision may follow. */
  get open(): boolean {
    const { revision } = this;
    if (revision <= this.#coveredTo || revision === this.#closedAt) return false;
    return wholeRevision(this.cache.state.changedAt) === revision;
  }

  /** The newest revision of which all events are held. */
  get #closed(): number {
    return this.open ? this.revision - 1 : this.revision;
  }

  /** Revision after which the upstream's watch resumes: below an incomplete revision, and below events that may have arrived late. */
  get resumeFrom(): number {
    // The ring recognises repeated events; below its oldest one, a repeated event would look like a late one.
    const floor = wholeRevision(this.cache.state.floor);
    const overlap = Math.max(this.#overlap.start ?? this.revision, floor);
    return Math.max(Math.min(this.#closed, overlap), this.#coveredTo);
  }

  /** Returns why a watch cannot start strictly after `revision`, or a snapshot cannot be taken there. Undefined: both can. */
  refusal(revision: number): Error | undefined {
    return this.#positions.refusal(revision);
  }

  /**
   * Takes the whole state at `revision` from a fresh list of the upstream: prepared in turns of the loop, in its
   * place at once. No event may be applied until it resolves (`free`).
   */
  replace(list: readonly FormedObject[], revision: number): Promise<void> {
    return this.#alone(async () => {
      this.heard();
      if (!this.#ready || revision < this.revision) return this.#beginAnew(list, revision);
      this.takeOver(await this.#prepare(list, revision));
    });
  }

  /**
   * Takes a list made beside the running stream. A list that the stream has overtaken is ignored. A list
   * without difference proves that the state is current at its revision; the stream still delivers objects
   * created and deleted in between. Only a difference is applied, and leaves a gap.
   */
  verify(list: readonly FormedObject[], revision: number): Promise<void> {
    return this.#alone(async () => {
      if (revision <= this.proven) return;
      const takeover = await this.#prepare(list, revision);
      if (takeover.events.length > 0) {
        this.heard();
        return this.takeOver(takeover);
      }
      if (this.#isClosed) return;
      this.#heardMs = this.#clock.monotonicMs();
      this.#positions.prove(revision);
      this.#waiters.reached(this.proven);
    });
  }

  /** Undefined: events may be applied. Otherwise a list is being applied; resolves when that may have ended. */
  get free(): Promise<void> | undefined {
    return this.#taking;
  }

  /** Runs `take` once no other list is being applied. */
  async #alone(take: () => Promise<void>): Promise<void> {
    while (this.#taking !== undefined) await this.#taking;
    if (this.#isClosed) return;
    const taking = take().finally(() => (this.#taking = undefined));
    // Other waiting callers must not see this failure.
    this.#taking = taking.catch(() => undefined);
    await taking;
  }

  async #prepare(objects: readonly FormedObject[], revision: number): Promise<Takeover> {
    const { cache } = this;
    const steps = takeoverSteps(
      cache.state.snapshot(),
      { objects, revision },
      {
        shared: (formed) => this.#shared(formed),
        prepare: (object) => void (cache.hasSums && memberHash(object)),
        nextPart: () => this.#nextPart(),
      },
    );
    return this.#inTurns(steps);
  }

  #inTurns<T>(steps: Steps<T>): Promise<T> {
    return stepsInTurns(steps, () => nextTurn(this.#clock), this.#stepsPerTurn);
  }

  /** Applies a first list, or one below the current revision: the upstream went back in time, so earlier positions are invalid. */
  async #beginAnew(list: readonly FormedObject[], revision: number): Promise<void> {
    const objects = await this.#inTurns(sharedSteps(list, (formed) => this.#shared(formed)));
    this.#reset({ objects, revision });
  }

  #reset(state: Pick<Takeover, "objects" | "revision">): void {
    if (this.#isClosed) return;
    this.cache.reset(state, expiredError(tooOld));
    this.#positions.clear();
    this.#ready = true;
    this.#taken(state.revision);
  }

  /** Replaces the state by the prepared one. */
  takeOver(takeover: Takeover): void {
    // The resource was withdrawn in the meantime: its watches have ended, and earlier positions are invalid.
    if (!this.#ready) return this.#reset(takeover);
    if (this.#isClosed) return;
    this.#reconcile(takeover);
    this.#taken(takeover.revision);
  }

  #taken(revision: number): void {
    this.#coveredTo = revision;
    this.#overlap.clear();
    this.bookmark(0, 1);
    this.#waiters.reached(this.proven);
  }

  /**
   * @returns whether any of it was news.
   * Throws OutOfOrderError or ChecksumError; the events before the failing one are applied.
   */
  apply(events: readonly UpstreamEvent[]): boolean {
    assert(this.#taking === undefined, "events are applied while a list is taken");
    this.heard();
    const before = this.cache.state.revision;
    try {
      for (let at = 0; at < events.length;) at = this.#applyRevision(events, at);
    } finally {
      const { changedAt, revision } = this.cache.state;
      if (changedAt > before) this.#ages.received(revision, this.#heardMs);
      this.cache.requestDispatch();
      this.#waiters.reached(this.proven);
    }
    return this.cache.state.revision > before;
  }

  /** Sends bookmarks to one of `slots` shares of the watchers; watchers at an incomplete revision get theirs later. */
  bookmark(slot: number, slots: number): void {
    this.flush();
    this.cache.bookmark(slot, slots);
  }

  /** Sends the applied events to watchers now. */
  flush(): void {
    this.cache.dispatch();
  }

  /** Returns how long each watcher that lacks events has been behind, in milliseconds. */
  behindMs(): readonly number[] {
    return this.cache.positionsBehind().map((position) => this.#ages.behindMs(position));
  }

  /** Calls `done` once the state is that of `revision` or later. @returns a function that cancels the call. */
  whenReached(revision: number, done: () => void): () => void {
    return this.#waiters.add(revision, done);
  }

  /** The upstream does not serve the resource any more: watches end, and requests pass through until there is a list again. */
  withdraw(): void {
    this.flush();
    this.#ready = false;
    this.cache.end();
  }

  close(): void {
    this.#isClosed = true;
    this.cache.close();
  }

  /** Whether the mirror's state may be served. */
  get serving(): boolean {
    return this.#ready && !this.#isClosed;
  }

  /** Whether the mirror has ended: readers must use another source. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** Applies the consecutive events from `start` that have the same revision. @returns the index after the last of them. */
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

  /** Notes a frame at `revision`: all revisions below it are complete. */
  #hear(type: UpstreamEvent["type"], revision: number): void {
    this.#overlap.heard(this.#closed);
    if (revision <= this.revision) return;
    this.#closedAt = this.revision;
    if (type === "BOOKMARK") this.cache.advance(revision);
    if (!this.cache.hasBookmarksDue) return;
    this.flush();
    this.cache.payBookmarks();
  }

  /** Throws ChecksumError when the upstream's state at the mirror's revision differs from the mirror's. */
  #check(told: ViewState, revision: number): void {
    if (revision !== this.revision || this.open || !this.checksums.on) return;
    this.flush();
    const held = this.cache.viewState(everything);
    if (held !== undefined) this.checksums.compare(held, told, revision);
  }

  #change(event: ObjectEvent): Change {
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

  /** Looks into the state too: a repeated revision may have more changes than the ring keeps. */
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

  #reconcile({ objects, revision, events }: Takeover): void {
    const gap = this.#positions.gap(this.#closed, revision);
    const error = expiredError(`too old resource version: ${gap.above + 1} (${revision})`);
    this.cache.expireStarts((position) => isIn(gap, position), error);
    this.cache.adopt(objects, events);
    this.cache.advance(revision);
    this.checksums.listed(events.length > 0);
    this.counts.reconciled++;
    this.#positions.remember(gap);
  }

  #shared({ key, value, revision }: FormedObject): SharedObject {
    return new SharedObject(this.#source, key, value, revision);
  }
}

/** A relay serves many clients, so it gathers events even for a resource with few watchers. */
function deliveryOf({ flushMs, latestWindowMs }: RelayLimits): DeliveryPolicy {
  return {
    gather: { watchersMin: 0, windowMs: flushMs },
    turns: socketTurns,
    latest: { windowMs: latestWindowMs },
  };
}
