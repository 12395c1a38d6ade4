/**
 * The clients' requests, as the seed decides: writers and readers that pause in between and sometimes
 * retry requests without an answer; lease holders; a client that lists leases; one that compacts.
 */
import type { FakeRandom } from "#platform/testing/random.ts";
import type { Compare, KvRequest, Span } from "./checkers/history.ts";
import type { FakeClock } from "#platform/testing/clock.ts";
import type { SimEtcdClient } from "./etcd-client.ts";

export interface WorkloadDeps {
  readonly clock: FakeClock;
  readonly random: FakeRandom;
  /** All granted leases, newest last; some may have ended. */
  readonly leases: string[];
  /** Returns the revision that the recorder has seen. Compactions stay at or below it. */
  readonly seen: () => number;
}

export const keys = ["a/0", "a/1", "a/2", "a/3", "b/0", "b/1", "b/2", "c"] as const;
export const everything: Span = { key: "\0", end: "\0" };
const spans: readonly Span[] = [
  everything,
  { key: "a/", end: "a0" },
  { key: "b/", end: "b0" },
  { key: "a/1", end: "b/2" },
  { key: "b", end: "\0" },
];

export function spanOf(random: FakeRandom): Span {
  return random.chance(0.4) ? { key: random.pick(keys), end: "" } : random.pick(spans);
}

const thinkMsMax = 150;
const leasePauseMsMax = 400;
const listPauseMsMax = 40;
const compactPauseMsMax = 900;

export function think(deps: WorkloadDeps, ms: number): Promise<void> {
  return new Promise((resolve) => void deps.clock.after("sim.step", ms, resolve));
}

export async function readAndWrite(
  deps: WorkloadDeps,
  client: SimEtcdClient,
  untilMs: number,
): Promise<void> {
  const { random, clock } = deps;
  const requests = new Requests(random, client.name, deps.leases);
  let again: KvRequest | undefined;
  while (clock.monotonicMs() < untilMs) {
    const request = again ?? requests.next(deps.seen());
    const outcome = await client.ask(request);
    again = outcome?.kind === "unknown" && random.chance(0.5) ? request : undefined;
    await think(deps, random.below(thinkMsMax));
  }
}

/** Each request is written as text into its value, so that no two values are equal. */
class Requests {
  readonly #random: FakeRandom;
  readonly #name: string;
  readonly #leases: readonly string[];
  #count = 0;

  constructor(random: FakeRandom, name: string, leases: readonly string[]) {
    this.#random = random;
    this.#name = name;
    this.#leases = leases;
  }

  next(seen: number): KvRequest {
    const dice = this.#random.below(20);
    if (dice < 7) return this.#put();
    if (dice < 9) return this.#delete();
    if (dice < 14) return this.#transaction(1);
    return this.#range(this.#random.chance(0.3) ? Math.max(1, seen - this.#random.below(30)) : 0);
  }

  #put(): KvRequest {
    const value = `${this.#name}.${this.#count++}`.padEnd(this.#random.below(300), ".");
    const lease = this.#random.chance(0.25) ? this.#lease() : "0";
    const dice = this.#random.below(12);
    const ignore = dice === 0 ? "value" : dice === 1 ? "lease" : "none";
    const key = this.#random.pick(keys);
    return { kind: "put", key, value, lease: ignore === "lease" ? "0" : lease, ignore };
  }

