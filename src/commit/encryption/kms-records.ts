/** What the metrics of KMS plugins show (upstream's apiserver_envelope_encryption_*). Key ids by their hash, the last 100. */
import type { ObserveCall } from "./kms-client.ts";
import { hashOfId } from "./kms-envelope.ts";
import { LruMap } from "./lru-map.ts";

/** Upstream's bound of label sets. */
const labelSetsMax = 100;
/** Calls before anybody observes: of the first questions. */
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
  /** By provider and code. */
  readonly #invalid = new LruMap<KeyUse>(labelSetsMax);
  #early: Call[] = [];
  #observe: ((call: Call) => void) | undefined;

  constructor(nowMs: () => number, apiServerId: string) {
    this.#nowMs = nowMs;
    this.#apiServerHash = hashOfId(apiServerId);
  }

  /** Calls from now on, and those before. */
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
