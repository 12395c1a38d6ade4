/**
 * What /configz shows of the flags that every role has: parts of upstream's component configurations, v1alpha1.
 *
 * Shown is what is in effect, so fields whose settings have no effect here are left out.
 */
import type { ApiFlags, ElectionFlags } from "./role-flags.ts";

type Part = Readonly<Record<string, unknown>>;

export function electionConfigz(flags: ElectionFlags): Part {
  return {
    leaderElect: flags.leaderElect,
    leaseDuration: durationText(flags.leaderElectLeaseDuration),
    renewDeadline: durationText(flags.leaderElectRenewDeadline),
    retryPeriod: durationText(flags.leaderElectRetryPeriod),
    resourceLock: "leases",
    resourceName: flags.leaderElectResourceName,
    resourceNamespace: flags.leaderElectResourceNamespace,
  };
}

/** Shows the kubeconfig's path and never its content. qps 0: requests are not limited. */
export function connectionConfigz({ kubeconfig = "", kubeApiQps, kubeApiBurst }: ApiFlags): Part {
  return { kubeconfig, qps: kubeApiQps ?? 0, burst: kubeApiBurst ?? 0 };
}

/** Returns Go's text of a duration: `1h2m3s`, `5m0s`, `1.5s`, `20ms`, `0s`. */
export function durationText(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = `${(ms % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
