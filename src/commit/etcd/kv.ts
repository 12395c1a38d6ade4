/**
 * The KV service: Range, RangeStream, Put, DeleteRange, Txn, Compact.
 *
 * Reads see the committed state, so they are linearizable and never wait: an acknowledged write
 * is at or below the commit revision. Writes are answered once durable. If the store is one of several replicas,
 * a read waits until the store has every acknowledged write, and so does a write that changed nothing.
 */
import { StoreStoppedError, type FullStore } from "#store/full-store.ts";
import type { Key, LeaseId, Revision, WriteRefused } from "#store/store.ts";
import type { Transaction } from "#store/transaction.ts";
import type { Input } from "#wire/etcd-codec.ts";
import * as m from "#wire/etcd-messages.ts";
import { framed, GrpcError, prefixBytes } from "#wire/grpc.ts";
import type { Alarms } from "./alarms.ts";
import { confirmed } from "./confirmed.ts";
import { strictServerStream, unary, type Method, type ServerStream } from "./call.ts";
import type { Identity } from "./identity.ts";
import { areInKeyOrder, rangeBytes, RangeStream } from "./range-bytes.ts";
import { checkRangeRequest, executeRange, fewByTarget, type ReadView } from "./range.ts";
import { etcdError, readError, writeError } from "./rpc-error.ts";
import { checkDelete, checkPut, checkTxn } from "./txn-check.ts";
import { deleteRange, hasPut, isReadOnly, put, runReadOnly, runTxn } from "./txn.ts";

export interface KvLimits {
  /** Like etcd's --max-request-bytes. */
  readonly requestBytesMax: number;
  /** Like etcd's --max-txn-ops: per branch, compares included. */
  readonly txnOpsMax: number;
  /** Approximate size of a chunk of RangeStream. */
  readonly rangeChunkBytes: number;
}

export class KvService {
  readonly #store: FullStore;
  readonly #alarms: Alarms;
  readonly #identity: Identity;
  readonly #limits: KvLimits;
  readonly #view: ReadView;

