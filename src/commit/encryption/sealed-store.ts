/**
 * A store whose values are sealed below it: log, checkpoints, snapshots, dumps and replicas hold what `AtRest` makes.
 *
 * Holds  what was put is what is read, seen and conflicted with. A value that does not open is shown to no list and no
 *        watch, logged once, and an error to who reads or writes its key: nothing is overwritten that cannot be read.
 *        Commits whose keys are asked for elsewhere wait until those have come.
 * Cost   a value that is not sealed: a look at its first byte.
 */
import { internalError } from "#api/status.ts";
import type { Log } from "#platform/log.ts";
import { type AtRest, isSealed, KeyAwayError, SealedValueError } from "#store/at-rest.ts";
import type { ObserveRequest, OpenedStore, StoreStats } from "#store/full-store.ts";
import type {
  Commit,
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
  StoreEvent,
  StoreWatch,
} from "#store/store.ts";

/** Number of values that are prepared together before the store is read. */
const pageKeys = 2_000;

/** Maximum number of keys that are logged; no further key is logged. */
const loggedMax = 1_000;

interface SealedStoreDeps {
  readonly store: OpenedStore;
  readonly atRest: AtRest;
  readonly log: Log;
}

/** A key above every valid key, because keys are bytes of UTF-8. */
const lastKey = "\xff" as Key;

export class SealedStore implements OpenedStore {
  readonly latest?: () => Promise<Revision>;
  readonly observeRequests?: (observe: ObserveRequest) => void;
  readonly #store: OpenedStore;
  readonly #atRest: AtRest;
  readonly #log: Log;
  readonly #logged = new Set<Key>();

  private constructor(deps: SealedStoreDeps) {
    const { store } = deps;
    this.#store = store;
    this.#atRest = deps.atRest;
    this.#log = deps.log;
    if (store.latest !== undefined) this.latest = () => must(store.latest?.());
    if (store.observeRequests !== undefined)
      this.observeRequests = (observe) => store.observeRequests?.(observe);
  }

  /** Opens a store. Waits until the KMS plugins have given or refused the keys of all its values. */
  static async open(deps: SealedStoreDeps): Promise<SealedStore> {
    const { store, atRest } = deps;
    let start = "" as Key;
    for (let more = true; more;) {
      const page = store.range({ start, end: lastKey, limit: pageKeys });
      if (page.kind !== "ok") break;
      await atRest.prepare(page.kvs);
      ({ more } = page);
      start = `${page.kvs.at(-1)?.key ?? ""}\0` as Key;
    }
    return new SealedStore(deps);
  }

  get commitRevision(): Revision {
    return this.#store.commitRevision;
  }

  get compactRevision(): Revision {
    return this.#store.compactRevision;
  }

  get failed(): Promise<Error> {
    return this.#store.failed;
  }

  problem(): string | undefined {
    return this.#store.problem();
  }

  stats(): StoreStats {
    return this.#store.stats();
  }

