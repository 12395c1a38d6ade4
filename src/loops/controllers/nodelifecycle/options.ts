/** Timeouts and rates of the node lifecycle controller, with kube-controller-manager's flags. */
export interface NodeLifecycleOptions {
  /** Interval of the checks of all nodes: --node-monitor-period. */
  readonly monitorMs: number;
  /** Maximum silence: --node-monitor-grace-period, and --node-startup-grace-period for a node that was never ready. */
  readonly graceMs: number;
  readonly startupGraceMs: number;
  /** Nodes per second and zone: --node-eviction-rate. */
  readonly evictionsPerSecond: number;
  /** The same for a large zone that is partly lost: --secondary-node-eviction-rate. */
  readonly secondaryEvictionsPerSecond: number;
  /** Share of nodes not ready from which on a zone is partly lost: --unhealthy-zone-threshold. */
  readonly unhealthyShare: number;
  /** A zone with more nodes is large: --large-cluster-size-threshold. */
  readonly largeZoneNodes: number;
}

/** Upstream's defaults. */
export const nodeLifecycleDefaults: NodeLifecycleOptions = {
  monitorMs: 5_000,
  graceMs: 50_000,
  startupGraceMs: 60_000,
  evictionsPerSecond: 0.1,
  secondaryEvictionsPerSecond: 0.01,
  unhealthyShare: 0.55,
  largeZoneNodes: 50,
};
