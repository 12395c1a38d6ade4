/** Metrics counted by a server of the etcd API. */
import { MetricSet } from "#metrics/metric-set.ts";
import type { Clock } from "#platform/clock.ts";
import { GrpcMetrics } from "./grpc-metrics.ts";
import { PeerMetrics } from "./peer-metrics.ts";
import { Traffic } from "./traffic.ts";

export class EtcdCounters {
  readonly set = new MetricSet();
  readonly grpc: GrpcMetrics;
  readonly traffic: Traffic;
  readonly peers: PeerMetrics;

  constructor(clock: Clock) {
    this.grpc = new GrpcMetrics(clock, this.set);
    this.traffic = new Traffic(this.set);
    this.peers = new PeerMetrics(this.set);
  }
}
