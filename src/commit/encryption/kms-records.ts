/** Figures for the metrics of KMS plugins (upstream's apiserver_envelope_encryption_*), for the last 100 key ids, by their hashes. */
import type { ObserveCall } from "./kms-client.ts";
import { hashOfId } from "./kms-envelope.ts";
import { LruMap } from "./lru-map.ts";

/** Maximum number of label sets, as upstream. */
const labelSetsMax = 100;
/** Maximum number of calls kept until `observe` is called, such as the first status requests. */
const earlyMax = 100;

interface KeyUse {
  readonly labels: readonly string[];
  count: number;
  lastMs: number;
}

interface Call {
  readonly provider: string;
  readonly method: string;
  readonly code: string;
  readonly seconds: number;
}

type Direction = "from_storage" | "to_storage";

export class KmsRecords {
  readonly #nowMs: () => number;
  readonly #apiServerHash: string;
  readonly #uses = new LruMap<KeyUse>(labelSetsMax);
  readonly #statuses = new LruMap<KeyUse>(labelSetsMax);
  readonly #hashes = new LruMap<string>(labelSetsMax);
  /** Invalid key ids, by provider and code. */
  readonly #invalid = new LruMap<KeyUse>(labelSetsMax);
  #early: Call[] = [];
  #observe: ((call: Call) => void) | undefined;

  constructor(nowMs: () => number, apiServerId: string) {
    this.#nowMs = nowMs;
    this.#apiServerHash = hashOfId(apiServerId);
  }

  /** Passes on calls from now on, and the calls kept so far. */
  observe(observe: (call: Call) => void): void {
    this.#observe = observe;
    for (const call of this.#early) observe(call);
    this.#early = [];
  }

  callsOf(provider: string): ObserveCall {
    return (method, code, seconds) => {
      const call = { provider, method, code, seconds };
      if (this.#observe !== undefined) this.#observe(call);
      else if (this.#early.length < earlyMax) this.#early.push(call);
    };
  }

  used(direction: Direction, provider: string, keyId: string): void {
    this.#add(this.#uses, [direction, provider, this.#hash(keyId), this.#apiServerHash]);
  }

  statusKeyId(provider: string, keyId: string): void {
    this.#add(this.#statuses, [provider, this.#hash(keyId), this.#apiServerHash]);
  }

  invalidStatusKeyId(provider: string, code = ""): void {
    this.#add(this.#invalid, [provider, code]);
  }

  uses(): readonly KeyUse[] {
    return Array.from(this.#uses.entries(), ([, use]) => use);
  }

  statuses(): readonly KeyUse[] {
    return Array.from(this.#statuses.entries(), ([, use]) => use);
  }

  invalid(): readonly KeyUse[] {
    return Array.from(this.#invalid.entries(), ([, use]) => use);
  }

  #hash(keyId: string): string {
    const known = this.#hashes.get(keyId);
    if (known !== undefined) return known;
    const hash = hashOfId(keyId);
    this.#hashes.set(keyId, hash);
    return hash;
  }

  #add(to: LruMap<KeyUse>, labels: readonly string[]): void {
    const key = labels.join(" ");
    const known = to.get(key);
    if (known === undefined) return to.set(key, { labels, count: 1, lastMs: this.#nowMs() });
    known.count++;
    known.lastMs = this.#nowMs();
  }
}
