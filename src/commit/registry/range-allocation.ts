/**
 * Allocates node ports for all servers over one storage: upstream's RangeAllocation `servicenodeports`, changed by
 * optimistic transactions. It is no served kind: it has a key of its own, in a stock etcd
 * `/registry/ranges/servicenodeports`.
 *
 * Holds  a change is made on the stored set and stored only if that is still the stored one.
 * Cost   changes that are requested while a write is under way go into the next write together.
 * Fails  without a readable set of this server's range nothing is allocated (500), until `repair` has written it.
 * After  k/k pkg/registry/core/service/allocator/storage.
 */
import { decodeBase64, encodeBase64 } from "#api/defaults/base64.ts";
import type { AnyObject } from "#api/object.ts";
import { internalError } from "#api/status.ts";
import { equalBytes } from "#base/bytes.ts";
import { decodeObject, encodeObject } from "#forms/object-bytes.ts";
import type { Key, KeyValue, LeaseId, PutResult, Revision, Store } from "#store/store.ts";
import { resourcePrefix, storeKey } from "./keys.ts";

const key: Key = storeKey(
  resourcePrefix({ group: "", resource: "rangeallocations" }),
  "servicenodeports",
);
/** Consecutive conflicts; each one means that another server succeeded. */
const attemptsMax = 100;

/** Throwing refuses the change and undoes it. @returns the new data. */
type RangeChange = (data: Uint8Array) => Uint8Array;

interface Waiting {
  readonly change: RangeChange;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Applied {
  readonly accepted: readonly Waiting[];
  readonly refused: ReadonlyMap<Waiting, unknown>;
  /** Undefined: no change was necessary. */
  readonly data: Uint8Array | undefined;
}

export class RangeAllocation {
  readonly #store: Store;
  readonly #range: string;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #written: KeyValue | undefined;

  /** `range`: `30000-32767`. */
  constructor(store: Store, options: { readonly range: string }) {
    this.#store = store;
    this.#range = options.range;
  }

  /** The stored data as far as this server has seen it; undefined: none of this range. */
  get data(): Uint8Array | undefined {
    return this.#dataOf(this.#stored());
  }

  /** Resolves when the change is stored; rejects with the error it threw. The change may run several times. */
  change(change: RangeChange): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (!this.#isWriting) void this.#writeAll();
    });
  }

  /** Stores `rebuild` of the stored data if that has not changed meanwhile. @returns whether it was stored. */
  async repair(rebuild: (data: Uint8Array | undefined) => Uint8Array): Promise<boolean> {
    await this.#store.latest?.();
    const stored = this.#stored();
    const result = await this.#put(rebuild(this.#dataOf(stored)), stored?.modRevision ?? 0);
    return result.kind === "committed";
  }

  /** This server's own last write, when the store's view does not include it yet. */
  #newest(): KeyValue | undefined {
    const stored = this.#stored();
    const own = this.#written;
    return own !== undefined && own.modRevision > (stored?.modRevision ?? 0) ? own : stored;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#waiting.length > 0) await this.#writeBatch(this.#waiting.splice(0));
    } finally {
      this.#isWriting = false;
    }
  }

  /** Never rejects: each waiting change resolves or rejects separately. */
  async #writeBatch(batch: readonly Waiting[]): Promise<void> {
    let stored = this.#newest();
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const applied = this.#apply(batch, stored);
      try {
        const result = await this.#putChanged(applied, stored);
        if (result.kind === "conflict") {
          stored = result.actual;
          continue;
        }
        if (result.kind !== "committed") throw internalError(`node ports: ${result.kind}`);
      } catch (error) {
        for (const one of batch) one.reject(error);
        return;
      }
      for (const [one, error] of applied.refused) one.reject(error);
      for (const one of applied.accepted) one.resolve();
      return;
    }
    const error = internalError("node ports cannot be allocated: too many servers change them");
    for (const one of batch) one.reject(error);
  }

  async #putChanged(
    { data }: Applied,
    stored: KeyValue | undefined,
  ): Promise<PutResult | { readonly kind: "committed" }> {
    const before = this.#dataOf(stored);
    const isSame = data === undefined || before === undefined || equalBytes(data, before);
    return isSame ? { kind: "committed" } : this.#put(data, stored?.modRevision ?? 0);
  }

  #apply(batch: readonly Waiting[], stored: KeyValue | undefined): Applied {
    const accepted: Waiting[] = [];
    const refused = new Map<Waiting, unknown>();
    let data = this.#dataOf(stored);
    for (const one of batch) {
      try {
        if (data === undefined) throw internalError(cannotAllocate);
        data = one.change(data);
        accepted.push(one);
      } catch (error) {
        refused.set(one, error);
      }
    }
    return { accepted, refused, data };
  }

  #stored(): KeyValue | undefined {
    const found = this.#store.get(key);
    return found.kind === "found" ? found.kv : undefined;
  }

  #dataOf(stored: KeyValue | undefined): Uint8Array | undefined {
    if (stored === undefined) return undefined;
    try {
      const { range, data } = decodeObject(stored.value, 0) as RangeObject;
      return range === this.#range ? decodeBase64(data ?? "") : undefined;
    } catch {
      return undefined;
    }
  }

  async #put(data: Uint8Array, modRevision: number): Promise<PutResult> {
    const object: RangeObject = {
      apiVersion: "v1",
      kind: "RangeAllocation",
      metadata: {},
      range: this.#range,
      data: encodeBase64(data),
    };
    const guard = { modRevision: modRevision as Revision | 0 };
    const value = encodeObject(object);
    const result = await this.#store.put(key, value, { guard });
    if (result.kind === "committed") {
      const { revision } = result;
      this.#written = {
        key,
        value,
        createRevision: revision,
        modRevision: revision,
        version: 1,
        lease: 0n as LeaseId,
      };
    }
    return result;
  }
}

/** Upstream's text. */
const cannotAllocate = "cannot allocate resources of type servicenodeportallocations at this time";

interface RangeObject extends AnyObject {
  readonly range?: string;
  /** Base64. */
  readonly data?: string;
}
