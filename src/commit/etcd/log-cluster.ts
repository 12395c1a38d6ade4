/**
 * An etcd cluster for the engine `etcd`: reads and changes are transactions, and a watch pushes new keys. It uses one
 * connection at a time, and moves to the next endpoint when an answer does not come.
 *
 * Holds  an outcome that no answer has proved is "uncertain": deadlines, broken connections, changes of leader.
 */
import type { Clock } from "#platform/clock.ts";
import { watchAgain } from "#store/engines/etcd/watch-again.ts";
import type {
  Change,
  ChangeAnswer,
  ClusterKey,
  Condition,
  KeyRange,
  KeySink,
  LogCluster,
  Operation,
  ReadAnswer,
} from "#store/engines/etcd/cluster.ts";
import type { Input } from "#wire/etcd-codec.ts";
import { CompareResult, CompareTarget, EventType } from "#wire/etcd-messages.ts";
import type * as m from "#wire/etcd-messages.ts";
import { Code, GrpcError } from "#wire/grpc.ts";
import type { EtcdClient } from "./client.ts";
import type { EtcdEndpoints } from "./endpoints.ts";

/** Deadline of a call: longer than an election of etcd (1 s) and a slow sync, shorter than callers wait. */
const answerMs = 2000;

type Unanswered = Extract<ReadAnswer, { readonly kind: "uncertain" | "refused" }>;

export class EtcdLogCluster implements LogCluster {
  readonly name?: string;
  readonly #clock: Clock;
  readonly #endpoints: EtcdEndpoints;

  /** `name` is used in error texts when there are several clusters. */
  constructor(deps: { readonly clock: Clock; readonly endpoints: EtcdEndpoints }, name?: string) {
    if (name !== undefined) this.name = name;
    this.#clock = deps.clock;
    this.#endpoints = deps.endpoints;
  }

  async read(ranges: readonly KeyRange[]): Promise<ReadAnswer> {
    const success = ranges.map(({ start, end, limit }) => ({
      range: { key: start, rangeEnd: end, limit },
    }));
    try {
      const { responses } = await this.#txn({ success });
      return { kind: "read", lists: responses.map(({ range }) => (range?.kvs ?? []).map(keyOf)) };
    } catch (error) {
      return unanswered(error);
    }
  }

  async change({ conditions, operations }: Change): Promise<ChangeAnswer> {
    try {
      const { succeeded } = await this.#txn({
        compare: conditions.map(compareOf),
        success: operations.map(operationOf),
      });
      return { kind: succeeded ? "changed" : "unmet" };
    } catch (error) {
      return refusedChange(error) ?? unanswered(error);
    }
  }

  watch(prefix: string, sink: KeySink): { close(): void } {
    const closing = new AbortController();
    void watchAgain(this.#clock, sink, closing.signal, () =>
      this.#watchOnce(prefix, sink, closing.signal),
    );
    return { close: () => closing.abort() };
  }

  async #watchOnce(prefix: string, sink: KeySink, closing: AbortSignal): Promise<void> {
    const stream = this.#endpoints.client().watch();
    const close = (): void => stream.close();
    closing.addEventListener("abort", close);
    stream.send({ create: { key: prefix, rangeEnd: `${prefix.slice(0, -1)}0` } });
    for (let answer = await stream.next(); answer !== undefined; answer = await stream.next()) {
      if (closing.aborted || answer.canceled) break;
      const puts = answer.events.filter(({ type }) => type === EventType.put);
      const keys = puts.flatMap(({ kv }) => (kv === undefined ? [] : [keyOf(kv)]));
      if (keys.length > 0) sink.pushed(keys);
    }
    closing.removeEventListener("abort", close);
    stream.close();
  }

  async #txn(request: Input<m.TxnRequest>): Promise<m.TxnResponse> {
    const client = this.#endpoints.client();
    const late = Promise.withResolvers<never>();
    const timer = this.#clock.after("etcd.deadline", answerMs, () =>
      late.reject(new GrpcError(Code.deadlineExceeded, `no answer within ${answerMs} ms`)),
    );
    try {
      return await Promise.race([client.txn(request), late.promise]);
    } catch (error) {
      this.#tryAnother(client, error);
      throw error;
    } finally {
      timer.cancel();
    }
  }

  /** Leaves a member that is isolated or has no leader, because it may stay so. */
  #tryAnother(client: EtcdClient, error: unknown): void {
    const { code } = error as Partial<GrpcError>;
    if (code === Code.unavailable || code === Code.deadlineExceeded) this.#endpoints.leave(client);
  }
}

function keyOf({ key, value }: { readonly key: string; readonly value: Uint8Array }): ClusterKey {
  return { key, value };
}

function compareOf({ key, value }: Condition): Input<m.Compare> {
  const { equal: result } = CompareResult;
  if (value === undefined) return { key, result, target: CompareTarget.create, createRevision: 0 };
  if (value !== "any") return { key, result, target: CompareTarget.value, value };
  return { key, result: CompareResult.greater, target: CompareTarget.create, createRevision: 0 };
}

function operationOf(one: Operation): Input<m.RequestOp> {
  if (one.kind === "put") return { put: { key: one.key, value: one.value } };
  return { deleteRange: { key: one.start, rangeEnd: one.end } };
}

/** Certain refusals, recognised by the texts of etcd and grpc-go. */
function refusedChange(error: unknown): ChangeAnswer | undefined {
  const { message } = error as Error;
  if (/request is too large|message larger than max/.test(message)) return { kind: "too-large" };
  if (/database space exceeded/.test(message)) return { kind: "no-space", message };
  return undefined;
}

/** Codes for which asking again is useless. */
const finalCodes: readonly unknown[] = [
  Code.invalidArgument,
  Code.unimplemented,
  Code.unauthenticated,
  Code.permissionDenied,
  Code.dataLoss,
];

function unanswered(error: unknown): Unanswered {
  const { code, message } = error as Partial<GrpcError> & Error;
  return { kind: finalCodes.includes(code) ? "refused" : "uncertain", message };
}
