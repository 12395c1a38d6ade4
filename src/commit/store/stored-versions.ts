/** Lists every version that a store holds: O(versions), for checks and hashes. */
import type { Mvcc } from "./mvcc.ts";
import { RecordReader } from "./record.ts";
import type { Key, KeyValue } from "./store.ts";
import { noRow } from "./versions.ts";
import type { Row } from "./versions.ts";

/** One version of one key. */
export interface StoredVersion {
  readonly revision: number;
  /** Position among the changes of its revision, from 0. */
  readonly place: number;
  readonly key: Key;
  /** Undefined: the key was deleted. */
  readonly kv: KeyValue | undefined;
  /** Whether no later version of the key was requested. */
  readonly newest: boolean;
}

/** Versions up to revision `upTo`, by revision and position. */
export function storedVersions(mvcc: Mvcc, upTo: number): StoredVersion[] {
  const { versions } = mvcc;
  const found: StoredVersion[] = [];
  mvcc.index.scan("", undefined, (key, newest) => {
    let first = true;
    for (let row = newest; row !== noRow; row = versions.previous(row)) {
      const revision = versions.revision(row);
      if (revision > upTo) continue;
      const kv = versions.isTombstone(row) ? undefined : mvcc.keyValue(row);
      found.push({ revision, place: placeOf(mvcc, row), key: key as Key, kv, newest: first });
      first = false;
    }
  });
  return found.toSorted((a, b) => a.revision - b.revision || a.place - b.place);
}

function placeOf(mvcc: Mvcc, row: Row): number {
  const { versions, log } = mvcc;
  if (!versions.isTombstone(row)) return new RecordReader(mvcc.record(row)).place(0);
  const revision = versions.revision(row);
  return revision <= log.base ? 0 : log.rows(revision).indexOf(row);
}
