/**
 * Moves values of the caches out of old store blocks after a compaction. Values that the caches keep for longer than
 * the store keeps history would pin the blocks they lie in; memory would then follow dead data instead of live data.
 *
 * Why    a value handed out is a view of a block of the store (`store/slabs.ts`). The cleaner empties
 *        blocks that are mostly dead, but one old object, one event of a quiet resource or one parsed
 *        object kept for a later reader would hold a whole block each.
 * Cost   a get per object that is older than the compaction, in steps with turns of the loop between.
 * Bounds until the next pass, blocks of at most two periods of history are held.
 */
import { type Clock, sleep } from "#platform/clock.ts";
import type { Store } from "#store/store.ts";
import type { MemoPool } from "#forms/memo-pool.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import { ValuePacker } from "#watch/value-packer.ts";
import type { ResourceCore } from "./cacher.ts";
import { storeKey } from "./keys.ts";

/** The store prunes and cleans in slices; after this time it has mostly finished. */
const cleaningMs = 10_000;
/** Pause between steps, so that a pass takes at most a third of the loop's time. */
const restMs = 1;

interface RehomingDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly memos: MemoPool;
  readonly cores: () => Iterable<ResourceCore>;
}

export class Rehoming {
  readonly #deps: RehomingDeps;
  readonly #stopped = new AbortController();
  #mark = 0;
  #passing = false;

  constructor(deps: RehomingDeps) {
    this.#deps = deps;
  }

  /** Starts a pass after history up to `mark` was pruned. A running pass finishes first; the next one uses the newest mark. */
  async run(mark: number): Promise<void> {
    this.#mark = mark;
    if (this.#passing) return;
    this.#passing = true;
    try {
      for (let done = -1; done < this.#mark && !this.#stopped.signal.aborted;) {
        await this.#rest(cleaningMs);
        done = this.#mark;
        await this.#pass(done);
      }
    } finally {
      this.#passing = false;
    }
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #pass(mark: number): Promise<void> {
    const { cores, memos } = this.#deps;
    const packer = new ValuePacker();
    const copy = ({ value }: SharedObject): Uint8Array => packer.copy(value);
    const { signal } = this.#stopped;
    for (const core of cores()) {
      if (signal.aborted) return;
      const stored = (object: SharedObject): Uint8Array | undefined => this.#stored(core, object);
      for (const _ of core.cache.state.rehome(mark, { stored, copy })) {
        await this.#rest(restMs);
        if (signal.aborted) return;
      }
    }
    memos.dropOutlived(mark);
    memos.dropUnused();
  }

  #rest(ms: number): Promise<void> {
    return sleep(this.#deps.clock, "registry.rehome", ms, this.#stopped.signal);
  }

  #stored({ prefix }: ResourceCore, { key, revision }: SharedObject): Uint8Array | undefined {
    const found = this.#deps.store.get(storeKey(prefix, key));
    if (found.kind !== "found" || found.kv.modRevision !== revision) return undefined;
    return found.kv.value;
  }
}
