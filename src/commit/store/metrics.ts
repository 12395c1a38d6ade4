/** Metrics of a store's memory and disk: one declaration for every role with a store. */
import type { StoreStats } from "./full-store.ts";
import type { StateQuota } from "./options.ts";

interface StoreMetric {
  readonly name: string;
  readonly help: string;
  readonly value: number;
}

/** All are gauges. */
export function storeMetrics(stats: StoreStats): readonly StoreMetric[] {
  const { versions, leases, bytes, historyBytes, slabHeldBytes, slabLiveBytes, engine } = stats;
  const { stateKeys, stateQuota } = stats;
  return [
    gauge("versions", "Versions held, of all keys.", versions),
    gauge("leases", "Leases alive.", leases),
    gauge("state_keys", "Keys that are there.", stateKeys),
    gauge(
      "state_bytes",
      "Records of the newest version of each key, in bytes.",
      bytes - historyBytes,
    ),
    gauge("history_bytes", "Records that compaction will forget, in bytes.", historyBytes),
    gauge("live_bytes", "Records in memory that are named, in bytes.", slabLiveBytes),
    gauge("held_bytes", "Memory blocks that hold them, in bytes.", slabHeldBytes),
    gauge("log_bytes", "Log that is kept, in bytes.", engine.logBytes),
    gauge(
      "checkpoint_bytes",
      "Checkpoints that are kept, in bytes.",
      engine.storedBytes - engine.logBytes,
    ),
    gauge("checkpoint_revision", "Revision of the newest checkpoint.", engine.checkpointRevision),
    ...(stateQuota === undefined ? [] : quotaMetrics(stateQuota)),
  ];
}

function quotaMetrics({ keysMax, bytesMax }: StateQuota): readonly StoreMetric[] {
  return [
    gauge("quota_keys", "Keys from which on no key is added.", keysMax),
    gauge("quota_bytes", "Bytes of state from which on no key is added.", bytesMax),
  ];
}

function gauge(name: string, help: string, value: number): StoreMetric {
  return { name: `pilothouse_store_${name}`, help, value };
}
