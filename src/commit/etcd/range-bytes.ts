/**
 * Ranges in key order without filters (gets and lists as Kubernetes sends them), written straight
 * from the store's bytes; and RangeStream, which is many such ranges, one chunk at a time.
 *
 * Holds  an answer equals that of `executeRange` for the same request. A stream's chunks together equal
 *        it too: all of one revision, with header, more and count on the last.
 * Cost   about 0.3 us per key and a copy of its value. A stream holds its chunk and the bytes that the socket has
 *        not taken; if its revision is compacted meanwhile, it ends with etcd's `compacted`.
 * After  etcd 3.7.3: sorted or filtered, a stream is Unimplemented.
 */
import type { FullStore } from "#store/full-store.ts";
import type { Key, Revision } from "#store/store.ts";
import { SortOrder, SortTarget, type RangeRequest } from "#wire/etcd-messages.ts";
import { RangeWriter } from "#wire/etcd-range.ts";
import type { ServerStream } from "./call.ts";
import type { Identity } from "./identity.ts";
import { hasRevisionFilter, span } from "./range.ts";
import { etcdError, readError } from "./rpc-error.ts";

/** One writer is enough, because an answer is written synchronously. */
const writer = new RangeWriter();

export function areInKeyOrder(request: RangeRequest): boolean {
  return (
    request.sortTarget === SortTarget.key &&
    request.sortOrder !== SortOrder.descend &&
    !hasRevisionFilter(request)
  );
}

/** Throws GrpcError. With a sort target but no order, only few keys are sorted (`fewByTarget`). */
function checkStreamed(request: RangeRequest): void {
  const { sortOrder, sortTarget } = request;
  const ascends = sortOrder === SortOrder.ascend && sortTarget === SortTarget.key;
  if (sortOrder !== SortOrder.none && !ascends) throw etcdError("streamSorted");
  if (hasRevisionFilter(request)) throw etcdError("streamFiltered");
}

/** Throws GrpcError when the revision cannot be read. `request` is in key order. */
export function rangeBytes(store: FullStore, identity: Identity, request: RangeRequest): Buffer[] {
  const { countOnly, keysOnly, limit } = request;
  writer.begin();
  writer.header(identity.header(store.commitRevision));
  const found = store.scan(
    {
      ...span(request.key, request.rangeEnd),
      ...(request.revision > 0 ? { at: request.revision as Revision } : {}),
      ...(countOnly ? { limit: 0 } : limit > 0 ? { limit } : {}),
    },
    (view) => writer.keyValue(view, !keysOnly),
  );
  if (found.kind !== "ok") throw readError(found);
  writer.rest(!countOnly && limit > 0 && found.count > limit, found.count);
  return writer.end();
}

/** Sends the chunks of one request, each about `chunkBytes`, as fast as the client reads them. */
export class RangeStream {
  readonly #store: FullStore;
  readonly #identity: Identity;
  readonly #request: RangeRequest;
  readonly #chunkBytes: number;
  readonly #end: Key;
  /** The head at the beginning: the header's revision, and the default revision to read. */
  readonly #head: Revision;
  readonly #at: Revision;
  readonly #wanted: number;
  #start: Key;
  #sent = 0;

  /** Throws GrpcError. */
  constructor(
    deps: { readonly store: FullStore; readonly identity: Identity },
    request: RangeRequest,
    chunkBytes: number,
  ) {
    checkStreamed(request);
    this.#store = deps.store;
    this.#identity = deps.identity;
    this.#request = request;
    this.#chunkBytes = chunkBytes;
    const { start, end } = span(request.key, request.rangeEnd);
    this.#start = start;
    this.#end = end;
    this.#head = this.#store.commitRevision;
    this.#at = (request.revision > 0 ? request.revision : this.#head) as Revision;
    const all = request.limit > 0 ? request.limit : Number.POSITIVE_INFINITY;
    this.#wanted = request.countOnly ? 0 : all;
  }

  /** Sends until the socket is full, and continues when it has room. Throws GrpcError. */
  pump(call: ServerStream): void {
    while (!call.isClosed) {
      if (this.#chunk(call)) return call.end();
      if (call.backlogBytes > this.#chunkBytes) {
        call.onDrain(() => this.#resume(call));
        return;
      }
    }
  }

  #resume(call: ServerStream): void {
    try {
      this.pump(call);
    } catch (error) {
      call.fail(error);
    }
  }

  /** @returns whether this was the last chunk. */
  #chunk(call: ServerStream): boolean {
    writer.begin();
    const before = this.#sent;
    let full = false;
    const limit = this.#wanted - before;
    const left = this.#scan(limit, (view) => {
      writer.keyValue(view, !this.#request.keysOnly);
      this.#sent++;
      if (writer.bytes < this.#chunkBytes) return true;
      full = true;
      this.#start = `${view.key}\0` as Key;
      return false;
    });
    if (!full) this.#last(before + left);
    call.sendPieces(writer.endStreamed());
    return !full;
  }

  #last(count: number): void {
    const { countOnly } = this.#request;
    writer.header(this.#identity.header(this.#head));
    writer.rest(!countOnly && count > this.#wanted, count);
  }

  #scan(limit: number, visit: Parameters<FullStore["scan"]>[1]): number {
    const range = { start: this.#start, end: this.#end, at: this.#at };
    const found = this.#store.scan(Number.isFinite(limit) ? { ...range, limit } : range, visit);
    if (found.kind !== "ok") throw readError(found);
    return found.count;
  }
}
