/**
 * Compaction of an etcd cluster that several API servers share, by upstream's election: key `compact_rev_key`, whose version
 * is the number of compactions so far. Every period each server tries to raise it from the number it knows; the
 * one that does compacts what was history a period ago.
 *
 * After  k8s.io/apiserver/pkg/storage/etcd3/compact.go, so that stock servers and ours take turns.
 */
import type { EtcdClient } from "#etcd/client.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { EtcdEndpoints } from "#etcd/endpoints.ts";

const key = "compact_rev_key";
/** Numbers in etcd's compare: EQUAL, VERSION. */
const equal = 0;
const versionTarget = 0;

interface CompactorDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly endpoints: EtcdEndpoints;
}

export class Compactor {
  readonly #deps: CompactorDeps;
  readonly #periodMs: number;
  #timer: Timer | undefined;
  /** Number of compactions so far, as far as this process knows. */
  #count = 0;
  /** Head revision one period ago. 0: not known yet, so nothing is compacted. */
  #revision = 0;
  #isClosed = false;

  constructor(deps: CompactorDeps, options: { readonly periodMs: number }) {
    this.#deps = deps;
    this.#periodMs = options.periodMs;
  }

  start(): void {
    this.#timer = this.#deps.clock.after("store.compact", this.#periodMs, () => void this.#round());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Compacts once and starts the next period. Never rejects. */
  async #round(): Promise<void> {
    try {
      await this.#compact(this.#deps.endpoints.client());
    } catch (error) {
      this.#deps.log.warn("etcd was not compacted", { error: String(error) });
    }
    if (!this.#isClosed) this.start();
  }

  async #compact(client: EtcdClient): Promise<void> {
    const value = new TextEncoder().encode(String(this.#revision));
    const compare = [{ result: equal, target: versionTarget, key, version: this.#count }];
    const answer = await client.txn({
      compare,
      success: [{ put: { key, value } }],
      failure: [{ range: { key } }],
    });
    const head = answer.header?.revision ?? 0;
    const wanted = this.#revision;
    this.#revision = head;
    if (!answer.succeeded) {
      this.#count = answer.responses[0]?.range?.kvs[0]?.version ?? 0;
      return;
    }
    this.#count++;
    if (wanted > 0) await client.compact(wanted);
  }
}
