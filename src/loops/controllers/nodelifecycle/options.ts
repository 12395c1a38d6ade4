/** How patient the node lifecycle controller is, and how fast it gives nodes up: kube-controller-manager's flags. */
export interface NodeLifecycleOptions {
  /** Between two looks at all nodes: --node-monitor-period. */
  readonly monitorMs: number;
  /** Without a sign of life: --node-monitor-grace-period, and of a node that never was ready --node-startup-grace-period. */
  readonly graceMs: number;
  readonly startupGraceMs: number;
  /** Nodes a second of a zone: --node-eviction-rate. */
  readonly evictionsPerSecond: number;
  /** The same of a zone that is partly lost and large: --secondary-node-eviction-rate. */
  readonly secondaryEvictionsPerSecond: number;
  /** From this share of not ready nodes on a zone is partly lost: --unhealthy-zone-threshold. */
  readonly unhealthyShare: number;
  /** A zone of more nodes than this is large: --large-cluster-size-threshold. */
  readonly largeZoneNodes: number;
}

/** Upstream's. */
export const nodeLifecycleDefaults: NodeLifecycleOptions = {
  monitorMs: 5_000,
  graceMs: 50_000,
  startupGraceMs: 60_000,
  evictionsPerSecond: 0.1,
  secondaryEvictionsPerSecond: 0.01,
  unhealthyShare: 0.55,
  largeZoneNodes: 50,
};
