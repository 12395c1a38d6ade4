/**
 * Caches converted objects for one version of a definition, by the revision of the stored object: their bytes, and the
 * parsed object once it is needed.
 *
 * Holds  1. An object is converted once for all concurrent requests. 2. An object that a caller holds (`hold`) stays
 *        until it is released, regardless of the budget. 3. Converted objects are kept within the server's budget
 *        (`MemoPool`), and removed with their definition.
 * Why not in the stored object's own memo: the memo may be removed between a conversion and its use, and a conversion
 * cannot be repeated synchronously.
 */
import type { AnyObject } from "#api/object.ts";
import { assert, must } from "#base/assert.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { inLanes } from "../conversion/lanes.ts";
import type { MemoHolder, MemoPool } from "#forms/memo-pool.ts";

/** Converts objects into equally many, in the same order. Rejects with ApiError. */
type Convert = (objects: readonly CachedObject[]) => Promise<readonly AnyObject[]>;

/** Factor with which the pool also charges parsed objects of `forms/shared-object.ts`. */
const heapBytesPerJsonByte = 1.4;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Maximum number of objects parsed and encoded in one turn of the loop: 10 ms for objects of 2 KB. */
const partObjectsMax = 250;
const partsAtOnce = 4;

function partsOf(objects: readonly CachedObject[]): readonly (readonly CachedObject[])[] {
  const count = Math.ceil(objects.length / partObjectsMax);
  return Array.from({ length: count }, (_, at) =>
    objects.slice(at * partObjectsMax, (at + 1) * partObjectsMax),
  );
}

class Converted implements MemoHolder {
  readonly json: Uint8Array;
  memoUsed = false;
  holders = 0;
  isCharged = false;
  readonly #owner: ConvertedObjects;
  readonly #of: WeakRef<CachedObject>;
  #object: AnyObject | undefined;

  constructor(owner: ConvertedObjects, of: CachedObject, json: Uint8Array) {
    this.#owner = owner;
    this.#of = new WeakRef(of);
    this.json = json;
  }

  get of(): CachedObject | undefined {
    return this.#of.deref();
  }

  /** Parsed object. It is shared and never changed. */
  get object(): AnyObject {
    if (this.#object === undefined) {
      this.#object = JSON.parse(decoder.decode(this.json)) as AnyObject; // made by `stringify`
      this.#owner.charge(this, this.json.length * heapBytesPerJsonByte);
    }
    return this.#object;
  }

  dropMemo(): void {
    this.#object = undefined;
    this.isCharged = false;
    this.#owner.forget(this);
  }

  outlived(): boolean {
    return false;
  }
}

type Batch = ReadonlyMap<CachedObject, Converted>;

export class ConvertedObjects {
  readonly #pool: MemoPool;
  readonly #convert: Convert;
  readonly #known = new WeakMap<CachedObject, Converted>();
  /** Conversions that the pool contains. */
  readonly #charged = new Set<Converted>();
  readonly #underWay = new Map<CachedObject, Promise<Batch>>();

  constructor(pool: MemoPool, convert: Convert) {
    this.#pool = pool;
    this.#convert = convert;
  }

  /** Returns the conversion of an object if it is held or still in memory. */
  find(cached: CachedObject): Converted | undefined {
    const known = this.#known.get(cached);
    if (known !== undefined) known.memoUsed = true;
    return known;
  }

  /** Converts the objects whose conversion is missing. All conversions stay in memory until the result is disposed of. */
  async hold(objects: readonly CachedObject[]): Promise<Disposable> {
    const held: Converted[] = [];
    try {
      const missing = objects.filter((cached) => !this.#take(held, this.find(cached)));
      if (missing.length > 0) await this.#holdMissing(held, missing);
    } catch (error) {
      this.#release(held);
      throw error;
    }
    return { [Symbol.dispose]: () => this.#release(held.splice(0)) };
  }

  /** Drops the conversions that are not held, because the definition has changed. */
  clear(): void {
    for (const one of this.#charged) {
      this.#pool.release(one);
      one.dropMemo();
    }
  }

  /** Adds a conversion to the pool; called by `Converted`. */
  charge(one: Converted, bytes: number): void {
    one.isCharged = true;
    this.#charged.add(one);
    this.#pool.add(one, bytes);
  }

  /** Forgets a conversion that the pool has dropped; called by `Converted`. */
  forget(one: Converted): void {
    this.#charged.delete(one);
    if (one.holders === 0 && one.of !== undefined) this.#known.delete(one.of);
  }

  async #holdMissing(held: Converted[], missing: readonly CachedObject[]): Promise<void> {
    const fresh = missing.filter((cached) => !this.#underWay.has(cached));
    if (fresh.length > 0) this.#begin(fresh);
    const batches = new Set(missing.flatMap((cached) => this.#underWay.get(cached) ?? []));
    const made = await Promise.all(batches);
    for (const cached of missing) {
      const batch = made.find((one) => one.has(cached));
      this.#take(held, must(batch?.get(cached), "a conversion without its object"));
    }
  }

  #begin(fresh: readonly CachedObject[]): void {
    const run = async (): Promise<Batch> => {
      try {
        const parts = await inLanes(partsOf(fresh), partsAtOnce, (part) => this.#convertPart(part));
        return new Map(parts.flat());
      } finally {
        for (const cached of fresh) this.#underWay.delete(cached);
      }
    };
    const running = run();
    for (const cached of fresh) this.#underWay.set(cached, running);
  }

  async #convertPart(
    part: readonly CachedObject[],
  ): Promise<readonly (readonly [CachedObject, Converted])[]> {
    const objects = await this.#convert(part);
    assert(objects.length === part.length, "a conversion without its object");
    return part.map((cached, at) => [cached, this.#made(cached, objects[at])]);
  }

  #made(cached: CachedObject, object: AnyObject | undefined): Converted {
    const one = new Converted(this, cached, encoder.encode(JSON.stringify(object)));
    this.#known.set(cached, one);
    this.charge(one, one.json.length);
    return one;
  }

  /** Holds a conversion. It can be found while it is held, even if the pool has dropped it. */
  #take(held: Converted[], one: Converted | undefined): boolean {
    if (one === undefined) return false;
    one.holders++;
    if (one.of !== undefined) this.#known.set(one.of, one);
    held.push(one);
    return true;
  }

  #release(held: readonly Converted[]): void {
    for (const one of held) {
      one.holders--;
      assert(one.holders >= 0, "a converted object was released twice");
      const isLast = one.holders === 0 && !one.isCharged && one.of !== undefined;
      if (isLast && one.of !== undefined && this.#known.get(one.of) === one)
        this.#known.delete(one.of);
    }
  }
}
