/**
 * A model of etcd's API over a list of states: one sorted map of keys per revision. Each answer is computed
 * by walking it. Requests and answers are the messages of the API itself, so every option and every field
 * takes part; invalid requests throw etcd's error text.
 */
import type * as m from "#wire/etcd-messages.ts";

interface ModelKv {
  readonly key: string;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly version: number;
  /** Bytes, each as one character 0..255. */
  readonly value: string;
  readonly lease: bigint;
}

type ModelState = ReadonlyMap<string, ModelKv>;

export interface ModelEvent {
  readonly revision: number;
  readonly key: string;
  /** Undefined: the key was deleted. */
  readonly kv: ModelKv | undefined;
  /** Key-value at the previous revision. Undefined for a created key. */
  readonly previous: ModelKv | undefined;
}

interface ModelLease {
  readonly ttlSeconds: number;
  dueMs: number;
}

/** A refusal, with etcd's text. */
export class ModelRefusal extends Error {}

const refused = {
  emptyKey: "etcdserver: key is not provided",
  keyNotFound: "etcdserver: key not found",
  valueProvided: "etcdserver: value is provided",
  leaseProvided: "etcdserver: lease is provided",
  duplicateKey: "etcdserver: duplicate key given in txn request",
  compacted: "etcdserver: mvcc: required revision has been compacted",
  future: "etcdserver: mvcc: required revision is a future revision",
  leaseNotFound: "etcdserver: requested lease not found",
  leaseExists: "etcdserver: lease already exists",
} as const;

const absent = { createRevision: 0, modRevision: 0, version: 0, value: "", lease: 0n };
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

export class EtcdModel {
  /** By revision: the state. An empty store is at revision 1. */
  readonly states: ModelState[] = [new Map(), new Map()];
  readonly events: ModelEvent[] = [];
  /** -1: no compaction yet. */
  compactRevision = -1;
  readonly leases = new Map<bigint, ModelLease>();

  get head(): number {
    return this.states.length - 1;
  }

  range(request: m.RangeRequest): object {
    checkRange(request);
    this.#refuseRevision(request.revision);
    const state = request.revision > 0 ? this.states[request.revision] : this.#now();
    return { header: { revision: this.head }, ...select(state as ModelState, request) };
  }

  put(request: m.PutRequest): object {
    checkPut(request);
    if (request.lease !== 0n && !this.leases.has(request.lease)) refuse("leaseNotFound");
    return this.#change((change) => change.put(request));
  }

  delete(request: m.DeleteRangeRequest): object {
    if (request.key === "") refuse("emptyKey");
    return this.#change((change) => change.delete(request));
  }

