/**
 * Watch frames: the wire form of one event, made once per (object, type, form) and shared
 * by every watcher; and joined blocks, made once per batch for all watchers that get that batch.
 */
import { ApiError, toStatus } from "#api/status.ts";
import type { AnyObject } from "#api/object.ts";
import { concatBytes } from "#base/bytes.ts";
import type { CachedObject } from "./cached-object.ts";
import { type TypeMeta, watchFrame } from "./protobuf/envelope.ts";

/** One item of a watch, as the registry delivers it. */
export interface StreamItem {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: CachedObject | undefined;
  readonly resourceVersion: string;
  readonly initialEventsEnd?: boolean;
  /** For a BOOKMARK, if the client asked for checksums: count and checksum of the selected objects. */
  readonly view?: { readonly count: number; readonly checksum: string } | undefined;
}

type ObjectType = Exclude<StreamItem["type"], "BOOKMARK">;

export interface WatchFormat {
  /** Identifies the form in caches; short and constant: `json`, `table.v1.Metadata`. */
  readonly key: string;
  /** All formats with this key make equal frames, so a batch made for one stream suits all. */
  readonly isShared?: true;
  event(type: ObjectType, object: CachedObject): Uint8Array;
  bookmark(object: AnyObject): Uint8Array;
  error(error: unknown): Uint8Array;
  /** For WebSocket (websocket-format.ts): the message that contains a frame. */
  readonly message?: (frame: Uint8Array) => readonly [head: Uint8Array, payload: Uint8Array];
}

const encoder = new TextEncoder();
const heads: Readonly<Record<ObjectType, Uint8Array>> = {
  ADDED: encoder.encode('{"type":"ADDED","object":'),
  MODIFIED: encoder.encode('{"type":"MODIFIED","object":'),
  DELETED: encoder.encode('{"type":"DELETED","object":'),
};
const close = encoder.encode("}\n");

/** Writes objects with `item` (their stored JSON, unless another version is requested). */
export function jsonFormat(
  key: string,
  item: (object: CachedObject) => Uint8Array,
  bookmark: (object: AnyObject) => object = (object) => object,
): WatchFormat {
  const makers = {
    ADDED: (object: CachedObject) => framed(heads.ADDED, item(object)),
    MODIFIED: (object: CachedObject) => framed(heads.MODIFIED, item(object)),
    DELETED: (object: CachedObject) => framed(heads.DELETED, item(object)),
  };
  const keys = { ADDED: `${key}:A`, MODIFIED: `${key}:M`, DELETED: `${key}:D` };
  return {
    key,
    isShared: true,
    event: (type, object) => object.encoded(keys[type], makers[type]),
    bookmark: (object) => plainFrame("BOOKMARK", bookmark(object)),
    error: (error) => plainFrame("ERROR", toStatus(error)),
  };
}

/** Writes objects of `type` in protobuf; `make` converts to another version or shape. */
export function protobufFormat(
  key: string,
  type: TypeMeta,
  make: (cached: CachedObject) => AnyObject,
): WatchFormat {
  const maker =
    (event: ObjectType) =>
    (cached: CachedObject): Uint8Array =>
      watchFrame(event, type, make(cached));
  const makers = {
    ADDED: maker("ADDED"),
    MODIFIED: maker("MODIFIED"),
    DELETED: maker("DELETED"),
  };
  const keys = { ADDED: `${key}:A`, MODIFIED: `${key}:M`, DELETED: `${key}:D` };
  return {
    key,
    isShared: true,
    event: (event, object) => object.encoded(keys[event], makers[event]),
    bookmark: (object) => watchFrame("BOOKMARK", type, object),
    error: (error) => watchFrame("ERROR", statusType, { ...toStatus(error) }),
  };
}

const statusType: TypeMeta = { apiVersion: "v1", kind: "Status" };

function framed(head: Uint8Array, body: Uint8Array): Uint8Array {
  const end = body[body.length - 1] === 0x0a ? body.length - 1 : body.length;
  const out = new Uint8Array(head.length + end + close.length);
  out.set(head);
  out.set(end === body.length ? body : body.subarray(0, end), head.length);
  out.set(close, head.length + end);
  return out;
}

export function plainFrame(type: string, object: unknown): Uint8Array {
  return encoder.encode(`{"type":"${type}","object":${JSON.stringify(object)}}\n`);
}

export const viewCountAnnotation = "pilothouse.dev/view-count";
export const viewChecksumAnnotation = "pilothouse.dev/view-checksum";

/** The object of a BOOKMARK: kind, resourceVersion and annotations. */
export function bookmarkObject(apiVersion: string, kind: string, item: StreamItem): AnyObject {
  const { resourceVersion, initialEventsEnd, view } = item;
  if (initialEventsEnd !== true && view === undefined) {
    return { kind, apiVersion, metadata: { resourceVersion } };
  }
  const annotations: Record<string, string> = {};
  if (initialEventsEnd === true) annotations["k8s.io/initial-events-end"] = "true";
  if (view !== undefined) {
    // own keys: a constant.
    annotations[viewChecksumAnnotation] = view.checksum;
    // own keys: a constant.
    annotations[viewCountAnnotation] = String(view.count);
  }
  return { kind, apiVersion, metadata: { resourceVersion, annotations } };
}

/** Whether the error must be sent within the stream (HTTP 200, then ERROR). */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.code === 410;
}

/** One batch for writing, joined into blocks of about `blockBytesMax` at most. */
export interface Batch {
  /** In the form that the sink takes. */
  readonly blocks: readonly (readonly [Uint8Array])[];
  readonly bytes: number;
}

interface Joined {
  readonly key: string;
  readonly frames: readonly Uint8Array[];
  readonly block: Uint8Array;
}

/** Cached blocks: the watchers of one tick are served consecutively, in a few forms. */
const joinedMax = 8;
/** Larger batches are split, so that no single write is huge. */
export const blockBytesMax = 256 * 1024;

/**
 * Joins the frames of a batch into one block. Watchers that get the same frames get the same block:
 * frames are shared objects, so comparing a batch with the last few compares pointers, not bytes.
 */
export class FrameJoiner {
  #recent: readonly Joined[] = [];
  /** Cached only for the last items, and only as long as they are referenced elsewhere, because they hold a block of the store. */
  #last = new WeakMap<readonly StreamItem[], { readonly key: string; readonly batch: Batch }>();

  /** The batch of these very `items`, if the last stream that received them has made it. */
  known(key: string, items: readonly StreamItem[]): Batch | undefined {
    const last = this.#last.get(items);
    return last?.key === key ? last.batch : undefined;
  }

  remember(key: string, items: readonly StreamItem[], batch: Batch): void {
    this.#last = new WeakMap([[items, { key, batch }]]);
  }

  join(key: string, frames: readonly Uint8Array[]): Uint8Array {
    const [only] = frames;
    if (frames.length === 1 && only !== undefined) return only;
    for (const known of this.#recent) {
      if (known.key === key && sameFrames(known.frames, frames)) return known.block;
    }
    const block = concatBytes(frames);
    this.#recent = [{ key, frames, block }, ...this.#recent.slice(0, joinedMax - 1)];
    return block;
  }
}

function sameFrames(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
