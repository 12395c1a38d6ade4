/**
 * Computes the number of seats of a request: one by default, more for large lists. Writes that many watchers see keep
 * extra seats for a while after the answer.
 *
 * Numbers  100 KB of list per seat. A list from the cache takes at most 10 seats (1 MB is as much as one core
 *          serialises at a time). A watch that starts with the initial state counts as a list. (apiserver
 *          pkg/util/flowcontrol/request) From a hundred watchers on: one seat for 5 ms per hundred watchers. That is 50
 *          us per watcher, twice the cost of a delivery here on a separate HTTP/2 connection with TLS. Upstream assumes
 *          ten times as much.
 */
import type { FlowFacts } from "./classify.ts";
import { oneSeat, type WorkSize } from "./work-size.ts";

/** Facts about the server's load. Undefined: the number is not known. */
export interface Load {
  /** Returns the number of objects of a resource in `namespace`. "": in all namespaces. */
  objects(group: string, resource: string, namespace: string): number | undefined;
  /** Returns the mean size of the resource's objects as JSON in bytes, from a sample in that namespace. */
  bytesPerObject(group: string, resource: string, namespace: string): number | undefined;
  /** Returns the number of watchers that an event of this write may reach. */
  watchers(facts: FlowFacts): number;
}

const bytesPerSeat = 100_000;
const listSeatsMax = 10;
const watchersPerSeat = 100;
const finalSeatsMax = 10;
const finalMsPerSeat = 5;
/** Estimate while a resource's mean size is not known. */
const bytesPerObjectGuess = 2_000;

const small: WorkSize = { ...oneSeat, isSmall: true };
const writes: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

/** `seatsMax`: maximum number of seats that one request may take of its level. */
export function estimateWork(
  facts: FlowFacts,
  query: URLSearchParams,
  load: Load | undefined,
  seatsMax: number,
): WorkSize {
  if (load === undefined) return oneSeat;
  if (!facts.isResourceRequest) return small;
  if (facts.verb === "list" || (facts.verb === "watch" && beginsWithState(query))) {
    const seats = listSeats(facts, query, load);
    if (seats === undefined) return oneSeat;
    return { ...small, seats: Math.min(seats, seatsMax), isSmall: seats === 1 };
  }
  if (!writes.has(facts.verb) || facts.subresource === "token") return small;
  return writeWork(facts, load, seatsMax);
}

/** Returns whether a watch begins with the state: by `sendInitialEvents`, or the older way, with resourceVersion absent or 0. */
function beginsWithState(query: URLSearchParams): boolean {
  if (query.get("sendInitialEvents") === "true") return true;
  const version = query.get("resourceVersion") ?? "";
  return (version === "" || version === "0") && query.get("sendInitialEvents") !== "false";
}

/** Returns the seats of a list. Undefined: the number of objects is not known. */
function listSeats(facts: FlowFacts, query: URLSearchParams, load: Load): number | undefined {
  // A field selector for one name makes the list a read of one object.
  if (facts.name !== "") return 1;
  const count = load.objects(facts.group, facts.resource, facts.namespace);
  if (count === undefined) return undefined;
  const limit = Number(query.get("limit") ?? "0");
  const touched = limit > 0 ? Math.min(limit, count) : count;
  const mean = load.bytesPerObject(facts.group, facts.resource, facts.namespace);
  const bytes = mean ?? bytesPerObjectGuess;
  const seats = Math.ceil((touched * bytes) / bytesPerSeat);
  return Math.min(Math.max(1, seats), listSeatsMax);
}

function writeWork(facts: FlowFacts, load: Load, seatsMax: number): WorkSize {
  const watchers = load.watchers(facts);
  if (watchers < watchersPerSeat) return small;
  const wanted = Math.ceil(watchers / watchersPerSeat);
  const finalSeats = Math.min(wanted, finalSeatsMax, seatsMax);
  // With fewer seats the time is longer, so that the seat-seconds are the same.
  const extraMs = (wanted / finalSeats) * finalMsPerSeat;
  return { seats: 1, finalSeats, extraMs, isSmall: false };
}

/** Returns the maximum number of a level's seats for one request (apiserver max_seats.go). */
export function seatsMaxOf(nominalSeats: number, handSize: number): number {
  const part = Math.ceil(nominalSeats * 0.15);
  const perHand = Math.floor(nominalSeats / handSize);
  return Math.max(1, Math.min(part, perHand));
}
