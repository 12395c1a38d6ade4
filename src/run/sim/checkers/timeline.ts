/**
 * What happened, revision by revision, as the watches of everything saw it; and what was known when.
 * The checkers compare the other watches, and all operations, with this.
 */
import { must } from "#base/assert.ts";
import type { Event, History, KvRequest, Moment, Operation, Watch } from "./history.ts";
import { inSpan } from "./history.ts";
import { leaseFacts, mayHaveEnded, type LeaseFacts } from "./lease-facts.ts";
import { effect, emptyState, firstRevision, keysOf, stateAfter, type State } from "./oracle.ts";

interface Sighting {
  readonly at: Moment;
  readonly revision: number;
}

/** Cause of a revision. */
type Cause =
  | { readonly kind: "operation"; readonly operation: Operation }
  | { readonly kind: "lease"; readonly lease: string };

interface Explanation {
  readonly causes: ReadonlyMap<number, Cause>;
  readonly unexplained: readonly number[];
}

export class Timeline {
  /** By revision: all its events, for revisions that some client saw completely. */
  readonly events: ReadonlyMap<number, readonly Event[]>;
  /** Sorted by order: the highest revision observed so far. */
  readonly #floor: readonly Sighting[];
  readonly #states = new Map<number, State>();
  /** By revision: the order and the time by which it existed, according to the watches of all keys. */
  readonly #seen = new Map<number, Moment>();
  #explained: Explanation | undefined;
  #leases: ReadonlyMap<string, LeaseFacts> | undefined;
  readonly head: number;

  constructor(history: History) {
    this.events = collectEvents(history, this.#seen);
    this.#floor = floors(history);
    this.head = Math.max(firstRevision, ...this.events.keys());
    let state = emptyState;
    for (let revision = firstRevision; revision <= this.head; revision++) {
      state = stateAfter(state, this.events.get(revision) ?? []);
      this.#states.set(revision, state);
    }
  }

  /** @returns undefined when no client saw this revision. */
  state(revision: number): State | undefined {
    return this.#states.get(revision);
  }

  /** Returns the highest revision that any client observed before `moment`. */
  floor(moment: Moment): number {
    let low = 0;
    let high = this.#floor.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (must(this.#floor[middle], "in range").at.order < moment.order) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? firstRevision : must(this.#floor[low - 1], "not the first").revision;
  }

  /** Caches the result of `explain`. */
  explained(history: History): Explanation {
    this.#explained ??= explain(history, this);
    return this.#explained;
  }

  leases(history: History): ReadonlyMap<string, LeaseFacts> {
    this.#leases ??= leaseFacts(history);
    return this.#leases;
  }

  /** Returns the moment when the first watch of all keys received the revision, with the server's sending time. */
  firstSeen(revision: number): Moment | undefined {
    return this.#seen.get(revision);
  }

  /** Returns the events of one revision that a watch must receive. */
  wanted(watch: Watch, revision: number): readonly Event[] {
    const events = this.events.get(revision) ?? [];
    return events.filter(
      ({ key, kv }) => inSpan(watch, key) && (kv === undefined ? !watch.noDelete : !watch.noPut),
    );
  }
}

/** Returns the first revision that a watch must deliver. Undefined: it is unknown. */
export function firstOf(watch: Watch): number | undefined {
  if (watch.startRevision > 0) return watch.startRevision;
  return watch.created === undefined ? undefined : watch.created.revision + 1;
}

export function isKv(operation: Operation): operation is Operation & { request: KvRequest } {
  return ["range", "put", "delete", "txn"].includes(operation.request.kind);
}

/** Compares the changes, ignoring previous values. */
function sameEvents(a: readonly Event[], b: readonly Event[]): boolean {
  return a.length === b.length && a.every((event, i) => sameEvent(event, b[i]));
}

export function sameEvent(a: Event, b: Event | undefined): boolean {
  return (
    b !== undefined &&
    a.revision === b.revision &&
    a.key === b.key &&
    JSON.stringify(a.kv) === JSON.stringify(b.kv)
  );
}

/**
 * Explains each revision by an operation whose answer says so, or else by one whose outcome is
 * unknown, or by the end of a lease; each explains at most one. A maximum matching, for several
 * deletes of unknown outcome may explain the same revision. @returns also those left unexplained.
 */
function explain(history: History, timeline: Timeline): Explanation {
  const causes = new Map<number, Cause>();
  for (const operation of history.operations) {
    const revision = changedAt(timeline, operation);
    if (revision !== undefined) causes.set(revision, { kind: "operation", operation });
  }
  const open = [...timeline.events.keys()].filter((revision) => !causes.has(revision));
  const matching = new Matching();
  const likely = new Map(open.map((r) => [r, candidates(history, timeline, r)]));
  const unlikely = open.filter((revision) => !matching.place(revision, likely, new Set()));
  // Here any lease may be the cause, even one that may not have ended: the lease checker reports that.
  const possible = new Map(
    open.map((r) => [r, [...(likely.get(r) ?? []), ...leaseOf(timeline, r)]]),
  );
  const unexplained = unlikely.filter((r) => !matching.place(r, possible, new Set()));
  for (const [cause, revision] of matching.taken) causes.set(revision, causeOf(history, cause));
  return { causes, unexplained };
}

/** Returns the revision that an acknowledged operation made according to its answer, if it made one. */
export function changedAt(timeline: Timeline, operation: Operation): number | undefined {
  const { outcome } = operation;
  if (outcome.kind !== "answered" || !isKv(operation)) return undefined;
  const before = timeline.state(outcome.revision - 1);
  if (before === undefined) return undefined;
  const made = effect(before, outcome.revision, operation.request);
  if (made.kind !== "done" || made.events.length === 0) return undefined;
  if (JSON.stringify(made.answer) !== JSON.stringify(outcome.answer)) return undefined;
  return sameEvents(made.events, timeline.events.get(outcome.revision) ?? [])
    ? outcome.revision
    : undefined;
}

/** Returns the names of possible causes of `revision`: ids of operations or of leases. */
function candidates(history: History, timeline: Timeline, revision: number): string[] {
  const before = timeline.state(revision - 1) ?? emptyState;
  const events = timeline.events.get(revision) ?? [];
  const found: string[] = [];
  for (const operation of history.operations) {
    if (operation.outcome.kind !== "unknown" || !isKv(operation)) continue;
    if (timeline.floor(operation.invoked) >= revision) continue;
    const made = effect(before, revision, operation.request);
    if (made.kind === "done" && sameEvents(made.events, events)) found.push(`op ${operation.id}`);
  }
  return [
    ...found,
    ...leaseOf(timeline, revision).filter((one) => ended(history, timeline, one, revision)),
  ];
}

function leaseOf(timeline: Timeline, revision: number): string[] {
  const before = timeline.state(revision - 1) ?? emptyState;
  const lease = endedLease(before, timeline.events.get(revision) ?? []);
  return lease === undefined ? [] : [`lease ${lease}`];
}

function ended(history: History, timeline: Timeline, name: string, revision: number): boolean {
  const facts = timeline.leases(history).get(name.slice("lease ".length));
  const seen = timeline.firstSeen(revision);
  return facts === undefined || seen === undefined || mayHaveEnded(facts, seen);
}

/** Returns the lease whose keys these events delete, all of them and no others. */
function endedLease(before: State, events: readonly Event[]): string | undefined {
  const lease = before.get(events[0]?.key ?? "")?.lease ?? "0";
  if (lease === "0" || events.some(({ kv }) => kv !== undefined)) return undefined;
  const keys = keysOf(before, lease);
  return keys.join() === events.map(({ key }) => key).join() ? lease : undefined;
}

function causeOf(history: History, name: string): Cause {
  const [kind, id] = name.split(" ") as [string, string];
  if (kind === "lease") return { kind, lease: id };
  const operation = history.operations.find((one) => one.id === Number(id));
  return { kind: "operation", operation: must(operation, "a candidate is an operation") };
}

/** Matches revisions with causes by Kuhn's augmenting paths; there are few of both. */
class Matching {
  readonly taken = new Map<string, number>();

