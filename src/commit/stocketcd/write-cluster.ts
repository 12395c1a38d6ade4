/**
 * A whole state of ours into an etcd cluster, in kube-apiserver's keys and encoding.
 *
 * Holds  every object gets a revision above the one the state has: no resourceVersion that a client knows comes again.
 *        Nothing is overwritten: what is there and alike stays, anything else ends the writing before it begins, so
 *        one that was cut off is simply begun again.
 * Cost   an etcd that is behind the state's revision is written to once for each revision it lacks.
 */
import { equalBytes } from "#base/bytes.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { type AtRest, isSealed, SealedValueError } from "#store/at-rest.ts";
import type { Key, KeyValue } from "#store/store.ts";
import type { Input } from "#wire/etcd-codec.ts";
import type * as m from "#wire/etcd-messages.ts";
import type { KeyLayout } from "./layout.ts";
import { endOf } from "./read-cluster.ts";
import { toStockValue } from "./values.ts";

interface WrittenState {
  readonly revision: number;
  readonly kvs: readonly KeyValue[];
  /** Returns the remaining time of a lease in milliseconds. Undefined: the lease has expired, and its keys with it. */
  readonly ttlMsOf: (lease: bigint) => number | undefined;
  /** Seals values for the cluster. Absent: they are not sealed. */
  readonly atRest?: AtRest;
}

interface Written {
  readonly written: number;
  /** Number of objects that the cluster had already. */
  readonly alike: number;
  readonly revision: number;
}

/** Reports progress to the user. */
export type TellProgress = (what: string, done: number, of: number) => void;

interface Pair {
  readonly key: string;
  readonly own: Key;
  /** Value before it is sealed. */
  readonly value: Uint8Array;
  readonly lease: bigint;
}

/** The target cluster holds other objects. When it held them from the start, nothing was written. */
export class ForeignClusterError extends Error {}

const pageKeys = 2_000;
/** Operations and bytes of a request, below etcd's own limits of 128 operations and 1.5 MiB. */
const batchKeys = 100;
const batchBytes = 512 * 1024;
/** Number of concurrent puts that raise the cluster's revision. */
const bumpers = 64;
/** Number of revisions after which their history is compacted; it would fill the cluster. */
const compactEvery = 200_000;
/** Maximum number of keys per lease, as upstream. */
const keysPerLease = 1_000;
const minuteMs = 60_000;
/** Name of a key below the prefix; no server reads it. */
const bumpKey = "pilothouse-migration";
/** Numbers in etcd's compare: EQUAL, CREATE. */
const equal = 0;
const createTarget = 1;

/** Writes the state into the cluster. Throws ForeignClusterError, GrpcError. */
export async function writeCluster(
  client: EtcdClient,
  layout: KeyLayout,
  state: WrittenState,
  tell: TellProgress,
): Promise<Written> {
  const pairs = pairsOf(layout, state);
  const missing = await withoutAlike(client, layout, pairs, state.atRest);
  await reachRevision(client, layout.root + bumpKey, state.revision, tell);
  const leases = await grantLeases(client, missing, state);
  let written = 0;
  for (const batch of batchesOf(missing)) {
    await createAll(client, batch, leases, state.atRest);
    tell("objects written", (written += batch.length), missing.length);
  }
  const { header, deleted } = await client.deleteRange({ key: layout.root + bumpKey });
  const revision = header?.revision ?? 0;
  if (deleted > 0) await client.compact(revision);
  return { written, alike: pairs.length - missing.length, revision };
}

/** Returns the objects to write, without those whose lease has expired. */
function pairsOf(layout: KeyLayout, { kvs, ttlMsOf }: WrittenState): readonly Pair[] {
  return kvs
    .filter(({ lease }) => lease === 0n || ttlMsOf(lease) !== undefined)
    .map(({ key, value, lease }) => ({
      key: layout.toStock(key),
      own: key,
      value: toStockValue(value),
      lease,
    }));
}

async function withoutAlike(
  client: EtcdClient,
  layout: KeyLayout,
  pairs: readonly Pair[],
  atRest: AtRest | undefined,
): Promise<readonly Pair[]> {
  const missing = new Map(pairs.map((pair) => [pair.key, pair]));
  const other: string[] = [];
  for await (const { key, value } of everyKey(client, layout.root)) {
    if (layout.fromStock(key) === undefined) continue;
    const ours = missing.get(key);
    if (ours === undefined || !(await isAlike(ours, value, atRest))) other.push(key);
    missing.delete(key);
  }
  if (other.length === 0) return [...missing.values()];
  throw new ForeignClusterError(
    `${layout.root} holds ${other.length} objects that are not in the source, or differ from it, the first ${other[0]}`,
  );
}

