/** Metrics that every serving thread reports with the same value: those of the process, the store and its objects. */

/** All of them are gauges or behave like gauges. Counters of a thread's own work are added up instead. */
const common = [
  /^process_/,
  /^nodejs_/,
  /^kubernetes_/,
  /^pilothouse_build_info$/,
  /^pilothouse_store_/,
  /^etcd_(?!request|requests|bookmark)/,
  /^apiserver_storage_(objects|size_bytes|db_total_size_in_bytes)$/,
  /^apiserver_resource_(objects|size_estimate_bytes)$/,
  /^apiserver_clusterip_repair|^kube_apiserver_clusterip_allocator_(allocated|available)_ips$/,
  /^kube_apiserver_nodeport_allocator_(allocated|available)_ports$/,
  /^apiserver_watch_cache_resource_version$/,
  // Every thread reads the same file again.
  /^apiserver_(authentication|authorization)_config_controller_/,
  /^apiserver_flowcontrol_priority_level_(seat_utilization|request_utilization)$/,
];

export function isCommonMetric(name: string): boolean {
  return common.some((pattern) => pattern.test(name));
}
