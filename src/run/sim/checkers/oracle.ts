/**
 * A store too simple to be wrong: the state is a map from key to value, made anew by each change;
 * each answer is computed by walking it. It follows etcd's documentation and ignores speed.
 */
import type { Answer, Compare, Event, KeyValue, KvRequest, Refusal, Span } from "./history.ts";
import { inSpan } from "./history.ts";

/** Sorted by key. */
export type State = ReadonlyMap<string, KeyValue>;

export const emptyState: State = new Map();
/** Revision of an empty store. */
export const firstRevision = 1;

interface Done {
  readonly kind: "done";
  readonly answer: Answer;
  readonly events: readonly Event[];
  readonly state: State;
}

type Effect = Done | { readonly kind: "refused"; readonly why: Refusal };

/** Returns the effect of `request` on `state`. Its changes, if any, get the given `revision`. */
export function effect(state: State, revision: number, request: KvRequest): Effect {
  const run = new Run(state, revision);
  const taken = choose(state, request);
  const why = run.refuse(taken);
  if (why !== undefined) return { kind: "refused", why };
  const answer = run.execute(taken);
  return { kind: "done", answer, events: run.events, state: run.state };
}

export function stateAfter(state: State, events: readonly Event[]): State {
  const next = new Map(state);
  for (const { key, kv } of events) {
    if (kv === undefined) next.delete(key);
    else next.set(key, kv);
  }
  return sorted(next);
}

function keysIn(state: State, span: Span): KeyValue[] {
  return [...state.values()].filter(({ key }) => inSpan(span, key));
}

/** Returns the keys attached to a lease, sorted. */
export function keysOf(state: State, lease: string): string[] {
  return [...state.values()].filter((kv) => kv.lease === lease).map(({ key }) => key);
}

/** A request with its branches chosen. All compares are evaluated before any operation. */
type Taken =
  | Exclude<KvRequest, { readonly kind: "txn" }>
  | { readonly kind: "txn"; readonly succeeded: boolean; readonly ops: readonly Taken[] };

function choose(state: State, request: KvRequest): Taken {
  if (request.kind !== "txn") return request;
  const succeeded = request.compares.every((compare) => holds(state, compare));
  const ops = (succeeded ? request.success : request.failure).map((op) => choose(state, op));
  return { kind: "txn", succeeded, ops };
}

class Run {
  state: State;
  readonly events: Event[] = [];
  readonly #revision: number;

  constructor(state: State, revision: number) {
    this.state = state;
    this.#revision = revision;
  }

  /** Checks before any operation whether all of them can succeed. */
  refuse(taken: Taken): Refusal | undefined {
    if (taken.kind === "txn") {
      return taken.ops.map((op) => this.refuse(op)).find((why) => why !== undefined);
    }
    if (taken.kind !== "put" || taken.ignore === "none" || this.state.has(taken.key)) {
      return undefined;
    }
    return "key not found";
  }

  execute(taken: Taken): Answer {
    switch (taken.kind) {
      case "range":
        return this.#range(taken, taken.limit);
      case "put":
        return this.#put(taken);
      case "delete":
        return this.#delete(taken);
      case "txn": {
        const answers = taken.ops.map((op) => this.execute(op));
        return { kind: "txn", succeeded: taken.succeeded, answers };
      }
      default:
        return taken satisfies never;
    }
  }

  #range(span: Span, limit: number): Answer {
    const all = keysIn(this.state, span);
    const kvs = limit > 0 ? all.slice(0, limit) : all;
    return { kind: "range", kvs, count: all.length, more: kvs.length < all.length };
  }

  #put(put: Extract<KvRequest, { readonly kind: "put" }>): Answer {
    const { key, ignore } = put;
    const previous = this.state.get(key);
    const mod = this.#revision;
    this.#change(previous, {
      key,
      value: ignore === "value" ? (previous?.value ?? "") : put.value,
      create: previous?.create ?? mod,
      mod,
      version: (previous?.version ?? 0) + 1,
      lease: ignore === "lease" ? (previous?.lease ?? "0") : put.lease,
    });
    return { kind: "put", previous };
  }

  #delete(span: Span): Answer {
    const previous = keysIn(this.state, span);
    for (const kv of previous) this.#change(kv, undefined);
    return { kind: "delete", previous };
  }

  #change(previous: KeyValue | undefined, kv: KeyValue | undefined): void {
    const key = (kv ?? previous)?.key ?? "";
    const event: Event = { revision: this.#revision, key, kv, previous };
    this.events.push(event);
    this.state = stateAfter(this.state, [event]);
  }
}

function sorted(state: Map<string, KeyValue>): State {
  return new Map([...state].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A compare of a range must hold for every existing key. An absent key compares as zeros; a compare of its value fails. */
function holds(state: State, compare: Compare): boolean {
  const kvs = keysIn(state, compare);
  if (kvs.length > 0) return kvs.every((kv) => holdsFor(compare, kv));
  return compare.target !== "value" && holdsFor(compare, absent);
}

const absent: KeyValue = { key: "", value: "", create: 0, mod: 0, version: 0, lease: "0" };

function holdsFor({ target, operand, result }: Compare, kv: KeyValue): boolean {
  const [actual, wanted] =
    target === "value" ? [kv.value, operand] : [BigInt(kv[target]), BigInt(operand)];
  switch (result) {
    case "equal":
      return actual === wanted;
    case "notEqual":
      return actual !== wanted;
    case "greater":
      return actual > wanted;
    case "less":
      return actual < wanted;
    default:
      return result satisfies never;
  }
}
