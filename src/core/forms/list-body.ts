/**
 * List bodies: the bytes of many objects, concatenated into blocks that later lists reuse.
 *
 * Holds  a block is a run of neighbours: their JSON joined by commas, or their protobuf entries. Runs end where an
 *        object's revision is a multiple of 32, so one write changes one run and all others stay shared: the same
 *        list again costs a pointer comparison per object, not a copy.
 * Memory a block is dropped with its first object (WeakMap), or when no list was requested for `idleMs`. It holds at
 *        most `blockBytesMax` plus one object, and `keptBlocksMax` bounds the number of blocks per list cache.
 */
import type { AnyObject } from "#api/object.ts";
import { concatBytes } from "#base/bytes.ts";
import type { Clock } from "#platform/clock.ts";
import type { Pace } from "#platform/pace.ts";
import type { CachedObject } from "./cached-object.ts";
import { entryBytes, listParts, type TypeMeta } from "./protobuf/envelope.ts";

const blockBytesMax = 256 * 1024;
const blockObjectsMax = 256;
const boundaryMask = 31;
/** Blocks unused for this long are dropped. */
const idleMs = 120_000;
/** Shorter runs are cheaper to join again than to cache. */
const keptObjectsMin = 3;
const encoder = new TextEncoder();
const comma = encoder.encode(",");
const openBrace = 0x7b;
/**
 * Number of objects per turn: 1 to 3 ms when each must be encoded. A page of 500 takes turns too, because many pages
 * may be requested at once.
 */
const itemsPerTurn = 128;
const tail = encoder.encode("]}\n");

interface Block {
  readonly objects: readonly CachedObject[];
  readonly bytes: Uint8Array;
}

interface ListHead {
  readonly apiVersion: string;
  /** Such as `PodList`. */
  readonly kind: string;
  readonly metadata: object;
}

/** The form of an object in this list: its stored JSON, or another version or shape. */
export interface ItemForm {
  /** Identifies the form in caches; "" is the stored JSON. */
  readonly key: string;
  /** JSON objects, or entries of a protobuf list (`protobuf/envelope.ts`). */
  readonly layout: "json" | "protobuf";
  bytes(object: CachedObject): Uint8Array;
}

/**
 * The stored JSON without the apiVersion and kind at its beginning, which the list states once, as upstream.
 * The first byte is the comma after them; every block writes `{` over the first byte of its objects.
 */
export function storedForm(apiVersion: string, kind: string): ItemForm {
  const head = encoder.encode(`{${JSON.stringify({ apiVersion, kind }).slice(1, -1)},`);
  return { key: "", layout: "json", bytes: (object) => withoutHead(object.json, head) };
}

function withoutHead(json: Uint8Array, head: Uint8Array): Uint8Array {
  for (let i = 0; i < head.length; i++) if (json[i] !== head[i]) return json;
  return json.subarray(head.length - 1);
}

/** The bytes of a single object in `form`, for lists that are not made of blocks. */
export function wholeItem(form: ItemForm, object: CachedObject): Uint8Array {
  const bytes = form.bytes(object);
  if (bytes[0] === openBrace) return bytes;
  const whole = bytes.slice();
  whole[0] = openBrace;
  return whole;
}

/** A form for another version or shape; each object's bytes are made once and cached with it. */
export function madeForm(key: string, make: (cached: CachedObject) => object): ItemForm {
  const encode = (cached: CachedObject): Uint8Array => encoder.encode(JSON.stringify(make(cached)));
  return { key, layout: "json", bytes: (object) => object.encoded(key, encode) };
}

/** Objects of `type` as entries of protobuf lists; `make` converts to another version or shape. */
export function protobufForm(
  key: string,
  type: TypeMeta,
  make: (cached: CachedObject) => AnyObject,
): ItemForm {
  const encode = (cached: CachedObject): Uint8Array => entryBytes(type, make(cached));
  return { key, layout: "protobuf", bytes: (object) => object.encoded(key, encode) };
}

/** Cached blocks of one resource, by form. */
export class ListBlocks {
  readonly #byForm = new Map<string, WeakMap<CachedObject, Block>>();
  #usedMs = 0;
  #isArmed = false;