  #lease(): string {
    return this.#leases.length === 0 ? "0" : this.#random.pick(this.#leases.slice(-4));
  }

  #delete(): KvRequest {
    return { kind: "delete", ...spanOf(this.#random) };
  }

  #range(revision: number): KvRequest {
    const limit = this.#random.pick([0, 0, 1, 3]);
    return { kind: "range", ...spanOf(this.#random), revision, limit };
  }

  /** Within a branch, no key is put twice, or deleted and put, because etcd refuses that. */
  #transaction(depth: number): KvRequest {
    const compares = Array.from({ length: this.#random.below(3) }, () => this.#compare());
    return { kind: "txn", compares, success: this.#branch(depth), failure: this.#branch(depth) };
  }

  #branch(depth: number): KvRequest[] {
    const left = new Set<string>(keys);
    const ops: KvRequest[] = [];
    for (let count = this.#random.below(4); count > 0; count--) {
      const op = this.#operation(depth);
      if (claim(left, op)) ops.push(op);
    }
    return ops;
  }

  #operation(depth: number): KvRequest {
    const dice = this.#random.below(8);
    if (dice === 0) return this.#range(0);
    if (dice === 1 && depth > 0) return this.#transaction(depth - 1);
    if (dice === 2) return { kind: "delete", key: this.#random.pick(keys), end: "" };
    return this.#put();
  }

  #compare(): Compare {
    const random = this.#random;
    const target = random.pick(["version", "create", "mod", "value", "lease"] as const);
    const result = random.pick(["equal", "equal", "notEqual", "greater", "less"] as const);
    const span = random.chance(0.3) ? spanOf(random) : { key: random.pick(keys), end: "" };
    const number = String(random.chance(0.6) ? 0 : random.below(40));
    const operand = target === "value" ? `${this.#name}.${random.below(20)}` : number;
    return { ...span, target, result, operand };
  }
}

/** Removes the keys that an operation changes from `left`. @returns false when one of them is not in `left`. */
function claim(left: Set<string>, op: KvRequest): boolean {
  const wanted = changedKeys(op);
  if (wanted.some((key) => !left.has(key))) return false;
  for (const key of wanted) left.delete(key);
  return true;
}

function changedKeys(op: KvRequest): string[] {
  if (op.kind === "range") return [];
  if (op.kind === "txn") return [...new Set([...op.success, ...op.failure].flatMap(changedKeys))];
  return [op.key];
}

/** Grants a lease, attaches keys to it, and renews it for a while. Then the lease expires or is revoked. */
export async function holdLeases(
  deps: WorkloadDeps,
  client: SimEtcdClient,
  first: number,
  untilMs: number,
): Promise<void> {
  const { random, clock, leases } = deps;
  for (let id = first; clock.monotonicMs() < untilMs; id++) {
    const ttlSeconds = 2 + random.below(3);
    const granted = await client.ask({ kind: "grant", lease: String(id), ttlSeconds });
    if (granted?.kind === "answered") leases.push(String(id));
    if (granted !== undefined) await holdOne(deps, client, String(id), untilMs);
    await think(deps, random.below(leasePauseMsMax));
  }
}

/** Lists leases all the time. A crash must not undo what an answer reported about a lease. */
export async function listLeases(
  deps: WorkloadDeps,
  client: SimEtcdClient,
  untilMs: number,
): Promise<void> {
  const { random, clock, leases } = deps;
  while (clock.monotonicMs() < untilMs) {
    const lease = leases.at(-1);
    if (lease !== undefined && random.chance(0.3)) await client.ask({ kind: "remaining", lease });
    else await client.ask({ kind: "leases" });
    await think(deps, random.below(listPauseMsMax));
  }
}

async function holdOne(
  deps: WorkloadDeps,
  client: SimEtcdClient,
  lease: string,
  untilMs: number,
): Promise<void> {
  const { random, clock } = deps;
  for (let renewals = random.below(6); renewals > 0; renewals--) {
    if (clock.monotonicMs() >= untilMs) return;
    const key = random.pick(keys);
    const value = `${client.name}.${lease}.${renewals}`;
    if (random.chance(0.6)) await client.ask({ kind: "put", key, value, lease, ignore: "none" });
    await client.renew(lease);
    if (random.chance(0.4)) await client.ask({ kind: "remaining", lease });
    if (random.chance(0.2)) await client.ask({ kind: "leases" });
    await think(deps, random.below(1000));
  }
  if (random.chance(0.4)) await client.ask({ kind: "revoke", lease });
  if (random.chance(0.5)) await client.ask({ kind: "remaining", lease });
}

export async function compact(
  deps: WorkloadDeps,
  client: SimEtcdClient,
  untilMs: number,
): Promise<void> {
  const { random, clock, seen } = deps;
  while (clock.monotonicMs() < untilMs) {
    await think(deps, random.below(compactPauseMsMax));
    const revision = seen() - random.pick([0, 0, 5, 20, 60]);
    if (revision > 1) await client.ask({ kind: "compact", revision });
  }
}
