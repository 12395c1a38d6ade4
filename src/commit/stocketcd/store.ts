/**
 * The registry's store on an etcd cluster that others write as well: stock API servers, in their keys and
 * encoding, or more of ours.
 *
 * Holds  a write is one etcd transaction that names the revision it read; it is answered when etcd has committed it
 *        and the mirror shows it. Reads and watches are the mirror's; `latest` asks etcd what
 *        anybody has committed, once for all that ask in the same turn.
 * Fails  a write whose connection broke is refused as `stopped`: it may have landed, and may land yet, so nothing is
 *        guessed and nothing repeated. A question for the newest revision is asked again at the next endpoint.
 */
import { type ApiError, failure, internalError } from "#api/status.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { type AtRest, isSealed, SealedValueError } from "#store/at-rest.ts";
import type { ObserveRequest, OpenedStore, StoreOperation, StoreStats } from "#store/full-store.ts";
import { Mirror } from "#store/mirror.ts";
import type {
  CommitSink,
  DeleteResult,
  GetResult,
  Guard,
  Key,
  KeyValue,
  LeaseId,
  PutResult,
  RangeRequest,
  RangeResult,
  Refused,
  Revision,
  StoreWatch,
  WriteRefused,
} from "#store/store.ts";
import type { Input } from "#wire/etcd-codec.ts";
import type * as m from "#wire/etcd-messages.ts";
import type { EtcdEndpoints } from "#etcd/endpoints.ts";
import { Compactor } from "./compactor.ts";
import { Follower } from "./follower.ts";
import type { KeyLayout } from "./layout.ts";
import { fromStockValue, toStockValue } from "./values.ts";

interface StockStoreDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly endpoints: EtcdEndpoints;
  readonly layout: KeyLayout;
  /** Seals and opens values. Absent: values are not sealed. */
  readonly atRest?: AtRest;
}

interface StockStoreOptions {
  readonly slabBytes: number;
  readonly watchBatchCommitsMax: number;
  /** Period of the cluster's compaction. 0: another program compacts it. */
  readonly compactPeriodMs: number;
}

type RequestOp = Input<m.RequestOp>;
/** Numbers in etcd's compare: EQUAL, MOD. */
const equal = 0;
const modRevisionTarget = 2;
/** Number of attempts to read: one for each member of a usual cluster. */
const attemptsMax = 3;

export async function openStockStore(
  deps: StockStoreDeps,
  options: StockStoreOptions,
): Promise<OpenedStore> {
  const store = new StockStore(deps, options);
  await store.start();
  return store;
}

class StockStore implements OpenedStore {
  /** Never resolves, because a cluster that is unreachable may come back. */
  readonly failed = new Promise<Error>(() => {});
  readonly #deps: StockStoreDeps;
  readonly #mirror: Mirror;
  readonly #follower: Follower;
  readonly #compactor: Compactor;
  readonly #compactPeriodMs: number;
  /** Provider and encryption key of each sealed value. */
  readonly #sealed = new Map<Key, string>();
  readonly #seals = new Map<string, string>();
  #asking: Promise<Revision> | undefined;
  #writes = 0;
  #observe: ObserveRequest = () => {};

