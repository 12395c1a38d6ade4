/** Figures of a state, equal for a store, a follower and a mirror. */
import type { StoreStats } from "./full-store.ts";
import type { Mvcc } from "./mvcc.ts";

type StateStats = Omit<StoreStats, "leases" | "commits" | "watches" | "engine">;

export function stateStats(mvcc: Mvcc): StateStats {
  return {
    keys: mvcc.index.size,
    versions: mvcc.versions.size,
    stateKeys: mvcc.stateKeys,
    bytes: mvcc.bytes,
    historyBytes: mvcc.bytes - mvcc.stateBytes,
    slabHeldBytes: mvcc.slabs.heldBytes,
    slabLiveBytes: mvcc.slabs.liveBytes,
  };
}
