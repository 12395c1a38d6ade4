/** --concurrent-*-syncs: the number of keys that a controller reconciles at the same time, with upstream's flags. */
import { type Command, Option } from "commander";
import { integer } from "../shared/flag-values.ts";

/** Rows of a flag without dashes and the names of the controllers that it configures. */
const table: readonly (readonly [flag: string, ...controllers: readonly string[]])[] = [
  ["concurrent-cron-job-syncs", "cronjob-controller"],
  ["concurrent-daemonset-syncs", "daemonset-controller"],
  ["concurrent-deployment-syncs", "deployment-controller"],
  ["concurrent-device-taint-eviction-syncs", "device-taint-eviction-controller"],
  // No controller: here Endpoints are written together with the EndpointSlices of their Service.
  ["concurrent-endpoint-syncs"],
  ["concurrent-ephemeralvolume-syncs", "ephemeral-volume-controller"],
  ["concurrent-gc-syncs", "garbage-collector"],
  ["concurrent-horizontal-pod-autoscaler-syncs", "horizontal-pod-autoscaler-controller"],
  ["concurrent-job-syncs", "job-controller"],
  ["concurrent-namespace-syncs", "namespace-controller"],
  ["concurrent-rc-syncs", "replication-controller"],
  ["concurrent-replicaset-syncs", "replicaset-controller"],
  ["concurrent-resourceclaim-syncs", "resourceclaim-controller"],
  ["concurrent-resource-quota-syncs", "resourcequota-controller"],
  ["concurrent-service-endpoint-syncs", "endpointslice-controller"],
  ["concurrent-serviceaccount-token-syncs", "tokens-controller"],
  ["concurrent-statefulset-syncs", "statefulset-controller"],
  ["concurrent-ttl-after-finished-syncs", "ttl-after-finished-controller"],
  [
    "concurrent-validating-admission-policy-status-syncs",
    "validatingadmissionpolicy-status-controller",
  ],
  ["mirroring-concurrent-service-endpoint-syncs", "endpointslicemirroring-controller"],
];

export function addWorkerFlags(command: Command): void {
  for (const [flag, ...controllers] of table) {
    const what = controllers.length === 0 ? "no effect" : "keys at a time; absent: its own number";
    const option = new Option(`--${flag} <count>`, what);
    // Upstream accepts any number and fails later on one below 1.
    command.addOption(option.argParser(integer("count", 1, 10_000)));
  }
}

/** Returns the numbers of workers by controller name, for the manager. `flags`: as the command parsed them. */
export function workersOf(flags: object): ReadonlyMap<string, number> {
  const given = Object.entries(flags);
  return new Map(
    table.flatMap(([flag, ...controllers]) => {
      const property = flag.replaceAll(/-([a-z])/g, (_dash, letter: string) =>
        letter.toUpperCase(),
      );
      const value: unknown = given.find(([name]) => name === property)?.[1];
      return typeof value === "number" ? controllers.map((name) => [name, value] as const) : [];
    }),
  );
}
