/**
 * The CachedObject of this room: a view of stored bytes that makes everything else on first use.
 *
 * Holds  a reference to the store's value, and its key. Everything else is made on first use: 50,000
 *        objects cost their key strings, not 50,000 parses. The value may lie in a block that the store
 *        has released; `rehome` copies long-lived values out of such blocks.
 * Memo   parsed object, labels and up to `encodingsMax` encodings, charged to the resource's
 *        MemoPool and dropped when its budget is used up; a dropped memo is simply made again.
 * Rule   nothing reachable from here is ever changed; `freeze` (tests) makes that a TypeError.
 */
import type { AnyObject } from "#api/object.ts";
import type { CachedObject } from "./cached-object.ts";
import type { MemoHolder, MemoPool } from "./memo-pool.ts";
import { decodeObject, wireJson } from "./object-bytes.ts";

/** Shared by all objects of one resource. */
export interface ObjectSource {
  /** The value of a selectable field, "" when absent. */
  fieldValue(object: AnyObject, field: string): string;
  readonly memos: MemoPool;
  /** Deep-freezes parsed objects: about 5 µs each, so tests only. */
  readonly freeze: boolean;
}

type Labels = Readonly<Record<string, string>>;

interface Encoding {
  readonly format: string;
  readonly bytes: Uint8Array;
}

/** Heap bytes of a parsed object per byte of JSON (measured: 3.48 KB / 2.44 KB). */
const heapBytesPerJsonByte = 1.4;
/** Cached formats per object: JSON and protobuf as ADDED and MODIFIED frames, and two more. */
const encodingsMax = 6;

const noLabels: Labels = Object.freeze({});
const noEncodings: readonly Encoding[] = [];

export class SharedObject implements CachedObject, MemoHolder {
  /** 0: not stored (the result of a dry run); resourceVersion is then "". */
  readonly revision: number;
  /** Within the resource: `namespace/name`, or `name` for cluster-scoped ones; chars 0..255. */
  readonly key: string;
  readonly #source: ObjectSource;
  #value: Uint8Array;
  #rehomedAt = -1;
  #object: AnyObject | undefined;
  #encodings: readonly Encoding[] = noEncodings;
  memoUsed = false;

  constructor(source: ObjectSource, key: string, value: Uint8Array, revision: number) {
    this.#source = source;
    this.key = key;
    this.#value = value;
    this.revision = revision;
  }

  get resourceVersion(): string {
    return this.revision === 0 ? "" : String(this.revision);
  }

  get namespace(): string {
    const slash = this.key.indexOf("/");
    return slash < 0 ? "" : this.key.slice(0, slash);
  }

  get name(): string {
    return textOfKey(this.key.slice(this.key.indexOf("/") + 1));
  }

  get object(): AnyObject {
    if (this.#object === undefined) return this.#parse();
    this.memoUsed = true;
    return this.#object;
  }

  /** Created at each call; frequently sent forms are cached by `encoded`. */
  get json(): Uint8Array {
    return wireJson(this.#value, this.revision);
  }

  get labels(): Labels {
    return this.object.metadata?.labels ?? noLabels;
  }

  field(name: string): string {
    if (name === "metadata.name") return this.name;
    if (name === "metadata.namespace") return this.namespace;
    return this.#source.fieldValue(this.object, name);
  }

  encoded(format: string, make: (object: CachedObject) => Uint8Array): Uint8Array {
    for (const encoding of this.#encodings) {
      if (encoding.format !== format) continue;
      this.memoUsed = true;
      return encoding.bytes;
    }
    const bytes = make(this);
    if (this.#encodings.length >= encodingsMax) return bytes;
    this.#encodings = [...this.#encodings, { format, bytes }];
    this.#source.memos.add(this, bytes.length);
    return bytes;
  }

  dropMemo(): void {
    this.#object = undefined;
    this.#encodings = noEncodings;
  }

  /** Drops the memo immediately: the object was superseded and only the slowest readers may still need it. */
  release(): void {
    this.dropMemo();
    this.#source.memos.release(this);
  }

  /** The stored bytes; shared. */
  get bytes(): number {
    return this.#value.length;
  }

  get value(): Uint8Array {
    return this.#value;
  }

  /** Moves to the equal bytes that `homeOf` finds or creates; once per mark. */
  rehome(mark: number, homeOf: (object: SharedObject) => Uint8Array): void {
    if (this.#rehomedAt === mark) return;
    this.#rehomedAt = mark;
    this.#value = homeOf(this);
  }

  outlived(mark: number): boolean {
    return this.revision <= mark && this.#rehomedAt < mark;
  }

  /** The same state with another revision, as in a DELETED event. */
  at(revision: number): SharedObject {
    return new SharedObject(this.#source, this.key, this.#value, revision);
  }

  #parse(): AnyObject {
    const object = decodeObject(this.#value, this.revision);
    if (this.#source.freeze) deepFreeze(object);
    this.#object = object;
    this.#source.memos.add(this, this.#value.length * heapBytesPerJsonByte);
    return object;
  }
}

/** A byte order mark is part of a name and must not be dropped. */
const keyText = new TextDecoder("utf-8", { ignoreBOM: true });

/** Key text is UTF-8 bytes as chars 0..255; names beyond ASCII are rare but legal for RBAC. */
export function keyOfText(text: string): string {
  if (isAscii(text)) return text;
  return String.fromCharCode(...new TextEncoder().encode(text));
}

export function textOfKey(key: string): string {
  if (isAscii(key)) return key;
  return keyText.decode(Uint8Array.from(key, (char) => char.charCodeAt(0)));
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
}
