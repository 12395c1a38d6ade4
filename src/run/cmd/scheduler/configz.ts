/**
 * The KubeSchedulerConfiguration in effect, as /configz shows it: what --config says, flags, and our defaults where both
 * are silent. Upstream's name for it in that answer is `componentconfig`.
 */
import { isRecord } from "#base/is-record.ts";
import type { schedulerDefaults } from "#scheduler/scheduler.ts";
import { connectionConfigz, electionConfigz } from "../shared/configz.ts";
import type { SchedulerFlags } from "./flags.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Returns the /configz document. `document`: the checked document of --config, empty without it. */
export function schedulerConfigz(
  flags: SchedulerFlags,
  { backoffFirstMs, backoffMostMs }: (typeof schedulerDefaults)["queue"],
  document: Fields,
): Fields {
  const given = document["profiles"];
  const isGiven = Array.isArray(given) && given.length > 0;
  const profiles = isGiven ? given : [{ schedulerName: "default-scheduler" }];
  const componentconfig = {
    kind: "KubeSchedulerConfiguration",
    apiVersion: "kubescheduler.config.k8s.io/v1",
    // A single loop makes all decisions.
    parallelism: 1,
    leaderElection: electionConfigz(flags),
    clientConnection: connectionConfigz(flags),
    enableProfiling: false,
    enableContentionProfiling: false,
    percentageOfNodesToScore: document["percentageOfNodesToScore"] ?? 100,
    podInitialBackoffSeconds: backoffFirstMs / 1000,
    podMaxBackoffSeconds: backoffMostMs / 1000,
    profiles,
    ...extendersOf(document["extenders"]),
    delayCacheUntilActive: true,
  };
  return { componentconfig };
}

function extendersOf(given: unknown): Fields {
  if (!Array.isArray(given) || given.length === 0) return {};
  return { extenders: given.map((one: unknown) => (isRecord(one) ? withoutKey(one) : one)) };
}

/** Removes the private key, which upstream shows. A reader of metrics does not need it. */
function withoutKey(extender: Fields): Fields {
  const tls = extender["tlsConfig"];
  if (!isRecord(tls)) return extender;
  const { keyData: _, ...shown } = tls;
  return { ...extender, tlsConfig: shown };
}