  place(
    revision: number,
    causes: ReadonlyMap<number, readonly string[]>,
    tried: Set<string>,
  ): boolean {
    for (const cause of causes.get(revision) ?? []) {
      if (tried.has(cause)) continue;
      tried.add(cause);
      const holder = this.taken.get(cause);
      if (holder !== undefined && !this.place(holder, causes, tried)) continue;
      this.taken.set(cause, revision);
      return true;
    }
    return false;
  }
}

/** Collects events from the watches of all keys. For each revision, the first watch that saw it counts. */
function collectEvents(
  history: History,
  seen: Map<number, Moment>,
): ReadonlyMap<number, readonly Event[]> {
  const events = new Map<number, readonly Event[]>();
  for (const watch of history.watches) {
    if (watch.key !== "\0" || watch.end !== "\0" || watch.noPut || watch.noDelete) continue;
    for (const message of watch.messages) {
      if (message.kind !== "events") continue;
      const at = { order: message.at.order, ms: message.sentMs };
      for (const [revision, some] of Map.groupBy(message.events, (event) => event.revision)) {
        if (!events.has(revision)) events.set(revision, some);
        seen.set(revision, earlier(seen.get(revision), at));
      }
    }
  }
  return new Map([...events].toSorted(([a], [b]) => a - b));
}

/** A message that was sent early may arrive late, so the minima of order and time are taken separately. */
function earlier(a: Moment | undefined, b: Moment): Moment {
  if (a === undefined) return b;
  return { order: Math.min(a.order, b.order), ms: Math.min(a.ms, b.ms) };
}

export function eventsOf(watch: Watch): Event[] {
  return watch.messages.flatMap((message) => (message.kind === "events" ? message.events : []));
}

/** Returns every observed revision, in the order of observation. */
export function sightings(history: History): Sighting[] {
  const all: Sighting[] = [];
  for (const { outcome, returned: at } of history.operations) {
    if (outcome.kind === "answered") all.push({ at, revision: outcome.revision });
  }
  for (const { created, messages } of history.watches) {
    if (created !== undefined) all.push(created);
    for (const message of messages) {
      if ("revision" in message) all.push({ at: message.at, revision: message.revision });
    }
  }
  return all.toSorted((a, b) => a.at.order - b.at.order);
}

function floors(history: History): Sighting[] {
  let highest = firstRevision;
  return sightings(history).map(({ at, revision }) => {
    highest = Math.max(highest, revision);
    return { at, revision: highest };
  });
}
