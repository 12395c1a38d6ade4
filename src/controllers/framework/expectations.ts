/**
 * Read your own writes through a cache that lags: after a controller has written for a key, the key
 * is not reconciled before the informer has caught up with those writes.
 *
 * Holds  per key the highest resourceVersion written and the uids deleted and not yet seen to go.
 * Why    resourceVersions of one resource are comparable integers (KEP-5504), so "has my cache seen
 *        my write" is one comparison; counting expected events (client-go's expectations) drifts
 *        when an event is missed, this cannot. The event that satisfies it also wakes the key.
 * Bounds one entry per key with writes in flight; an entry older than `patienceMs` no longer blocks.
 * Live   a key that may not pass is looked at again after `recheckMs`: a relist may swallow the very
 *        event, when what was written is gone again.
 */
import type { KubeObject } from "#api/object.ts";
import type { Informer } from "#client/informer.ts";
import type { Clock } from "#platform/clock.ts";

/** Upstream's expectations time out after 5 minutes; a lost write must not block a key for good. */
const patienceMs = 5 * 60 * 1000;

const recheckMs = 30_000;

/** What a reconcile answers for a key that may not pass yet. */
export const unfulfilled = { requeueAfterMs: recheckMs };

interface Pending {
  resourceVersion: number;
  readonly deleted: Map<string, string>;
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

  /** `object` is what the server answered to a create, update or patch. */
  wrote(key: string, object: T): void {
    const resourceVersion = Number(object.metadata?.resourceVersion ?? 0);
    const pending = this.#of(key);
    pending.resourceVersion = Math.max(pending.resourceVersion, resourceVersion);
  }

  /** Call before the delete is sent: the event may come before the answer. */
  deleting(key: string, object: T): void {
    const { uid = "", namespace = "", name = "" } = object.metadata ?? {};
    this.#of(key).deleted.set(uid, namespace === "" ? name : `${namespace}/${name}`);
  }

  /** The delete failed: nothing will be seen to go. */
  notDeleted(key: string, object: T): void {
    this.#pending.get(key)?.deleted.delete(object.metadata?.uid ?? "");
  }

  /** True when the cache shows everything written for `key`, or patience is at its end. */
  passed(key: string): boolean {
    const pending = this.#pending.get(key);
    if (pending === undefined) return true;
    const late = this.#clock.monotonicMs() - pending.sinceMs > patienceMs;
    if (!late && !this.#caughtUp(pending)) return false;
    this.#pending.delete(key);
    return true;
  }

  forget(key: string): void {
    this.#pending.delete(key);
  }

  #caughtUp(pending: Pending): boolean {
    if (Number(this.#informer.resourceVersion) < pending.resourceVersion) return false;
    for (const [uid, key] of pending.deleted) {
      const held = this.#informer.getByKey(key);
      const gone = held?.metadata?.uid !== uid || held.metadata?.deletionTimestamp !== undefined;
      if (!gone) return false;
      pending.deleted.delete(uid);
    }
    return true;
  }

  #of(key: string): Pending {
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = { resourceVersion: 0, deleted: new Map(), sinceMs: this.#clock.monotonicMs() };
      this.#pending.set(key, pending);
    }
    return pending;
  }
}