  constructor(deps: StockStoreDeps, options: StockStoreOptions) {
    this.#deps = deps;
    this.#mirror = new Mirror(deps, options);
    this.#follower = new Follower({
      ...deps,
      mirror: this.#mirror,
      seen: (key, stored) => this.#noteStale(key, stored),
    });
    this.#compactPeriodMs = options.compactPeriodMs;
    this.#compactor = new Compactor(deps, { periodMs: options.compactPeriodMs });
  }

  async start(): Promise<void> {
    await this.#follower.start();
    if (this.#compactPeriodMs > 0) this.#compactor.start();
  }

  problem(): string | undefined {
    return this.#follower.problem;
  }

  get commitRevision(): Revision {
    return this.#mirror.commitRevision;
  }

  get compactRevision(): Revision {
    return this.#mirror.compactRevision;
  }

  /**
   * Returns the cluster's newest revision. Calls share a request that has not begun yet; a request under way may be
   * too old, so later calls make a new one.
   */
  latest(): Promise<Revision> {
    const asking = this.#asking;
    if (asking !== undefined) return asking;
    const next = Promise.resolve().then(() => {
      this.#asking = undefined;
      return this.#askLatest();
    });
    this.#asking = next;
    return next;
  }

  #noteStale(key: Key, stored: Uint8Array | undefined): void {
    const { atRest } = this.#deps;
    if (atRest === undefined) return;
    if (stored !== undefined && isSealed(stored)) this.#sealed.set(key, this.#sealOf(key, stored));
    else this.#sealed.delete(key);
  }

  /** Returns the provider and encryption key of a value, as one shared text for all values with the same ones. */
  #sealOf(key: Key, stored: Uint8Array): string {
    const seal = this.#deps.atRest?.sealOf(key, stored) ?? "";
    const known = this.#seals.get(seal);
    if (known !== undefined) return known;
    if (this.#seals.size >= sealsMax) this.#seals.clear();
    this.#seals.set(seal, seal);
    return seal;
  }

  isStale(key: Key): boolean {
    const { atRest } = this.#deps;
    return atRest !== undefined && atRest.isStale(key, this.#sealed.get(key) ?? "");
  }

  get(key: Key, at?: Revision): GetResult {
    return this.#mirror.get(key, at);
  }

  range(request: RangeRequest): RangeResult {
    return this.#mirror.range(request);
  }

  watch(
    range: { readonly start: Key; readonly end: Key },
    after: Revision,
    sink: CommitSink,
  ): StoreWatch {
    return this.#mirror.watch(range, after, sink);
  }

  async put(
    key: Key,
    value: Uint8Array,
    { guard, lease }: { readonly guard?: Guard; readonly lease?: LeaseId },
  ): Promise<PutResult> {
    const at = this.#deps.layout.toStock(key);
    const stored = toStockValue(value);
    const sealed = this.#deps.atRest?.seal(key, at, stored) ?? stored;
    const put = { key: at, value: sealed, lease: lease ?? 0n };
    const operation = guard?.modRevision === 0 ? "create" : "update";
    const answer = await this.#timed(operation, key, this.#write(at, { put }, guard));
    if (answer.kind !== "committed")
      return answer.kind === "conflict" ? await this.#conflict(answer, key) : answer;
    return { kind: "committed", revision: answer.revision, previous: undefined };
  }

  async delete(key: Key, { guard }: { readonly guard?: Guard }): Promise<DeleteResult> {
    const at = this.#deps.layout.toStock(key);
    const op = { deleteRange: { key: at, prevKv: true } };
    const answer = await this.#timed("delete", key, this.#write(at, op, guard));
    if (answer.kind === "conflict") {
      return answer.kv === undefined ? { kind: "missing" } : this.#conflict(answer, key);
    }
    if (answer.kind !== "committed") return answer;
    const { previous, revision } = answer;
    if (previous === undefined) return { kind: "missing" };
    await this.#prepare(key, previous);
    return { kind: "committed", revision, previous: this.#ours(key, previous) };
  }

  /** Drops the mirror's history; the cluster's history is compacted on its own (compactor.ts). */
  compact(revision: Revision): Promise<{ readonly kind: "ok" } | Refused> {
    const { commitRevision, compactRevision } = this;
    if (revision > commitRevision) return Promise.resolve({ kind: "future", commitRevision });
    if (revision <= compactRevision) return Promise.resolve({ kind: "compacted", compactRevision });
    this.#mirror.compact(revision);
    return Promise.resolve({ kind: "ok" });
  }

  async grantLease(ttlSeconds: number): Promise<LeaseId> {
    const { id } = await this.#deps.endpoints.client().grant(Math.ceil(ttlSeconds));
    return id as LeaseId;
  }

  async close(): Promise<void> {
    this.#compactor.close();
    await this.#follower.stop();
    await this.#mirror.close();
    this.#deps.endpoints.close();
  }

  stats(): StoreStats {
    return {
      ...this.#mirror.stats(),
      commits: { batches: this.#writes, records: this.#writes, bytes: 0, waiting: 0 },
      engine: { kind: "etcd", storedBytes: 0, logBytes: 0, checkpointRevision: 0 },
    };
  }

  observeRequests(observe: ObserveRequest): void {
    this.#observe = observe;
  }

  async #timed<T>(operation: StoreOperation, key: Key | undefined, answer: Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    try {
      return await answer;
    } finally {
      this.#observe(operation, key, (clock.monotonicMs() - startMs) / 1_000);
    }
  }

  async #askLatest(): Promise<Revision> {
    for (let attempt = 1; ; attempt++) {
      const client = this.#deps.endpoints.client();
      try {
        const asked = client.range({ key: this.#deps.layout.root, countOnly: true });
        const { header } = await this.#timed("get", undefined, asked);
        const revision = (header?.revision ?? 0) as Revision;
        this.#follower.reach(revision);
        return revision;
      } catch (error) {
        this.#deps.endpoints.leave(client);
        if (attempt >= attemptsMax) throw unavailable(error);
      }
    }
  }

  async #write(key: Key, op: RequestOp, guard: Guard | undefined): Promise<Written> {
    this.#writes++;
    const compare =
      guard === undefined
        ? []
        : [{ result: equal, target: modRevisionTarget, key, modRevision: guard.modRevision }];
    const request = { compare, success: [op], failure: [{ range: { key } }] };
    try {
      const answer = await this.#deps.endpoints.client().txn(request);
      return this.#written(answer);
    } catch (error) {
      return refusedBy(error);
    }
  }

  #written({ header, succeeded, responses }: m.TxnResponse): Written {
    const revision = (header?.revision ?? 0) as Revision;
    const [response] = responses;
    if (!succeeded) return { kind: "conflict", kv: response?.range?.kvs[0] };
    const previous = response?.deleteRange?.prevKvs[0];
    return { kind: "committed", revision, previous };
  }

  /** Returns the stored value as a value of this store. @throws ApiError 500 when it is sealed and cannot be opened. */
  #ours(key: Key, kv: StockKeyValue): KeyValue {
    return {
      key,
      value: fromStockValue(this.#opened(key, kv)),
      createRevision: kv.createRevision as Revision,
      modRevision: kv.modRevision as Revision,
      version: kv.version,
      lease: kv.lease as LeaseId,
    };
  }

  #opened(key: Key, { key: path, value }: StockKeyValue): Uint8Array {
    try {
      return this.#deps.atRest?.open(key, path, value) ?? value;
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error;
      throw internalError(`the stored value of ${path} cannot be decrypted`);
    }
  }

  async #prepare(key: Key, { value }: StockKeyValue): Promise<void> {
    await this.#deps.atRest?.prepare([{ key, value }]);
  }

  async #conflict(
    { kv }: Conflict,
    key: Key,
  ): Promise<{ readonly kind: "conflict"; readonly actual: KeyValue | undefined }> {
    if (kv !== undefined) await this.#prepare(key, kv);
    return { kind: "conflict", actual: kv === undefined ? undefined : this.#ours(key, kv) };
  }
}

/** Maximum number of remembered encryption keys: there are few, unless forged values are written. */
const sealsMax = 1_000;

type StockKeyValue = m.Of<typeof m.keyValue>;

interface Conflict {
  readonly kind: "conflict";
  /** The key's present state. */
  readonly kv: StockKeyValue | undefined;
}

type Written =
  | {
      readonly kind: "committed";
      readonly revision: Revision;
      readonly previous: StockKeyValue | undefined;
    }
  | Conflict
  | WriteRefused;

/** Returns the error of a stock server while its etcd is unreachable. */
function unavailable(error: unknown): ApiError {
  const text = error instanceof Error ? error.message : String(error);
  return failure(503, "ServiceUnavailable", `etcd does not answer: ${text}`, {});
}

/** Translates etcd's refusals into the store's results. */
function refusedBy(error: unknown): WriteRefused {
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes("mvcc: database space exceeded")) return { kind: "no-space", message };
  if (message.includes("request is too large")) return { kind: "too-large", message };
  if (message.includes("requested lease not found")) return { kind: "lease-not-found" };
  return { kind: "stopped", message: `etcd: ${message}` };
}
