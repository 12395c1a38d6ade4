/**
 * The bytes of one object, its head, and its recently decoded fields.
 *
 * Bytes  for the state that a list or a watch begins with: parts of slabs, which the collector neither moves nor
 *        reads. Slabs are as large as the state was. Each is freed when none of its objects is left, at the latest
 *        with the next list, which replaces all of a copy (`client/informer.ts`).
 *        For later objects: a string of chars 0..255 each, which pins nothing else.
 * Bounds decoded fields of the last `decodedMax` objects are kept for the next read; older ones are decoded again.
 *        More of them would outlive the collector's young generation, which costs more than decoding twice.
 */
import { Buffer } from "node:buffer";
import type { KeptHead } from "#api/json/object-head.ts";
import { latin1, type ProtobufCursor } from "#wire/protobuf-cursor.ts";

const decodedMax = 128;
const slabBytes = 64 * 1024;
/** Larger objects get a buffer of their own. */
const slabPartMax = slabBytes / 8;
/** Field numbers of ObjectMeta. */
const numbers = { name: 1, namespace: 3, uid: 5, resourceVersion: 6, managedFields: 17 } as const;

/** Where the bytes of an object lie. */
export interface Span {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

export class KeptBytes implements KeptHead {
  namespace = "";
  name = "";
  uid = "";
  resourceVersion = "";
  hasManagedFields = false;
  readonly #text: string;
  readonly #slab: Buffer | undefined;
  readonly #start: number = 0;
  readonly #size: number;
  #key = "";
  #decoded: unknown[] | undefined;

  /** Copies the span. */
  constructor({ bytes, start, end }: Span, isFirstState: boolean) {
    this.#size = end - start;
    this.#text = isFirstState ? "" : latin1(bytes, start, end);
    if (!isFirstState) return;
    this.#start = slabRoom(this.#size);
    this.#slab = slab;
    bytes.copy(slab, this.#start, start, end);
  }

  /** Made once: copies are maps of keys, and a text that was a key before is found quicker. */
  get key(): string {
    if (this.#key === "") {
      this.#key = this.namespace === "" ? this.name : `${this.namespace}/${this.name}`;
    }
    return this.#key;
  }

  /** From the metadata under the cursor, which then stands behind it. A second one replaces the first. */
  readHead(cursor: ProtobufCursor): void {
    const { end } = cursor;
    cursor.at = cursor.start;
    this.namespace = this.name = this.uid = this.resourceVersion = "";
    this.hasManagedFields = false;
    while (cursor.next(end)) {
      const { number } = cursor;
      if (number === numbers.name) this.name = cursor.ownText();
      else if (number === numbers.namespace) this.namespace = cursor.text();
      else if (number === numbers.uid) this.uid = cursor.ownText();
      else if (number === numbers.resourceVersion) this.resourceVersion = cursor.ownText();
      else if (number === numbers.managedFields) this.hasManagedFields = true;
    }
  }

  /** What `decode` makes of the bytes, which it borrows. `place` is its own among those of the object. */
  decoded(place: number, decode: (kept: KeptBytes, span: Span) => unknown): unknown {
    const decoded = (this.#decoded ??= remember(this));
    return (decoded[place] ??= decode(this, this.#span()));
  }

  forget(): void {
    this.#decoded = undefined;
  }

  #span(): Span {
    const size = this.#size;
    if (this.#slab !== undefined) {
      return { bytes: this.#slab, start: this.#start, end: this.#start + size };
    }
    const bytes = size <= slabBytes ? scratch : Buffer.allocUnsafe(size);
    bytes.write(this.#text, 0, "latin1");
    return { bytes, start: 0, end: size };
  }
}

const scratch = Buffer.allocUnsafeSlow(slabBytes);
let slab = Buffer.alloc(0);
let slabUsed = 0;

/** Makes `slab` one with room for `size` bytes. @returns where they begin. */
function slabRoom(size: number): number {
  if (size > slab.length - slabUsed) {
    slab = Buffer.allocUnsafeSlow(size > slabPartMax ? size : slabBytes);
    slabUsed = 0;
  }
  slabUsed += size;
  return slabUsed - size;
}

const recent: (KeptBytes | undefined)[] = Array.from({ length: decodedMax }, () => undefined);
let oldest = 0;

/** Room for the fields of `kept`; those of the object that was remembered the longest are forgotten. */
function remember(kept: KeptBytes): unknown[] {
  recent[oldest]?.forget();
  recent[oldest] = kept;
  oldest = (oldest + 1) % decodedMax;
  return [];
}
