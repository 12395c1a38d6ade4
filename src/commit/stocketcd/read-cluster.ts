/** Reads every key below the prefix of an etcd cluster, at one revision, as keys and values of this store. */
import type { EtcdClient } from "#etcd/client.ts";
import type { Key, KeyValue, LeaseId, Revision } from "#store/store.ts";
import type * as m from "#wire/etcd-messages.ts";
import { type AtRest, isSealed, type StoredValue } from "#store/at-rest.ts";
import type { KeyLayout } from "./layout.ts";
import { fromStockValue } from "./values.ts";

export type StockKeyValue = m.Of<typeof m.keyValue>;

/** Number of keys per range request: some megabytes. */
const pageKeys = 2_000;

/** Receives the keys that are not read as usual, and settings of the reading. */
export interface ClusterReader {
  readonly layout: KeyLayout;
  /** Opens sealed values. Absent: a value that is encrypted at rest ends the reading. */
  readonly atRest?: AtRest;
  /** Called for an object that cannot be decoded. May throw to end the reading. */
  unreadable(key: string, error: unknown): void;
  /** Called for each object, with its stored value. */
  seen?(key: Key, stored: Uint8Array): void;
  /** Called for keys that are no objects of a served kind: leases of servers, bitmaps of addresses. */
  foreign?(kv: StockKeyValue): void;
}

/** Rejects when a value is encrypted at rest and cannot be opened, or etcd does not answer. */
export async function readCluster(
  client: EtcdClient,
  reader: ClusterReader,
): Promise<{ readonly revision: number; readonly kvs: readonly KeyValue[] }> {
  const { root } = reader.layout;
  const kvs: KeyValue[] = [];
  let key = root;
  let revision = 0;
  for (let more = true; more;) {
    const page = await client.range({ key, rangeEnd: endOf(root), limit: pageKeys, revision });
    revision ||= page.header?.revision ?? 0;
    await reader.atRest?.prepare(storedValues(page.kvs, reader.layout));
    for (const kv of page.kvs) keep(kvs, kv, reader);
    ({ more } = page);
    key = `${page.kvs.at(-1)?.key ?? ""}\0`;
  }
  return { revision, kvs };
}

/** Returns the values of kinds that are served. */
export function* storedValues(
  kvs: Iterable<StockKeyValue>,
  layout: KeyLayout,
): Generator<StoredValue> {
  for (const { key: path, value } of kvs) {
    const key = layout.fromStock(path);
    if (key !== undefined) yield { key, value };
  }
}

/** Returns the end of the range of keys below `root`: for `/registry/` it is `/registry0`. */
export function endOf(root: string): string {
  return `${root.slice(0, -1)}0`;
}

/** Returns the opened value. Undefined: it cannot be read, and `reader.unreadable` has been called. */
export function readValue(
  key: Key,
  kv: StockKeyValue,
  reader: ClusterReader,
): Uint8Array | undefined {
  try {
    return fromStockValue(reader.atRest?.open(key, kv.key, kv.value) ?? kv.value);
  } catch (error) {
    reader.unreadable(kv.key, error);
    return undefined;
  }
}

function keep(kvs: KeyValue[], kv: StockKeyValue, reader: ClusterReader): void {
  if (reader.atRest === undefined && isSealed(kv.value)) {
    const text = `${kv.key} is encrypted at rest: --encryption-provider-config names the keys that open it`;
    throw new Error(text);
  }
  const key = reader.layout.fromStock(kv.key);
  if (key === undefined) return reader.foreign?.(kv);
  reader.seen?.(key, kv.value);
  const value = readValue(key, kv, reader);
  if (value === undefined) return;
  const { createRevision, modRevision, version, lease } = kv;
  kvs.push({
    key,
    value,
    createRevision: createRevision as Revision,
    modRevision: modRevision as Revision,
    version,
    lease: lease as LeaseId,
  });
}
