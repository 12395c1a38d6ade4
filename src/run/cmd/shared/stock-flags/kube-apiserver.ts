/** The answers of `apiserver` to the flags of kube-apiserver 1.36 that it does not need or cannot support. */
import { componentFlags } from "./component-flags.ts";
import type { StockFlag } from "./flag-kinds.ts";
import { fixed, refused, unused } from "./stock-flag.ts";

const selfSized = "the watch cache sizes itself; its history is bounded by --compact-every";
const store = "the store's calls are bounded by the request's own time";

export const kubeApiServerFlags: readonly StockFlag[] = [
  ...componentFlags,
  ...fixed("watch-cache:bool", ["true"], "lists and watches are always served from memory"),
  ...unused("watch-cache-sizes:strings default-watch-cache-size:int", selfSized),
  ...unused("delete-collection-workers:int", "a collection is deleted in turns of the one loop"),
  ...fixed(
    "enable-garbage-collector:bool",
    ["true"],
    "start the controller manager with --controllers=*,-garbage-collector-controller",
  ),
  ...unused(
    "etcd-count-metric-poll-period:duration etcd-db-metric-poll-interval:duration",
    "objects are counted as they change",
  ),
  ...unused(
    "etcd-healthcheck-timeout:duration etcd-readycheck-timeout:duration storage-initialization-timeout:duration",
    store,
  ),
  ...unused("lease-reuse-duration-seconds:int", "Events that end together share a lease by minute"),
  ...fixed("storage-backend", ["etcd3"], "with --etcd-servers in etcd, else in a log of its own"),
  ...fixed(
    "storage-media-type",
    ["application/vnd.kubernetes.protobuf"],
    "built-in kinds lie in etcd as protobuf, others as JSON",
  ),
  ...fixed("endpoint-reconciler-type", ["lease"], "each server renews a lease for its address"),
  ...fixed(
    "kubernetes-service-node-port:int",
    ["0"],
    "make a Service of type NodePort over the endpoints of default/kubernetes",
  ),
  ...fixed(
    "enable-priority-and-fairness:bool",
    ["true"],
    "give a FlowSchema the level exempt for callers that must not wait",
  ),
  ...fixed("max-connection-bytes-per-sec:int", ["0"], "bytes in flight are bounded by the ledger"),
  ...fixed("aggregator-reject-forwarding-redirect:bool", ["true"], "redirects are never followed"),
  ...unused("enable-logs-handler:bool", "/logs is not served, as by default upstream"),
  ...fixed(
    "emulation-forward-compatible:bool runtime-config-emulation-forward-compatible:bool",
    ["false"],
    "no other version is emulated",
  ),
  ...unused(
    "coordinated-leadership-lease-duration:duration coordinated-leadership-renew-deadline:duration coordinated-leadership-retry-period:duration",
    "of CoordinatedLeaderElection, which 1.36 leaves off",
  ),
  ...unused("livez-grace-period:duration", "/livez is true once the port is open"),
  ...unused(
    "shutdown-send-retry-after:bool",
    "a request that comes during a stop is served, or its connection is refused",
  ),
  ...unused(
    "shutdown-watch-termination-grace-period:duration",
    "watches end at once, and cleanly, so that their clients resume elsewhere",
  ),
  ...fixed("external-hostname", [""], "clients are told the address that they have reached"),
  ...refused(
    "admission-control:strings",
    "it was replaced upstream: --enable-admission-plugins and --disable-admission-plugins",
  ),
  ...refused(
    "authorization-policy-file",
    "ABAC is not here: write its lines as Roles and RoleBindings",
  ),
  ...refused(
    "service-account-signing-endpoint",
    "give the key as --service-account-signing-key-file",
  ),
  ...refused("debug-socket-path", "profile with NODE_OPTIONS=--cpu-prof"),
  ...refused(
    "peer-ca-file peer-advertise-ip peer-advertise-port",
    "servers of another version are not asked for what this one lacks: run one version at a time behind a balancer",
  ),
];
