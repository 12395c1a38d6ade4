/** The command `pilothouse coordinator`. */
import type { Command } from "commander";
import { regionNamespace } from "#regions/names.ts";
import { duration, integer } from "../shared/flag-values.ts";
import { addRoleFlags } from "../shared/role-flags.ts";
import type { CoordinatorFlags } from "./run.ts";

export function addCoordinator(program: Command): void {
  const command = program
    .command("coordinator")
    .description(
      "place plain objects into regions, which are clusters: replicas divided, statuses added up, lost regions made up for under a budget (docs/regions.md)",
    )
    .option("--namespace <name>", "of ClusterProfiles and their Secrets", regionNamespace)
    .option(
      "--region-unknown-after <duration>",
      "without an answer a region counts as Unknown; its replicas stay",
      duration,
      40_000,
    )
    .option(
      "--recovery-pods-per-second <count>",
      "replicas of lost regions that are made elsewhere, all placements together",
      integer("count", 1, 100_000),
      50,
    )
    .option(
      "--recovery-burst <count>",
      "at once after a quiet time",
      integer("count", 1, 1_000_000),
      200,
    )
    .option(
      "--recovery-room-percent <percent>",
      "of the room that regions report, for replicas of lost ones",
      integer("percent", 1, 100),
      80,
    )
    .option(
      "--summary-pods-max <count>",
      "pods of a region without an agent that are counted for its summary",
      integer("count", 1, 10_000_000),
      50_000,
    );
  addRoleFlags(command, { lease: "pilothouse-coordinator", port: 10_267 });
  command
    .addHelpText(
      "after",
      `
Home is any API server, best one without workload controllers: it keeps the objects, regions run them.
  pilothouse apiserver --data-dir home
  pilothouse coordinator --kubeconfig home/kubeconfig          one of several: the holder of the Lease works
  pilothouse region join --kubeconfig eu.conf --coordinator home/kubeconfig --name eu
  kubectl --kubeconfig home/kubeconfig apply -f examples/regions/web.yaml
  kubectl --kubeconfig home/kubeconfig rollout status deployment/web`,
    )
    .action(async (flags: CoordinatorFlags) => {
      const { coordinatorRole } = await import("./run.ts");
      await coordinatorRole(flags);
    });
}