  txn(request: m.TxnRequest): object {
    checkTxn(request);
    checkTwice(request.success);
    checkTwice(request.failure);
    const taken = choose(this.#now(), request);
    this.#refuseTaken(taken);
    return this.#change((change) => ({
      ...change.txn(taken),
      header: { revision: change.revision },
    }));
  }

  compact({ revision }: { readonly revision: number }): object {
    if (revision <= this.compactRevision) refuse("compacted");
    if (revision > this.head) refuse("future");
    this.compactRevision = revision;
    return { header: { revision: this.head } };
  }

  grant({ id, ttl }: { readonly id: bigint; readonly ttl: number }, nowMs: number): object {
    if (this.leases.has(id)) refuse("leaseExists");
    this.leases.set(id, { ttlSeconds: ttl, dueMs: nowMs + ttl * 1000 });
    return { header: { revision: this.head }, id, ttl, error: "" };
  }

  revoke({ id }: { readonly id: bigint }): object {
    if (!this.leases.has(id)) refuse("leaseNotFound");
    this.#end(id);
    return { header: { revision: this.head } };
  }

  keepAlive({ id }: { readonly id: bigint }, nowMs: number): object {
    const lease = this.leases.get(id);
    if (lease !== undefined) lease.dueMs = nowMs + lease.ttlSeconds * 1000;
    return { header: { revision: this.head }, id, ttl: lease?.ttlSeconds ?? 0 };
  }

  timeToLive({ id, keys }: { readonly id: bigint; readonly keys: boolean }, nowMs: number): object {
    const lease = this.leases.get(id);
    const header = { revision: this.head };
    if (lease === undefined) return { header, id, ttl: -1, grantedTtl: 0, keys: [] };
    const ttl = Math.floor((lease.dueMs - nowMs) / 1000);
    const attached = [...this.#now().values()].filter((kv) => kv.lease === id);
    const names = keys ? attached.map(({ key }) => key) : [];
    return { header, id, ttl, grantedTtl: lease.ttlSeconds, keys: names };
  }

  /** Lists the leases by their expiry, the earliest first. */
  list(): object {
    const leases = [...this.leases].toSorted(([, a], [, b]) => a.dueMs - b.dueMs);
    return { header: { revision: this.head }, leases: leases.map(([id]) => ({ id })) };
  }

  /** Ends every lease that has expired. */
  pass(nowMs: number): void {
    const due = [...this.leases].filter(([, { dueMs }]) => dueMs <= nowMs);
    for (const [id] of due.toSorted(([, a], [, b]) => a.dueMs - b.dueMs)) this.#end(id);
  }

  /** A restarted server gives every lease its full TTL again, and forgets a compaction that removed nothing. */
  restart(nowMs: number): void {
    if (this.compactRevision <= 1) this.compactRevision = -1;
    for (const lease of this.leases.values()) lease.dueMs = nowMs + lease.ttlSeconds * 1000;
  }

  #now(): ModelState {
    return this.states.at(-1) as ModelState;
  }

  #end(id: bigint): void {
    this.leases.delete(id);
    this.#change((change) => {
      const keys = [...change.state.values()].filter((kv) => kv.lease === id);
      for (const { key } of keys) change.set(key, undefined);
      return {};
    });
  }

  #change(run: (change: Change) => object): object {
    const change = new Change(this.states);
    const answer = run(change);
    if (change.events.length === 0) return answer;
    this.states.push(change.state);
    this.events.push(...change.events);
    return answer;
  }

  #refuseRevision(revision: number): void {
    if (revision > this.head) refuse("future");
    if (revision > 0 && revision < this.compactRevision) refuse("compacted");
  }

  /** Checks before any operation whether all of them can succeed. */
  #refuseTaken({ ops }: Taken): void {
    for (const { op, txn } of ops) {
      if (txn !== undefined) this.#refuseTaken(txn);
      if (op.range !== undefined) this.#refuseRevision(op.range.revision);
      if (op.put === undefined) continue;
      const { ignoreValue, ignoreLease, key, lease } = op.put;
      if ((ignoreValue || ignoreLease) && !this.#now().has(key)) refuse("keyNotFound");
      if (lease !== 0n && !this.leases.has(lease)) refuse("leaseNotFound");
    }
  }
}

/** The chosen branch of a transaction, including the branches of nested transactions. */
interface Taken {
  readonly succeeded: boolean;
  readonly ops: readonly { readonly op: m.RequestOp; readonly txn: Taken | undefined }[];
}

function choose(state: ModelState, request: m.TxnRequest): Taken {
  const succeeded = request.compare.every((compare) => holds(state, compare));
  const branch = succeeded ? request.success : request.failure;
  const ops = branch.map((op) => ({
    op,
    txn: op.txn === undefined ? undefined : choose(state, op.txn),
  }));
  return { succeeded, ops };
}

/** Collects all changes of one revision. */
class Change {
  state: Map<string, ModelKv>;
  readonly events: ModelEvent[] = [];
  readonly #states: readonly ModelState[];
  readonly #head: number;

