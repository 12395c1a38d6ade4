/**
 * Record bytes off the heap: slabs of `slabBytes`, filled front to back, never changed once written.
 *
 * Holds  live(slab) = bytes of its records that some version still names; a sealed slab with none
 *        is dropped. The same bytes are what a commit writes to disk: one copy from the caller in all.
 * Bounds the store's quota, plus half-dead slabs, which `cleaner.ts` empties.
 * Rule   a view pins its whole slab: callers that keep a value for long must copy it.
 */
import { assert, must } from "#base/assert.ts";
import { recordSpace } from "./record.ts";
import type { RecordSpace } from "./record.ts";

/** Pieces smaller than this share of a slab (one sixteenth) are copied. */
const smallShare = 16;

export interface Slab extends RecordSpace {
  readonly id: number;
  /** Bytes written so far; written bytes do not change. */
  used: number;
  live: number;
  sealed: boolean;
}

export class Slabs {
  readonly #slabBytes: number;
  /** Slabs by id; holes are free ids. */
  readonly #slabs: (Slab | undefined)[] = [];
  readonly #freeIds: number[] = [];
  #open: Slab | undefined;
  #heldBytes = 0;
  #liveBytes = 0;

  constructor(slabBytes: number) {
    this.#slabBytes = slabBytes;
  }

  /** Memory taken by all slabs. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Memory of records that are still referenced. */
  get liveBytes(): number {
    return this.#liveBytes;
  }

  /** Drops all slabs. */
  clear(): void {
    this.#slabs.length = 0;
    this.#freeIds.length = 0;
    this.#open = undefined;
    this.#heldBytes = 0;
    this.#liveBytes = 0;
  }

  get(id: number): Slab {
    return must(this.#slabs[id], "slab is gone");
  }

  /** Returns a slab with room for `size` more bytes at its `used`. */
  room(size: number): Slab {
    const open = this.#open;
    if (open !== undefined && open.used + size <= open.bytes.length) return open;
    this.#seal();
    const made = this.#add(new Uint8Array(Math.max(this.#slabBytes, size)));
    this.#open = made;
    return made;
  }

  /** Takes ownership of bytes read from disk as a full slab. */
  adopt(bytes: Uint8Array): Slab {
    const slab = this.#add(bytes);
    slab.used = bytes.length;
    slab.sealed = true;
    return slab;
  }

  /** Adopts large pieces and copies small ones, so that slabs stay well filled. @returns the new location. */
  place(bytes: Uint8Array): { readonly slab: Slab; readonly start: number } {
    if (bytes.length * smallShare > this.#slabBytes) return { slab: this.adopt(bytes), start: 0 };
    const slab = this.room(bytes.length);
    const start = slab.used;
    slab.bytes.set(bytes, start);
    slab.used += bytes.length;
    return { slab, start };
  }

  retain(slab: Slab, size: number): void {
    slab.live += size;
    this.#liveBytes += size;
  }

  release(id: number, size: number): void {
    const slab = this.get(id);
    slab.live -= size;
    this.#liveBytes -= size;
    assert(slab.live >= 0, "slab released more than it held", { id, size });
    this.dropIfDead(slab);
  }

  /** Drops an adopted slab to which no version refers. */
  dropIfDead(slab: Slab): void {
    if (slab.live > 0 || !slab.sealed) return;
    this.#slabs[slab.id] = undefined;
    this.#freeIds.push(slab.id);
    this.#heldBytes -= slab.bytes.length;
  }

  /** Full slabs whose live share is at most `fraction`, in ascending order of that share. */
  sparse(fraction: number): Slab[] {
    const found = this.#slabs.filter(
      (slab) => slab !== undefined && slab.sealed && slab.live <= slab.bytes.length * fraction,
    ) as Slab[];
    return found.toSorted((a, b) => a.live / a.bytes.length - b.live / b.bytes.length);
  }

  #seal(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    open.sealed = true;
    this.dropIfDead(open);
  }

  #add(bytes: Uint8Array): Slab {
    const id = this.#freeIds.pop() ?? this.#slabs.length;
    const slab: Slab = { id, ...recordSpace(bytes), used: 0, live: 0, sealed: false };
    this.#slabs[id] = slab;
    this.#heldBytes += bytes.length;
    return slab;
  }
}
