/**
 * Checks a transaction before any of it runs: sizes, keys, and that no key is put
 * twice, or put and deleted. Branches that exclude each other may touch the same key.
 *
 * Two gaps are etcd's, and are kept because clients may rely on them: a put in one nested transaction may
 * meet a delete in a later sibling, and a delete from a key on (end "\0") is compared with nothing.
 * The store can change a key twice in one revision.
 */
import type { DeleteRangeRequest, PutRequest, RequestOp, TxnRequest } from "#wire/etcd-messages.ts";
import { checkRangeRequest, span } from "./range.ts";
import { etcdError } from "./rpc-error.ts";

export function checkPut(request: PutRequest): void {
  if (request.key === "") throw etcdError("emptyKey");
  if (request.ignoreValue && request.value.length > 0) throw etcdError("valueProvided");
  if (request.ignoreLease && request.lease !== 0n) throw etcdError("leaseProvided");
}

export function checkDelete(request: DeleteRangeRequest): void {
  if (request.key === "") throw etcdError("emptyKey");
}

/** `opsMax` is the remaining budget: a nested transaction gets its parent's minus the parent's size. */
export function checkTxn(request: TxnRequest, opsMax: number): void {
  checkSizes(request, opsMax);
  checkOverlaps(request.success);
  checkOverlaps(request.failure);
}

function checkSizes(request: TxnRequest, opsMax: number): void {
  const { compare, success, failure } = request;
  const ops = Math.max(compare.length, success.length, failure.length);
  if (ops > opsMax) throw etcdError("tooManyOps");
  if (compare.some(({ key }) => key === "")) throw etcdError("emptyKey");
  for (const op of success) checkOp(op, opsMax - ops);
  for (const op of failure) checkOp(op, opsMax - ops);
}

function checkOp(op: RequestOp, opsMax: number): void {
  if (op.range !== undefined) checkRangeRequest(op.range);
  else if (op.put !== undefined) checkPut(op.put);
  else if (op.deleteRange !== undefined) checkDelete(op.deleteRange);
  else if (op.txn !== undefined) checkSizes(op.txn, opsMax);
  else throw etcdError("keyNotFound");
}

interface Touched {
  readonly puts: Set<string>;
  readonly deletes: Spans;
}

function checkOverlaps(ops: readonly RequestOp[]): Touched {
  const deletes = new Spans();
  for (const { deleteRange } of ops) {
    if (deleteRange === undefined || deleteRange.rangeEnd === "\0") continue;
    const { start, end } = span(deleteRange.key, deleteRange.rangeEnd);
    deletes.add(start, end);
  }
  const puts = new Set<string>();
  for (const { txn } of ops) if (txn !== undefined) addNested(txn, puts, deletes);
  for (const { put } of ops) {
    if (put === undefined) continue;
    if (puts.has(put.key) || deletes.has(put.key)) throw etcdError("duplicateKey");
    puts.add(put.key);
  }
  return { puts, deletes };
}

function addNested(txn: TxnRequest, puts: Set<string>, deletes: Spans): void {
  const success = checkOverlaps(txn.success);
  const failure = checkOverlaps(txn.failure);
  const either = new Set([...success.puts, ...failure.puts]);
  // Puts and deletes were already compared within each branch, but may conflict across branches.
  for (const key of either) {
    if (puts.has(key) || deletes.has(key)) throw etcdError("duplicateKey");
  }
  for (const key of either) puts.add(key);
  deletes.addAll(success.deletes);
  deletes.addAll(failure.deletes);
}

/** A set of key ranges: lookup in O(log n), sorted again after additions. */
class Spans {
  #spans: { readonly start: string; readonly end: string }[] = [];
  /** For each span, the highest end of all spans up to it. */
  #reach: string[] = [];
  #sorted = true;

  add(start: string, end: string): void {
    this.#spans.push({ start, end });
    this.#sorted = false;
  }

  addAll(others: Spans): void {
    if (others.#spans.length === 0) return;
    this.#spans = [...this.#spans, ...others.#spans];
    this.#sorted = false;
  }

  has(key: string): boolean {
    if (!this.#sorted) this.#sort();
    let low = 0;
    let high = this.#spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#spans[middle] as { start: string }).start <= key) low = middle + 1;
      else high = middle;
    }
    return low > 0 && (this.#reach[low - 1] as string) > key;
  }

  #sort(): void {
    this.#spans.sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0));
    let reach = "";
    this.#reach = this.#spans.map(({ end }) => (reach = end > reach ? end : reach));
    this.#sorted = true;
  }
}
