/** The answers of `etcd` to the flags of etcd 3.6 that it does not need or cannot support. */
import { InvalidArgumentError } from "commander";
import { boolean } from "../flag-values.ts";
import type { StockFlag } from "./flag-kinds.ts";
import { fixed, refused, unused } from "./stock-flag.ts";

const noPeers =
  "one process has no peers; replicas are pilothouse store --engine etcd (docs/roles.md)";
const ownLog = "the log, its checkpoints and its cleaning size themselves (docs/capacity/store.md)";

export const etcdFlags: readonly StockFlag[] = [
  ...unused(
    `listen-peer-urls:strings initial-advertise-peer-urls:strings initial-cluster-token initial-cluster-state
     heartbeat-interval:int election-timeout:int initial-election-tick-advance:bool pre-vote:bool
     strict-reconfig-check:bool max-learners:int raft-read-timeout:duration raft-write-timeout:duration
     peer-cert-file peer-key-file peer-client-cert-auth:bool peer-trusted-ca-file peer-auto-tls:bool
     peer-client-cert-file peer-client-key-file peer-crl-file peer-cert-allowed-cn:strings
     peer-cert-allowed-hostname:strings peer-skip-client-san-verification:bool
     experimental-peer-skip-client-san-verification:bool client-cert-file client-key-file`,
    noPeers,
  ),
  ...unused(
    `snapshot-count:int max-snapshots:int max-wals:int backend-bbolt-freelist-type backend-batch-interval:duration
     backend-batch-limit:int snapshot-catchup-entries:int experimental-snapshot-catchup-entries:int
     compaction-batch-limit:int experimental-compaction-batch-limit:int compaction-sleep-interval:duration
     experimental-compaction-sleep-interval:duration bootstrap-defrag-threshold-megabytes:int
     experimental-bootstrap-defrag-threshold-megabytes:int experimental-txn-mode-write-with-shared-buffer:bool
     memory-mlock:bool experimental-memory-mlock:bool experimental-stop-grpc-service-on-defrag:bool`,
    ownLog,
  ),
  ...refused("wal-dir", "the log lies in --data-dir; put that on the disk that is meant for it"),
  ...unused("unsafe-no-fsync:bool", "a write is answered when it is on the disk, as without it"),
  ...unused(
    `initial-corrupt-check:bool experimental-initial-corrupt-check:bool corrupt-check-time:duration
     experimental-corrupt-check-time:duration compact-hash-check-time:duration
     experimental-compact-hash-check-enabled:bool experimental-compact-hash-check-time:duration`,
    "every record is checked when it is read; pilothouse store check proves all of them",
  ),
  ...unused(
    "experimental-enable-lease-checkpoint:bool experimental-enable-lease-checkpoint-persist:bool",
    "what is left of a lease is in the log",
  ),
  ...unused(
    `warning-apply-duration:duration experimental-warning-apply-duration:duration
     warning-unary-request-duration:duration experimental-warning-unary-request-duration:duration
     downgrade-check-time:duration experimental-downgrade-check-time:duration`,
    "slow calls are in the metrics; there is one version",
  ),
  ...unused("logger log-format log-outputs:strings", "logs are JSON lines on stderr"),
  ...fixed("enable-log-rotation:bool", ["false"], "send stderr where it is rotated"),
  ...unused("log-rotation-config-json", "send stderr where it is rotated"),
  ...unused("metrics", "the histograms of extensive are always there"),
  ...unused("enable-pprof:bool", "profile with NODE_OPTIONS=--cpu-prof"),
  ...unused("max-concurrent-streams:int socket-reuse-port:bool socket-reuse-address:bool", ownLog),
  ...unused(
    "grpc-keepalive-min-time:duration grpc-keepalive-interval:duration grpc-keepalive-timeout:duration",
    "the system's keepalive finds clients that are gone",
  ),
  ...unused("v2-deprecation", "there is no v2 store"),
  ...unused(
    "host-whitelist:strings cors:strings enable-grpc-gateway:bool",
    "the JSON gateway is not served",
  ),
  ...unused(
    "bcrypt-cost:int auth-token-ttl:int auth-token",
    "there are no users; give client certificates",
  ),
  ...unused("tls-max-version", "TLS 1.3 is the newest"),
  ...fixed("discovery-fallback", ["exit", "proxy"], noPeers),
  ...refused(
    `discovery discovery-token discovery-endpoints:strings discovery-dial-timeout:duration
     discovery-request-timeout:duration discovery-keepalive-time:duration discovery-keepalive-timeout:duration
     discovery-insecure-transport:bool discovery-insecure-skip-tls-verify:bool discovery-cert discovery-key
     discovery-cacert discovery-user discovery-password discovery-proxy discovery-srv discovery-srv-name`,
    noPeers,
  ),
  ...fixed("force-new-cluster:bool", ["false"], "there is no membership to forget"),
  ...fixed("auto-tls:bool", ["false"], "give --cert-file and --key-file"),
  ...unused("self-signed-cert-validity:int", "of --auto-tls"),
  ...refused("client-crl-file", "take the certificate's common name out of --allow-cn"),
  ...refused("client-cert-allowed-hostname:strings", "name clients by --allow-cn"),
  ...refused(
    `enable-distributed-tracing:bool distributed-tracing-address distributed-tracing-service-name
     distributed-tracing-instance-id distributed-tracing-sampling-rate:int
     experimental-enable-distributed-tracing:bool experimental-distributed-tracing-address
     experimental-distributed-tracing-service-name experimental-distributed-tracing-instance-id
     experimental-distributed-tracing-sampling-rate:int`,
    "no spans are exported; durations are in the metrics",
  ),
];

/** Feature gates of etcd 3.6. None changes the behavior here: records are always checked, leases survive a restart, and so on. */
const featureGates = new Set([
  "AllAlpha",
  "AllBeta",
  "CompactHashCheck",
  "InitialCorruptCheck",
  "LeaseCheckpoint",
  "LeaseCheckpointPersist",
  "SetMemberLocalAddr",
  "StopGRPCServiceOnDefrag",
  "TxnModeWriteWithSharedBuffer",
]);

/** Checks `NAME=true,NAME=false`, with etcd's error texts. @throws InvalidArgumentError */
export function etcdFeatureGates(text: string): string {
  for (const entry of text.split(",").filter((one) => one !== "")) {
    const [name = "", value] = entry.split("=");
    if (!featureGates.has(name))
      throw new InvalidArgumentError(`unrecognized feature gate: ${name}.`);
    if (value === undefined)
      throw new InvalidArgumentError(`missing bool value for feature gate ${name}.`);
    boolean(value);
  }
  return text;
}