  constructor(
    deps: { readonly store: FullStore; readonly alarms: Alarms; readonly identity: Identity },
    limits: KvLimits,
  ) {
    const { store } = deps;
    this.#store = store;
    this.#alarms = deps.alarms;
    this.#identity = deps.identity;
    this.#limits = limits;
    this.#view = {
      get revision() {
        return store.commitRevision;
      },
      range: (request) => store.range(request),
    };
  }

  methods(): Readonly<Record<string, Method>> {
    return {
      Range: { kind: "unary", answer: (bytes) => this.#read(m.rangeRequest.decode(bytes)) },
      RangeStream: strictServerStream(m.rangeRequest, (request, call) => {
        if (!this.#mustConfirm(request)) return this.#rangeStream(request, call);
        void this.#stream(request, call);
      }),
      Put: unary(m.putRequest, m.putResponse, (request) => this.#put(request)),
      DeleteRange: unary(m.deleteRangeRequest, m.deleteRangeResponse, (request) =>
        this.#deleteRange(request),
      ),
      Txn: unary(m.txnRequest, m.txnResponse, (request, bytes) => this.#txn(request, bytes)),
      Compact: unary(m.compactionRequest, m.headerResponse, ({ revision }) =>
        this.#compact(revision),
      ),
    };
  }

  #mustConfirm({ serializable }: m.RangeRequest): boolean {
    return this.#store.latest !== undefined && !serializable;
  }

  #read(request: m.RangeRequest): Buffer | Buffer[] | Promise<Buffer | Buffer[]> {
    if (!this.#mustConfirm(request)) return this.#range(request);
    return confirmed(this.#store).then(() => this.#range(request));
  }

  async #stream(request: m.RangeRequest, call: ServerStream): Promise<void> {
    try {
      await confirmed(this.#store);
      if (!call.isClosed) this.#rangeStream(request, call);
    } catch (error) {
      call.fail(error);
    }
  }

  #range(request: m.RangeRequest): Buffer | Buffer[] {
    checkRangeRequest(request);
    if (areInKeyOrder(request)) return rangeBytes(this.#store, this.#identity, request);
    const answer = this.#withHeader(executeRange(this.#view, request));
    return framed(m.rangeResponse.encode(answer, prefixBytes));
  }

  async #put(request: m.PutRequest): Promise<m.Of<typeof m.putResponse>> {
    checkPut(request);
    this.#checkSize(request.key.length + request.value.length);
    this.#alarms.checkSpace();
    if (request.ignoreValue || request.ignoreLease) {
      const answer = await this.#transact((transaction) => {
        if (request.lease !== 0n && !transaction.hasLease(request.lease as LeaseId)) {
          throw etcdError("leaseNotFound");
        }
        return put(transaction, request);
      });
      return this.#withHeader(answer);
    }
    const lease = request.lease as LeaseId;
    const result = await this.#store.put(request.key as Key, request.value, { lease });
    if (result.kind === "conflict") throw etcdError("stopped");
    if (result.kind !== "committed") throw this.#refusal(result);
    const prevKv = request.prevKv ? result.previous : undefined;
    return { header: this.#identity.header(result.revision), prevKv };
  }

  async #deleteRange(request: m.DeleteRangeRequest): Promise<m.Of<typeof m.deleteRangeResponse>> {
    checkDelete(request);
    this.#alarms.checkWhole();
    return this.#withHeader(
      await this.#transact((transaction) => deleteRange(transaction, request)),
    );
  }

  async #txn(request: m.TxnRequest, bytes: number): Promise<Input<m.TxnResponse>> {
    checkTxn(request, this.#limits.txnOpsMax);
    if (isReadOnly(request)) {
      await confirmed(this.#store);
      return this.#withHeader(runReadOnly(this.#view, request));
    }
    this.#checkSize(bytes);
    if (hasPut(request)) this.#alarms.checkSpace();
    else this.#alarms.checkWhole();
    const answer = await this.#transact((transaction) => runTxn(transaction, request));
    return this.#withHeader(answer);
  }

  async #compact(revision: number): Promise<{ readonly header: m.Header }> {
    this.#alarms.checkWhole();
    const known = this.#identity.compactRevision(this.#store);
    if (revision <= known) throw etcdError("compacted");
    const result = await this.#store.compact(revision as Revision).catch((error: unknown) => {
      throw error instanceof StoreStoppedError ? etcdError("stopped") : error;
    });
    if (result.kind === "future") throw readError(result);
    // The store considers an empty store compacted at its first revision; etcd does not.
    if (result.kind === "compacted" && revision > 1) throw readError(result);
    this.#identity.compacted(revision);
    return { header: this.#identity.header(this.#store.commitRevision) };
  }

  /** An error thrown by the function is the answer to the call; nothing was changed. */
  async #transact<Answer>(run: (transaction: Transaction) => Answer): Promise<Answer> {
    const result = await this.#store.transact((transaction) => {
      const before = transaction.revision;
      try {
        const value = run(transaction);
        return { kind: "ok" as const, value, isRead: transaction.revision === before };
      } catch (error) {
        if (!(error instanceof GrpcError)) throw error;
        // The function may have changed something before it failed.
        transaction.abandon();
        return { kind: "refused" as const, error };
      }
    });
    if (result.kind !== "done") throw this.#refusal(result);
    const { answer } = result;
    // An answer based on reads must not come from a process that was deposed without knowing it.
    if (answer.kind === "refused" || answer.isRead) await confirmed(this.#store);
    if (answer.kind === "refused") throw answer.error;
    return answer.value;
  }

  #refusal(refused: WriteRefused): GrpcError {
    if (refused.kind === "no-space") {
      this.#alarms.raiseNoSpace(this.#identity.memberId, refused.message);
    }
    return writeError(refused);
  }

  #checkSize(bytes: number): void {
    if (bytes > this.#limits.requestBytesMax) throw etcdError("requestTooLarge");
  }

  #withHeader<A extends { readonly header: { readonly revision: number } }>(
    answer: A,
  ): A & { readonly header: m.Header } {
    return { ...answer, header: this.#identity.header(answer.header.revision) };
  }

  #rangeStream(request: m.RangeRequest, call: ServerStream): void {
    checkRangeRequest(request);
    const few = fewByTarget(this.#view, request);
    if (few !== undefined) {
      const rangeResponse = this.#withHeader(few);
      call.send(m.rangeStreamResponse.encode({ rangeResponse }, prefixBytes));
      return call.end();
    }
    const deps = { store: this.#store, identity: this.#identity };
    new RangeStream(deps, request, this.#limits.rangeChunkBytes).pump(call);
  }
}