/** Whether a stored value is the same. Sealed values differ each time, so the opened values are compared. */
async function isAlike(
  { key, own, value }: Pair,
  stored: Uint8Array,
  atRest: AtRest | undefined,
): Promise<boolean> {
  if (atRest === undefined || !isSealed(stored)) return equalBytes(value, stored);
  await atRest.prepare([{ key: own, value: stored }]);
  try {
    return equalBytes(value, atRest.open(own, key, stored));
  } catch (error) {
    if (error instanceof SealedValueError) return false;
    throw error;
  }
}

async function* everyKey(
  client: EtcdClient,
  root: string,
): AsyncGenerator<m.Of<typeof m.keyValue>> {
  let key = root;
  for (let more = true; more;) {
    const page = await client.range({ key, rangeEnd: endOf(root), limit: pageKeys });
    yield* page.kvs;
    ({ more } = page);
    key = `${page.kvs.at(-1)?.key ?? ""}\0`;
  }
}

async function reachRevision(
  client: EtcdClient,
  key: string,
  target: number,
  tell: TellProgress,
): Promise<void> {
  const first = (await client.range({ key })).header?.revision ?? 0;
  for (let reached = first; reached < target;) {
    reached = await putUntil(client, key, Math.min(target, reached + compactEvery), (revision) =>
      tell("revisions made up", Math.min(revision, target) - first, target - first),
    );
    await client.compact(reached);
  }
}

/** Puts the key until `target` is reached. @returns the newest revision, which is at least `target`. */
async function putUntil(
  client: EtcdClient,
  key: string,
  target: number,
  tell: (revision: number) => void,
): Promise<number> {
  let reached = 0;
  const put = async (): Promise<void> => {
    while (reached < target) {
      const { header } = await client.put({ key, value: new Uint8Array() });
      reached = Math.max(reached, header?.revision ?? 0);
      tell(reached);
    }
  };
  await Promise.all(Array.from({ length: bumpers }, put));
  return reached;
}

/** Grants a lease for up to `keysPerLease` keys that expire in the same minute. */
async function grantLeases(
  client: EtcdClient,
  pairs: readonly Pair[],
  { ttlMsOf }: WrittenState,
): Promise<ReadonlyMap<Pair, bigint>> {
  const granted = new Map<Pair, bigint>();
  const byMinute = Map.groupBy(
    pairs.filter(({ lease }) => lease !== 0n),
    ({ lease }) => Math.ceil((ttlMsOf(lease) ?? 0) / minuteMs),
  );
  for (const [minutes, ofMinute] of byMinute) {
    for (let at = 0; at < ofMinute.length; at += keysPerLease) {
      const { id } = await client.grant(Math.max(1, minutes) * 60);
      for (const pair of ofMinute.slice(at, at + keysPerLease)) granted.set(pair, id);
    }
  }
  return granted;
}

function* batchesOf(pairs: readonly Pair[]): Generator<readonly Pair[]> {
  let batch: Pair[] = [];
  let bytes = 0;
  for (const pair of pairs) {
    const size = pair.key.length + pair.value.length;
    if (batch.length === batchKeys || (batch.length > 0 && bytes + size > batchBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(pair);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Creates all objects or none, on the condition that each is still missing. */
async function createAll(
  client: EtcdClient,
  batch: readonly Pair[],
  leases: ReadonlyMap<Pair, bigint>,
  atRest: AtRest | undefined,
): Promise<void> {
  const success = batch.map((pair): Input<m.RequestOp> => ({
    put: {
      key: pair.key,
      value: atRest?.seal(pair.own, pair.key, pair.value) ?? pair.value,
      lease: leases.get(pair) ?? 0n,
    },
  }));
  const compare = batch.map(({ key }) => ({
    result: equal,
    target: createTarget,
    key,
    createRevision: 0,
  }));
  const { succeeded } = await client.txn({ compare, success });
  if (!succeeded) throw new ForeignClusterError("another program writes below the prefix: stop it");
}
