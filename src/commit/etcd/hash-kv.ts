/**
 * HashKV: etcd's own hash over all versions up to a revision, so that two stores with the same
 * history (Pilothouse and a real etcd) give the same number.
 *
 * CRC-32C over the bucket's name, then for each version, in order of (revision, place in it): 17
 * bytes of revision (with a "t" appended for a tombstone), then the KeyValue as protobuf.
 * Cost   walks and sorts all versions at once: about a second per million.
 * After  server/storage/mvcc/hash.go.
 */
import { crc32c } from "#base/crc32c.ts";
import type { FullStore } from "#store/full-store.ts";
import type { StoredVersion } from "#store/stored-versions.ts";
import { keyValue } from "#wire/etcd-messages.ts";

interface KeySpaceHash {
  readonly hash: number;
  readonly hashRevision: number;
}

/** `revision` 0: the newest. */
export function hashKeySpace(
  store: FullStore,
  revision: number,
  compactRevision: number,
): KeySpaceHash {
  const upTo = revision > 0 ? revision : store.commitRevision;
  const versions = store.versions(upTo);
  const anyKept = versions.some(({ newest, kv }) => newest && kv !== undefined);
  let hash = crc32c(Buffer.from("key"));
  for (const version of versions) {
    if (hashSkips(version, compactRevision, anyKept)) continue;
    hash = crc32c(revisionBytes(version), undefined, undefined, hash);
    hash = crc32c(valueBytes(version), undefined, undefined, hash);
  }
  return { hash, hashRevision: upTo };
}

/** Versions that compaction will remove do not count, whether or not they are removed yet. */
function hashSkips(version: StoredVersion, compactRevision: number, anyKept: boolean): boolean {
  const { revision, kv, newest } = version;
  if (revision > compactRevision) return false;
  if (anyKept && !(newest && kv !== undefined)) return true;
  return revision === compactRevision && kv === undefined;
}

function revisionBytes({ revision, place, kv }: StoredVersion): Uint8Array {
  const bytes = Buffer.alloc(kv === undefined ? 18 : 17);
  bytes.writeBigUInt64BE(BigInt(revision), 0);
  bytes[8] = 0x5f;
  bytes.writeBigUInt64BE(BigInt(place), 9);
  if (kv === undefined) bytes[17] = 0x74;
  return bytes;
}

function valueBytes({ key, kv }: StoredVersion): Uint8Array {
  return keyValue.encode(kv ?? { key });
}
