/**
 * Record bytes off the heap: slabs of `slabBytes`, filled front to back, never changed once written.
 *
 * Holds  live(slab) = bytes of its records that some version still refers to; a sealed slab with none
 *        is dropped. A commit writes the same bytes to disk, so a record is copied once, from the caller.
 * Bounds the store's quota, plus half-dead slabs, which `cleaner.ts` empties.
 * Rule   a view pins its whole slab: callers that keep a value for long must copy it.
 * Shared slabs lie in memory that other threads read. One thread writes them, and no byte changes after another thread
 *        has learned of its record. A reader attaches them (`attach`); its cleaner leaves them alone, and its records
 *        move when the writer moves them.
 */
import { assert, must } from "#base/assert.ts";
import { recordSpace } from "./record.ts";
import type { RecordSpace } from "./record.ts";

/** Pieces smaller than this share of a slab (one sixteenth) are copied. */
const smallShare = 16;

export interface Slab extends RecordSpace {
  /** Unique among the slabs that are there. */
  readonly id: number;
  /** In order of making; never given again. */
  readonly serial: number;
  /** Bytes written so far; none before it changes again. */
  used: number;
  live: number;
  sealed: boolean;
}

/** Whose memory: `shared` is read by other threads, too. */
type SlabMemory = "own" | "shared";

export class Slabs {
  readonly #slabBytes: number;
  readonly #memory: SlabMemory;
  /** By id; holes are free ids. */
  readonly #slabs: (Slab | undefined)[] = [];
  readonly #freeIds: number[] = [];
  #open: Slab | undefined;
  /** The writer's newest slab, where this is a reader of its slabs. */
  #attached: Slab | undefined;
  #heldBytes = 0;
  #liveBytes = 0;
  #serial = 0;
  /** Of shared memory. */
  readonly #serials = new WeakMap<ArrayBufferLike, number>();

  constructor(slabBytes: number, memory: SlabMemory = "own") {
    this.#slabBytes = slabBytes;
    this.#memory = memory;
  }

  /** Another thread writes these slabs, and moves records out of sparse ones. */
  get isReader(): boolean {
    return this.#attached !== undefined;
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
    this.#attached = undefined;
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
    const made = this.#add(this.#bytes(Math.max(this.#slabBytes, size)));
    this.#open = made;
    return made;
  }

  /** Takes ownership of bytes read from disk as a full slab. */
  adopt(bytes: Uint8Array): Slab {
    const slab = this.#add(this.#memory === "shared" ? this.#copied(bytes) : bytes);
    slab.used = bytes.length;
    slab.sealed = true;
    return slab;
  }

  /** A slab of another thread's. It counts as held until no record in it is named and it is sealed. */
  attach(bytes: Uint8Array): Slab {
    const slab = this.#add(bytes);
    slab.used = bytes.length;
    this.#attached = slab;
    return slab;
  }

  /** Of the shared slab whose memory it is. */
  serialOf(buffer: ArrayBufferLike): number {
    return must(this.#serials.get(buffer), "bytes of no shared slab");
  }

  /** Nothing more is written to it. */
  seal(slab: Slab): void {
    slab.sealed = true;
    this.dropIfDead(slab);
  }

  /**
   * Adopts large pieces and copies small ones, so that a slab holds many; bytes of the attached slab stay in place.
   * @returns the slab and the position of the bytes in it.
   */
  place(bytes: Uint8Array): { readonly slab: Slab; readonly start: number } {
    const attached = this.#attached;
    if (attached !== undefined && attached.bytes.buffer === bytes.buffer)
      return { slab: attached, start: bytes.byteOffset };
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
    this.seal(open);
  }

  #bytes(size: number): Uint8Array {
    if (this.#memory === "own") return new Uint8Array(size);
    return new Uint8Array(new SharedArrayBuffer(size));
  }

  #copied(bytes: Uint8Array): Uint8Array {
    const copy = this.#bytes(bytes.length);
    copy.set(bytes);
    return copy;
  }

  #add(bytes: Uint8Array): Slab {
    const id = this.#freeIds.pop() ?? this.#slabs.length;
    const serial = ++this.#serial;
    const slab: Slab = { id, serial, ...recordSpace(bytes), used: 0, live: 0, sealed: false };
    this.#slabs[id] = slab;
    if (this.#memory === "shared") this.#serials.set(bytes.buffer, serial);
    this.#heldBytes += bytes.length;
    return slab;
  }
}