  /** @throws ApiError 500 when the value cannot be opened. */
  get(key: Key, at?: Revision): GetResult {
    const found = this.#store.get(key, at);
    return found.kind === "found" ? { ...found, kv: this.#opened(found.kv) } : found;
  }

  range(request: RangeRequest): RangeResult {
    const found = this.#store.range(request);
    if (found.kind !== "ok" || !found.kvs.some(({ value }) => isSealed(value))) return found;
    const kvs = found.kvs.flatMap((kv) => this.#listed(kv) ?? []);
    return { ...found, kvs };
  }

  async put(
    key: Key,
    value: Uint8Array,
    options: { readonly guard?: Guard; readonly lease?: LeaseId },
  ): Promise<PutResult> {
    const result = await this.#store.put(key, this.#atRest.seal(key, key, value), options);
    switch (result.kind) {
      case "committed":
        return { ...result, previous: this.#before(result.previous) };
      case "conflict": {
        const { actual } = result;
        return { kind: "conflict", actual: actual === undefined ? actual : this.#opened(actual) };
      }
      default:
        return result;
    }
  }

  async delete(key: Key, options: { readonly guard?: Guard }): Promise<DeleteResult> {
    const result = await this.#store.delete(key, options);
    switch (result.kind) {
      case "committed":
        return { ...result, previous: this.#before(result.previous) ?? result.previous };
      case "conflict": {
        const { actual } = result;
        return { kind: "conflict", actual: actual === undefined ? actual : this.#opened(actual) };
      }
      default:
        return result;
    }
  }

  watch(
    range: { readonly start: Key; readonly end: Key },
    after: Revision,
    sink: CommitSink,
  ): StoreWatch {
    let isWaiting = false;
    const watching = this.#store.watch(range, after, {
      deliver: (commits) => {
        if (isWaiting) return false;
        const waits = this.#atRest.prepare(valuesOf(commits));
        if (waits === undefined) return sink.deliver(this.#openedCommits(commits));
        // A key is missing: the batch is delivered again when the key has come. `prepare` never rejects.
        isWaiting = true;
        void waits.then(() => {
          isWaiting = false;
          watching.resume();
        });
        return false;
      },
      ...(sink.progressed === undefined
        ? {}
        : { progressed: (revision: Revision) => sink.progressed?.(revision) }),
      compacted: (revision) => sink.compacted(revision),
    });
    return watching;
  }

  compact(revision: Revision): Promise<{ readonly kind: "ok" } | Refused> {
    return this.#store.compact(revision);
  }

  grantLease(ttlSeconds: number): Promise<LeaseId> {
    return this.#store.grantLease(ttlSeconds);
  }

  isStale(key: Key): boolean {
    const found = this.#store.get(key);
    if (found.kind !== "found") return false;
    return this.#atRest.isStale(key, this.#atRest.sealOf(key, found.kv.value));
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #openedCommits(commits: readonly Commit[]): readonly Commit[] {
    if (!commits.some(({ events }) => events.some(isSealedEvent))) return commits;
    return commits.map((commit) => ({
      ...commit,
      events: commit.events.flatMap((event) => this.#openedEvent(event) ?? []),
    }));
  }

  /** Returns the event with opened values. A value that cannot be opened counts as deleted, rather than stay in its old state. */
  #openedEvent(event: StoreEvent): StoreEvent | undefined {
    const previous = this.#before(event.previous);
    if (event.kind === "delete") return previous === undefined ? undefined : { ...event, previous };
    const kv = this.#shown(event.kv);
    if (kv !== undefined) return { ...event, kv, previous };
    return previous === undefined ? undefined : { kind: "delete", key: event.key, previous };
  }

  #before(kv: KeyValue | undefined): KeyValue | undefined {
    return kv === undefined ? undefined : this.#shown(kv);
  }

  /** Returns the opened value. Undefined: it cannot be opened, which is logged. */
  #shown(kv: KeyValue): KeyValue | undefined {
    if (!isSealed(kv.value)) return kv;
    try {
      return { ...kv, value: this.#atRest.open(kv.key, kv.key, kv.value) };
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error;
      this.#tell(kv.key, error);
      return undefined;
    }
  }

  /** As `#shown`. @throws ApiError 500 while the key is being requested, so that the list does not omit the value. */
  #listed(kv: KeyValue): KeyValue | undefined {
    if (!isSealed(kv.value)) return kv;
    try {
      return { ...kv, value: this.#atRest.open(kv.key, kv.key, kv.value) };
    } catch (error) {
      if (error instanceof KeyAwayError) throw internalError(error.message);
      return this.#shown(kv);
    }
  }

  #opened(kv: KeyValue): KeyValue {
    const shown = this.#shown(kv);
    if (shown !== undefined) return shown;
    throw internalError(`the stored value of ${kv.key} cannot be decrypted`);
  }

  #tell(key: Key, error: SealedValueError): void {
    if (this.#logged.has(key) || this.#logged.size >= loggedMax) return;
    this.#logged.add(key);
    this.#log.error("a stored value cannot be decrypted", { key, error: error.message });
  }
}

function isSealedEvent(event: StoreEvent): boolean {
  if (event.kind === "put" && isSealed(event.kv.value)) return true;
  return event.previous !== undefined && isSealed(event.previous.value);
}

function* valuesOf(commits: readonly Commit[]): Generator<KeyValue> {
  for (const { events } of commits) {
    for (const event of events) {
      if (event.kind === "put") yield event.kv;
      if (event.previous !== undefined) yield event.previous;
    }
  }
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("a store lost its question for the newest revision");
  return value;
}
