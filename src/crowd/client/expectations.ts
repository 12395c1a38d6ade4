/**
 * Reads one's own writes through a cache that lags: after a controller has written for a key, it does
 * not act for that key again before the informer shows those writes. Like client-go's
 * ControllerExpectations.
 *
 * Holds  per key the highest resourceVersion written, and the uids whose deletion has not been seen yet.
 * Why    resourceVersions of one resource are comparable integers (KEP-5504), so one comparison shows whether the
 *        cache has a write. client-go counts expected events, and a missed event makes
 *        such a count wrong. The event that satisfies an expectation also wakes the key.
 * Bounds one entry per key with writes in flight; an entry older than `timeoutMs` counts as satisfied.
 * Live   an unsatisfied key is checked again after `recheckMs`: if the written object is already
 *        gone again, a relist may skip the event that the key waits for.
 */
import type { KubeObject } from "#api/object.ts";
import type { Informer } from "./informer.ts";
import type { Clock } from "#platform/clock.ts";

/** Upstream's ExpectationsTimeout: a write that never becomes visible must not block its key forever. */
const timeoutMs = 5 * 60 * 1000;

const recheckMs = 30_000;

/** The result of a reconcile whose key has unsatisfied expectations. */
export const unsatisfied = { requeueAfterMs: recheckMs };

interface Pending {
  resourceVersion: number;
  /** Keys of objects being deleted, by uid. */
  readonly deletions: Map<string, string>;
  readonly sinceMs: number;
}

type Cache<T extends KubeObject> = Pick<Informer<T>, "resourceVersion" | "getByKey">;

export class Expectations<T extends KubeObject> {
  readonly #informer: Cache<T>;
  readonly #clock: Clock;
  readonly #pending = new Map<string, Pending>();

  constructor(informer: Cache<T>, clock: Clock) {
    this.#informer = informer;
    this.#clock = clock;
  }

  /** `object`: the server's answer to a create, update or patch. */
  expectWrite(key: string, object: T): void {
    const resourceVersion = Number(object.metadata?.resourceVersion ?? 0);
    const pending = this.#getOrCreate(key);
    pending.resourceVersion = Math.max(pending.resourceVersion, resourceVersion);
  }

  /** Call before sending the delete, because its event may arrive before the answer. */
  expectDeletion(key: string, object: T): void {
    const { uid = "", namespace = "", name = "" } = object.metadata ?? {};
    const objectKey = namespace === "" ? name : `${namespace}/${name}`;
    this.#getOrCreate(key).deletions.set(uid, objectKey);
  }

  /** Call when the delete failed, because no event will arrive. */
  cancelDeletion(key: string, object: T): void {
    this.#pending.get(key)?.deletions.delete(object.metadata?.uid ?? "");
  }

  /** Whether the cache shows everything written for `key`, or the timeout has passed. */
  isSatisfied(key: string): boolean {
    const pending = this.#pending.get(key);
    if (pending === undefined) return true;
    const isExpired = this.#clock.monotonicMs() - pending.sinceMs > timeoutMs;
    if (!isExpired && !this.#isObserved(pending)) return false;
    this.#pending.delete(key);
    return true;
  }

  forget(key: string): void {
    this.#pending.delete(key);
  }

  #isObserved(pending: Pending): boolean {
    if (Number(this.#informer.resourceVersion) < pending.resourceVersion) return false;
    for (const [uid, key] of pending.deletions) {
      const cached = this.#informer.getByKey(key);
      const isGone = cached?.metadata?.uid !== uid;
      if (!isGone && cached.metadata?.deletionTimestamp === undefined) return false;
      pending.deletions.delete(uid);
    }
    return true;
  }

  #getOrCreate(key: string): Pending {
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = { resourceVersion: 0, deletions: new Map(), sinceMs: this.#clock.monotonicMs() };
      this.#pending.set(key, pending);
    }
    return pending;
  }
}