  /** The whole body of a list, as chunks in order. */
  body(head: ListHead, items: readonly CachedObject[], form: ItemForm): readonly Uint8Array[] {
    return wholeBody(head, this.#blocks(items, form), form);
  }

  /** The same in turns of the loop, because each object is encoded the first time. */
  async bodyInTurns(
    head: ListHead,
    items: readonly CachedObject[],
    form: ItemForm,
    pace: Pace,
  ): Promise<readonly Uint8Array[]> {
    this.#used(pace.clock);
    const blocks: Uint8Array[] = [];
    const known = this.#known(form.key);
    let made = 0;
    for (let at = 0; at < items.length;) {
      const first = items[at];
      const kept = first === undefined ? undefined : known.get(first);
      const block = blockAt(known, items, at, form);
      blocks.push(block.bytes);
      at += block.objects.length;
      if (block !== kept) made += block.objects.length;
      if (made < itemsPerTurn) continue;
      await pace.turn();
      made = 0;
    }
    return wholeBody(head, blocks, form);
  }

  #used(clock: Clock): void {
    this.#usedMs = clock.monotonicMs();
    if (!this.#isArmed) this.#forgetWhenIdle(clock, idleMs);
    this.#isArmed = true;
  }

  #forgetWhenIdle(clock: Clock, delayMs: number): void {
    clock.after("list.idle", delayMs, () => {
      const leftMs = this.#usedMs + idleMs - clock.monotonicMs();
      if (leftMs > 0) return this.#forgetWhenIdle(clock, leftMs);
      this.#isArmed = false;
      this.#byForm.clear();
    });
  }

  #blocks(items: readonly CachedObject[], form: ItemForm): readonly Uint8Array[] {
    const blocks: Uint8Array[] = [];
    const known = this.#known(form.key);
    for (let at = 0; at < items.length;) {
      const block = blockAt(known, items, at, form);
      blocks.push(block.bytes);
      at += block.objects.length;
    }
    return blocks;
  }

  #known(key: string): WeakMap<CachedObject, Block> {
    const known = this.#byForm.get(key) ?? new WeakMap<CachedObject, Block>();
    this.#byForm.set(key, known);
    return known;
  }
}

function wholeBody(
  head: ListHead,
  blocks: readonly Uint8Array[],
  form: ItemForm,
): readonly Uint8Array[] {
  if (form.layout === "protobuf") return merged(listParts(head, head.metadata, blocks));
  const chunks: Uint8Array[] = [encoder.encode(listHead(head))];
  blocks.forEach((block, index) => {
    if (index > 0) chunks.push(comma);
    chunks.push(block);
  });
  chunks.push(tail);
  return merged(chunks);
}

/** The beginning: `{"kind":...,"apiVersion":...,"metadata":...,"items":[` */
export function listHead(head: ListHead): string {
  const { apiVersion, kind, metadata } = head;
  return `${JSON.stringify({ kind, apiVersion, metadata }).slice(0, -1)},"items":[`;
}

function blockAt(
  known: WeakMap<CachedObject, Block>,
  items: readonly CachedObject[],
  start: number,
  form: ItemForm,
): Block {
  const first = items[start];
  const found = first === undefined ? undefined : known.get(first);
  if (found !== undefined && sameRun(found.objects, items, start)) return found;
  const block = makeBlock(items, start, form);
  if (first !== undefined && block.objects.length >= keptObjectsMin) known.set(first, block);
  return block;
}

function sameRun(
  objects: readonly CachedObject[],
  items: readonly CachedObject[],
  start: number,
): boolean {
  for (let i = 0; i < objects.length; i++) if (objects[i] !== items[start + i]) return false;
  return true;
}

function makeBlock(items: readonly CachedObject[], start: number, form: ItemForm): Block {
  const parts: Uint8Array[] = [];
  let length = 0;
  for (let at = start; at < items.length; at++) {
    const object = items[at];
    if (object === undefined) break;
    const bytes = form.bytes(object);
    parts.push(bytes);
    length += bytes.length + 1;
    if ((object.revision & boundaryMask) === 0) break;
    if (length >= blockBytesMax || parts.length >= blockObjectsMax) break;
  }
  const bytes = form.layout === "json" ? joined(parts, length) : concatBytes(parts);
  return { objects: items.slice(start, start + parts.length), bytes };
}

function joined(parts: readonly Uint8Array[], lengthMax: number): Uint8Array {
  const out = new Uint8Array(Math.max(0, lengthMax - 1));
  let at = 0;
  parts.forEach((part, index) => {
    if (index > 0) out.set(comma, at++);
    out.set(part, at);
    out[at] = openBrace;
    at += part.length;
  });
  return out;
}

/** Joins short bodies into one chunk: one write and one TLS record. */
function merged(chunks: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return length > blockBytesMax ? chunks : [concatBytes(chunks)];
}
