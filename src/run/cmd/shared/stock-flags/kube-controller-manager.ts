/** Answers of `controller-manager` to flags of kube-controller-manager 1.36 that it does not need or cannot support. */
import { clientFlags, componentFlags } from "./component-flags.ts";
import type { StockFlag } from "./flag-kinds.ts";
import { fixed, refused, unused } from "./stock-flag.ts";

const notHere = "this controller is not here (docs/roles.md)";
const atOnce = "changes are acted upon as they come; what comes together is written together";

export const kubeControllerManagerFlags: readonly StockFlag[] = [
  ...componentFlags,
  ...clientFlags,
  ...unused("concurrent-service-syncs:int", notHere),
  ...unused(
    "endpoint-updates-batch-period:duration endpointslice-updates-batch-period:duration mirroring-endpointslice-updates-batch-period:duration",
    atOnce,
  ),
  ...unused("controller-start-interval:duration min-resync-period:duration", atOnce),
  ...unused(
    "controller-shutdown-timeout:duration",
    "a stop ends each controller between two writes",
  ),
  ...unused(
    "namespace-sync-period:duration pvclaimbinder-sync-period:duration resource-quota-sync-period:duration",
    atOnce,
  ),
  ...fixed(
    "cidr-allocator-type",
    ["RangeAllocator"],
    "a cloud's own controller manager allocates from the cloud",
  ),
  ...unused("cluster-name", "a prefix of cloud resources; there is no cloud here"),
  ...fixed(
    "cloud-provider",
    ["", "external"],
    "run the cloud's own controller manager beside this one",
  ),
  ...unused(
    "route-reconciliation-period:duration",
    "routes are made by the cloud's own controller manager",
  ),
  ...fixed(
    "configure-cloud-routes:bool",
    ["true", "false"],
    "routes are made by the cloud's own controller manager",
  ),
  ...fixed(
    "cloud-config external-cloud-volume-plugin",
    [""],
    "run the cloud's own controller manager beside this one",
  ),
  ...fixed(
    "enable-garbage-collector:bool",
    ["true"],
    "leave it out with --controllers=*,-garbage-collector-controller",
  ),
  ...fixed("enable-dynamic-provisioning:bool", ["true"], "leave a claim's storageClassName empty"),
  ...fixed("enable-hostpath-provisioner:bool", ["false"], "use a provisioner that runs as a Pod"),
  ...fixed(
    "enable-leader-migration:bool",
    ["false"],
    "there is no cloud provider to migrate away from",
  ),
  ...refused("leader-migration-config", "there is no cloud provider to migrate away from"),
  ...unused(
    "flex-volume-plugin-dir",
    "FlexVolume needs a directory on the controller's host; use CSI",
  ),
  ...unused(
    `pv-recycler-increment-timeout-nfs:int pv-recycler-minimum-timeout-hostpath:int pv-recycler-minimum-timeout-nfs:int
     pv-recycler-timeout-increment-hostpath:int pv-recycler-pod-template-filepath-hostpath pv-recycler-pod-template-filepath-nfs`,
    "the reclaim policy Recycle is deprecated upstream and not here",
  ),
  ...fixed(
    "disable-attach-detach-reconcile-sync:bool disable-force-detach-on-timeout:bool",
    ["false"],
    "as upstream by default",
  ),
  ...unused("attach-detach-reconcile-sync-period:duration", atOnce),
  ...fixed("max-endpoints-per-slice:int", ["100"], "upstream's default"),
  ...fixed("mirroring-max-endpoints-per-subset:int", ["1000"], "upstream's default"),
];
