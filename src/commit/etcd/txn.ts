/**
 * Runs a transaction in etcd's three steps: compare (which branches), check (whether every operation
 * on them can succeed), execute. Nothing is changed before the check has passed.
 */
import type { Key, KeyValue, LeaseId, Revision } from "#store/store.ts";
import type { Transaction } from "#store/transaction.ts";
import {
  CompareResult,
  CompareTarget,
  type Compare,
  type DeleteRangeRequest,
  type PutRequest,
  type RequestOp,
  type TxnRequest,
} from "#wire/etcd-messages.ts";
import { compareBytes, executeRange, span, type RangeAnswer, type ReadView } from "./range.ts";
import { etcdError } from "./rpc-error.ts";

interface PutAnswer {
  readonly header: { readonly revision: number };
  readonly prevKv: KeyValue | undefined;
}

interface DeleteAnswer {
  readonly header: { readonly revision: number };
  readonly deleted: number;
  readonly prevKvs: readonly KeyValue[];
}

interface OpAnswer {
  readonly range?: RangeAnswer;
  readonly put?: PutAnswer;
  readonly deleteRange?: DeleteAnswer;
  readonly txn?: TxnAnswer;
}

interface TxnAnswer {
  readonly header: { readonly revision: number };
  readonly succeeded: boolean;
  readonly responses: readonly OpAnswer[];
}

/** The branch taken, with the branches of its nested transactions. */
interface Path {
  readonly succeeded: boolean;
  readonly ops: readonly RequestOp[];
  readonly nested: readonly (Path | undefined)[];
}

/** Whether no operation can write; nested transactions count as writing, as in etcd. */
export function isReadOnly({ success, failure }: TxnRequest): boolean {
  return (
    success.every(({ range }) => range !== undefined) &&
    failure.every(({ range }) => range !== undefined)
  );
}

/** Whether either branch has a top-level put, which is what etcd's quota checks. */
export function hasPut({ success, failure }: TxnRequest): boolean {
  return (
    success.some(({ put }) => put !== undefined) || failure.some(({ put }) => put !== undefined)
  );
}

export function runReadOnly(view: ReadView, request: TxnRequest): TxnAnswer {
  const succeeded = request.compare.every((one) => holds(view, one));
  const ops = succeeded ? request.success : request.failure;
  const responses = ops.map((op) => ({ range: executeRange(view, must(op.range)) }));
  return { header: { revision: view.revision }, succeeded, responses };
}

/** Throws GrpcError without having changed anything when an operation is impossible. */
export function runTxn(transaction: Transaction, request: TxnRequest): TxnAnswer {
  const path = choose(transaction, request);
  check(transaction, path);
  const answer = execute(transaction, path);
  return { ...answer, header: { revision: transaction.revision } };
}

export function put(transaction: Transaction, request: PutRequest): PutAnswer {
  const key = request.key as Key;
  const before = transaction.get(key);
  if ((request.ignoreValue || request.ignoreLease) && before === undefined) {
    throw etcdError("keyNotFound");
  }
  const value = request.ignoreValue ? must(before).value : request.value;
  const lease = request.ignoreLease ? must(before).lease : (request.lease as LeaseId);
  transaction.put(key, value, lease);
  const prevKv = request.prevKv ? before : undefined;
  return { header: { revision: transaction.revision }, prevKv };
}

export function deleteRange(transaction: Transaction, request: DeleteRangeRequest): DeleteAnswer {
  const found = transaction.range(span(request.key, request.rangeEnd));
  const kvs = found.kind === "ok" ? found.kvs : [];
  for (const { key } of kvs) transaction.delete(key);
  return {
    header: { revision: transaction.revision },
    deleted: kvs.length,
    prevKvs: request.prevKv ? kvs : [],
  };
}

function choose(view: ReadView, request: TxnRequest): Path {
  const succeeded = request.compare.every((one) => holds(view, one));
  const ops = succeeded ? request.success : request.failure;
  const nested = ops.map(({ txn }) => (txn === undefined ? undefined : choose(view, txn)));
  return { succeeded, ops, nested };
}

function check(transaction: Transaction, path: Path): void {
  path.ops.forEach((op, i) => {
    const nested = path.nested[i];
    if (nested !== undefined) check(transaction, nested);
    else if (op.put !== undefined) checkPutRuns(transaction, op.put);
    else if (op.range !== undefined) checkRangeRuns(transaction, op.range.revision);
  });
}

function checkPutRuns(transaction: Transaction, request: PutRequest): void {
  const { ignoreValue, ignoreLease, lease } = request;
  if ((ignoreValue || ignoreLease) && transaction.get(request.key as Key) === undefined) {
    throw etcdError("keyNotFound");
  }
  if (lease !== 0n && !transaction.hasLease(lease as LeaseId)) throw etcdError("leaseNotFound");
}

/** Runs before any change, so a read at the transaction's own revision is in the future. */
function checkRangeRuns(transaction: Transaction, revision: number): void {
  if (revision <= 0) return;
  const at = revision as Revision;
  const found = transaction.range({ start: "" as Key, end: "" as Key, at, limit: 0 });
  if (found.kind === "future") throw etcdError("futureRevision");
  if (found.kind === "compacted") throw etcdError("compacted");
}

function execute(transaction: Transaction, path: Path): TxnAnswer {
  const responses = path.ops.map((op, i): OpAnswer => {
    const nested = path.nested[i];
    if (nested !== undefined) return { txn: execute(transaction, nested) };
    if (op.range !== undefined) return { range: executeRange(transaction, op.range) };
    if (op.put !== undefined) return { put: put(transaction, op.put) };
    return { deleteRange: deleteRange(transaction, must(op.deleteRange)) };
  });
  return { header: { revision: 0 }, succeeded: path.succeeded, responses };
}

/** A comparison over a range holds when it holds for every existing key; a missing key compares as zeros. */
function holds(view: ReadView, compare: Compare): boolean {
  const found = view.range(span(compare.key, compare.rangeEnd));
  const kvs = found.kind === "ok" ? found.kvs : [];
  if (kvs.length === 0) {
    return compare.target !== CompareTarget.value && compareOne(compare, absent);
  }
  return kvs.every((kv) => compareOne(compare, kv));
}

const absent = {
  version: 0,
  createRevision: 0,
  modRevision: 0,
  lease: 0n,
  value: new Uint8Array(0),
};

function compareOne(compare: Compare, kv: typeof absent | KeyValue): boolean {
  const difference = differenceOf(compare, kv);
  switch (compare.result) {
    case CompareResult.equal:
      return difference === 0;
    case CompareResult.notEqual:
      return difference !== 0;
    case CompareResult.greater:
      return difference > 0;
    case CompareResult.less:
      return difference < 0;
    default:
      return true;
  }
}

function differenceOf(compare: Compare, kv: typeof absent | KeyValue): number {
  switch (compare.target) {
    case CompareTarget.version:
      return kv.version - compare.version;
    case CompareTarget.create:
      return kv.createRevision - compare.createRevision;
    case CompareTarget.mod:
      return kv.modRevision - compare.modRevision;
    case CompareTarget.value:
      return compareBytes(kv.value, compare.value);
    case CompareTarget.lease:
      return kv.lease < compare.lease ? -1 : kv.lease > compare.lease ? 1 : 0;
    default:
      return 0;
  }
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw etcdError("keyNotFound");
  return value;
}
