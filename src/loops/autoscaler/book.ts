/**
 * What the autoscaler remembers from loop to loop: since when nodes are unneeded, which groups failed and rest, what was
 * added within the last minute, and what is being removed. A successor begins with an empty book: it waits longer
 * before it removes nodes, and tries failed groups once more.
 *
 * Bounds an entry per node, instance and group that the last snapshot showed: `forget` drops the others.
 */
import type { Snapshot } from "./snapshot.ts";

interface Backoff {
  readonly untilMs: number;
  readonly durationMs: number;
  readonly failedMs: number;
  readonly code: string;
  readonly message: string;
}

interface BackoffTimes {
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly backoffResetMs: number;
}

const minuteMs = 60_000;

export class Book {
  /** By node name: time since when the node is unneeded, empty, or unready. */
  readonly unneededSince = new Map<string, number>();
  readonly emptySince = new Map<string, number>();
  readonly unreadySince = new Map<string, number>();
  /** By instance id: time since when the instance has no Node. */
  readonly unregisteredSince = new Map<string, number>();
  /** By group: time since when the group has fewer instances than its target. */
  readonly missingSince = new Map<string, number>();
  /** By group: time since when another shard is expected to grow it. */
  readonly foreignSince = new Map<string, number>();
  /** By node name: removals in progress. `isDrain`: Pods have to be evicted. */
  readonly removing = new Map<string, { readonly group: string; readonly isDrain: boolean }>();
  readonly #backoffs = new Map<string, Backoff>();
  /** Groups that were asked to grow, and whose growth has not ended yet. */
  readonly #growing = new Set<string>();
  readonly #added = new Map<string, { readonly atMs: number; readonly count: number }[]>();
  lastAddMs = Number.NEGATIVE_INFINITY;
  lastDeleteMs = Number.NEGATIVE_INFINITY;
  lastFailureMs = Number.NEGATIVE_INFINITY;

  backoffOf(group: string, nowMs: number): Backoff | undefined {
    const backoff = this.#backoffs.get(group);
    return backoff !== undefined && nowMs < backoff.untilMs ? backoff : undefined;
  }

  /** Starts a backoff for the group. Each failure doubles its duration, unless the last failure is long ago. */
  fail(
    group: string,
    { code, message }: { readonly code: string; readonly message: string },
    nowMs: number,
    times: BackoffTimes,
  ): void {
    const last = this.#backoffs.get(group);
    const isFresh = last === undefined || nowMs - last.failedMs > times.backoffResetMs;
    const durationMs = isFresh
      ? times.initialBackoffMs
      : Math.min(times.maxBackoffMs, last.durationMs * 2);
    const untilMs = nowMs + durationMs;
    this.#growing.delete(group);
    this.#backoffs.set(group, { untilMs, durationMs, failedMs: nowMs, code, message });
  }

  /** Call it when the group has its wanted size. If it was asked to grow, that succeeded, and its failures are forgotten. */
  complete(group: string): void {
    if (this.#growing.delete(group)) this.#backoffs.delete(group);
  }

  added(group: string, count: number, nowMs: number): void {
    const entries = this.#added.get(group) ?? [];
    entries.push({ atMs: nowMs, count });
    this.#added.set(group, entries);
    this.#growing.add(group);
    this.lastAddMs = nowMs;
  }

  /** Number of nodes requested within the last minute. */
  addedLately(group: string, nowMs: number): number {
    const entries = this.#added.get(group) ?? [];
    while ((entries[0]?.atMs ?? nowMs) <= nowMs - minuteMs) entries.shift();
    return entries.reduce((sum, { count }) => sum + count, 0);
  }

  /** Drops the entries of nodes, instances and groups that no longer exist. */
  forget({ groups, cluster: { cache } }: Snapshot): void {
    for (const map of [this.unneededSince, this.emptySince, this.unreadySince]) {
      for (const name of map.keys()) if (cache.nodes.slotOf(name) === undefined) map.delete(name);
    }
    const instances = new Set(groups.flatMap((group) => group.instances.map(({ id }) => id)));
    for (const id of this.unregisteredSince.keys()) {
      if (!instances.has(id)) this.unregisteredSince.delete(id);
    }
    const ids = new Set(groups.map(({ id }) => id));
    for (const map of [this.missingSince, this.foreignSince, this.#backoffs, this.#added]) {
      for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
    }
    for (const id of this.#growing) if (!ids.has(id)) this.#growing.delete(id);
  }
}

/** Returns the time since when a condition holds. The time is recorded when it begins to hold, and dropped when it stops. */
export function note(
  since: Map<string, number>,
  key: string,
  holds: boolean,
  nowMs: number,
): number | undefined {
  if (!holds) {
    since.delete(key);
    return undefined;
  }
  const known = since.get(key);
  if (known === undefined) since.set(key, nowMs);
  return known ?? nowMs;
}
