/**
 * A snapshot: the current state as the bytes of a checkpoint file for a store of its own. The history it
 * needs is kept from compaction until the snapshot is closed.
 */
import type { Random } from "#platform/random.ts";
import { stateSource } from "./checkpoint.ts";
import { encodeFileHeader } from "./engines/local/files.ts";
import type { StoreSnapshot } from "./full-store.ts";
import type { Leases } from "./leases.ts";
import type { Maintenance } from "./maintenance.ts";
import type { Mvcc } from "./mvcc.ts";

interface SnapshotDeps {
  readonly mvcc: Mvcc;
  readonly leases: Leases;
  readonly random: Random;
  readonly pins: Pick<Maintenance, "pin" | "unpin">;
}

export function openSnapshot({ mvcc, leases, random, pins }: SnapshotDeps): StoreSnapshot {
  const revision = mvcc.commitRevision;
  const pin = pins.pin(revision);
  const source = stateSource({ mvcc, leases, revision });
  const fields = { storeId: random.uuid(), number: revision, revision, previousEnd: 0, epoch: 0 };
  let header: Uint8Array | undefined = encodeFileHeader({ kind: "checkpoint", ...fields });
  return {
    revision,
    bytes: mvcc.bytes,
    next: () => {
      const chunk = header ?? source.next();
      header = undefined;
      return chunk;
    },
    close: () => pins.unpin(pin),
  };
}