  constructor(states: readonly ModelState[]) {
    this.#states = states;
    this.#head = states.length - 1;
    this.state = new Map(states[this.#head]);
  }

  /** Revision of the newest state, including this change. */
  get revision(): number {
    return this.#head + (this.events.length > 0 ? 1 : 0);
  }

  set(key: string, kv: ModelKv | undefined): void {
    const created = kv !== undefined && kv.createRevision === this.#head + 1;
    const previous = created ? undefined : this.#states[this.#head]?.get(key);
    this.events.push({ revision: this.#head + 1, key, kv, previous });
    if (kv === undefined) this.state.delete(key);
    else this.state.set(key, kv);
    this.state = new Map([...this.state].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  put(request: m.PutRequest): object {
    const { key, ignoreValue, ignoreLease } = request;
    const before = this.state.get(key);
    if ((ignoreValue || ignoreLease) && before === undefined) refuse("keyNotFound");
    this.set(key, {
      key,
      createRevision: before?.createRevision ?? this.#head + 1,
      modRevision: this.#head + 1,
      version: (before?.version ?? 0) + 1,
      value: ignoreValue ? (before?.value ?? "") : latin1(request.value),
      lease: ignoreLease ? (before?.lease ?? 0n) : request.lease,
    });
    const prevKv = request.prevKv ? before : undefined;
    return { header: { revision: this.revision }, prevKv };
  }

  delete(request: m.DeleteRangeRequest): object {
    const gone = inSpan(this.state, request);
    for (const { key } of gone) this.set(key, undefined);
    const prevKvs = request.prevKv ? gone : [];
    return { header: { revision: this.revision }, deleted: gone.length, prevKvs };
  }

  txn({ succeeded, ops }: Taken): object {
    const responses = ops.map(({ op, txn }): object => {
      if (txn !== undefined) return { txn: { header: { revision: 0 }, ...this.txn(txn) } };
      if (op.range !== undefined) return { range: this.#range(op.range) };
      if (op.put !== undefined) return { put: this.put(op.put) };
      return { deleteRange: this.delete(op.deleteRange as m.DeleteRangeRequest) };
    });
    return { succeeded, responses };
  }

  #range(request: m.RangeRequest): object {
    const { revision } = request;
    const state = revision > 0 ? (this.#states[revision] as ModelState) : this.state;
    return { header: { revision: this.revision }, ...select(state, request) };
  }
}

function inSpan(
  state: ModelState,
  { key, rangeEnd }: { readonly key: string; readonly rangeEnd: string },
): ModelKv[] {
  return [...state.values()].filter((kv) => {
    if (rangeEnd === "") return kv.key === key;
    return kv.key >= key && (rangeEnd === "\0" || kv.key < rangeEnd);
  });
}

/** Selects like etcd, which reads one key more than the limit, filters and sorts these keys, and then cuts the result. */
function select(state: ModelState, request: m.RangeRequest): object {
  const all = inSpan(state, request);
  const count = all.length;
  if (request.countOnly) return { kvs: [], more: false, count };
  const { limit, sortOrder, sortTarget } = request;
  const read = sortOrder === 0 && !filters(request) && limit > 0 ? all.slice(0, limit + 1) : all;
  const kept = read.filter((kv) => passes(request, kv));
  const field = (["key", "version", "createRevision", "modRevision", "value"] as const)[sortTarget];
  const sign = sortOrder === 2 ? -1 : 1;
  const sorted = kept.toSorted((a, b) => sign * order(a[field ?? "key"], b[field ?? "key"]));
  const cut = limit > 0 ? sorted.slice(0, limit) : sorted;
  const kvs = request.keysOnly ? cut.map((kv) => ({ ...kv, value: "" })) : cut;
  return { kvs, more: cut.length < sorted.length, count };
}

function filters(request: m.RangeRequest): boolean {
  const { minModRevision, maxModRevision, minCreateRevision, maxCreateRevision } = request;
  return [minModRevision, maxModRevision, minCreateRevision, maxCreateRevision].some((f) => f > 0);
}

function passes(request: m.RangeRequest, kv: ModelKv): boolean {
  const { minModRevision, maxModRevision, minCreateRevision, maxCreateRevision } = request;
  return (
    kv.modRevision >= minModRevision &&
    kv.createRevision >= minCreateRevision &&
    (maxModRevision === 0 || kv.modRevision <= maxModRevision) &&
    (maxCreateRevision === 0 || kv.createRevision <= maxCreateRevision)
  );
}

/** A compare of a range must hold for every existing key. An absent key compares as zeros; a compare of its value fails. */
function holds(state: ModelState, compare: m.Compare): boolean {
  const kvs = inSpan(state, compare);
  const [field, operand] = (
    [
      ["version", compare.version],
      ["createRevision", compare.createRevision],
      ["modRevision", compare.modRevision],
      ["value", latin1(compare.value)],
      ["lease", compare.lease],
    ] as const
  )[compare.target] as readonly [keyof typeof absent, string | number | bigint];
  if (kvs.length === 0 && field === "value") return false;
  return (kvs.length === 0 ? [absent] : kvs).every((kv) => {
    const difference = order(kv[field], operand);
    return [difference === 0, difference > 0, difference < 0, difference !== 0][compare.result];
  });
}

function order(a: string | number | bigint, b: string | number | bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function checkRange({ key }: m.RangeRequest): void {
  if (key === "") refuse("emptyKey");
}

function checkPut({ key, ignoreValue, ignoreLease, value, lease }: m.PutRequest): void {
  if (key === "") refuse("emptyKey");
  if (ignoreValue && value.length > 0) refuse("valueProvided");
  if (ignoreLease && lease !== 0n) refuse("leaseProvided");
}

function checkTxn({ compare, success, failure }: m.TxnRequest): void {
  if (compare.some(({ key }) => key === "")) refuse("emptyKey");
  for (const op of [...success, ...failure]) {
    if (op.range !== undefined) checkRange(op.range);
    else if (op.put !== undefined) checkPut(op.put);
    else if (op.deleteRange !== undefined) {
      if (op.deleteRange.key === "") refuse("emptyKey");
    } else if (op.txn !== undefined) checkTxn(op.txn);
    else refuse("keyNotFound");
  }
}

interface Touched {
  readonly puts: readonly string[];
  readonly deletes: readonly m.DeleteRangeRequest[];
}

/** As upstream's checkIntervals: no key is put twice, or put and deleted, on any path through the branches. */
function checkTwice(ops: readonly m.RequestOp[]): Touched {
  const puts: string[] = [];
  const deletes = ops.flatMap(({ deleteRange }) => (deleteRange === undefined ? [] : deleteRange));
  const claim = (key: string, mine: readonly string[]): void => {
    if (puts.includes(key) && !mine.includes(key)) refuse("duplicateKey");
    if (deletes.some((one) => touches(one, key))) refuse("duplicateKey");
    puts.push(key);
  };
  for (const { txn } of ops) {
    if (txn === undefined) continue;
    const [success, failure] = [checkTwice(txn.success), checkTwice(txn.failure)];
    for (const key of success.puts) claim(key, []);
    for (const key of failure.puts) claim(key, success.puts);
    deletes.push(...success.deletes, ...failure.deletes);
  }
  for (const { put } of ops) if (put !== undefined) claim(put.key, []);
  return { puts: [...new Set(puts)], deletes };
}

/** A delete of all keys from a key on conflicts with no put, which is a gap in etcd's check. */
function touches({ key, rangeEnd }: m.DeleteRangeRequest, name: string): boolean {
  return rangeEnd === "" ? name === key : name >= key && name < rangeEnd;
}

function refuse(why: keyof typeof refused): never {
  throw new ModelRefusal(refused[why]);
}
