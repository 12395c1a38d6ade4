/** The answers of `scheduler` to the flags of kube-scheduler 1.36 that it does not need or cannot support. */
import { clientFlags, componentFlags } from "./component-flags.ts";
import type { StockFlag } from "./flag-kinds.ts";
import { refused, unused } from "./stock-flag.ts";

export const kubeSchedulerFlags: readonly StockFlag[] = [
  ...componentFlags,
  ...clientFlags,
  ...unused(
    "pod-max-in-unschedulable-pods-duration:duration",
    "a pod is looked at again by what may help it, and after five minutes, upstream's default",
  ),
  ...refused(
    "write-config-to",
    "start with --config; defaults are those of KubeSchedulerConfiguration v1",
  ),
];
