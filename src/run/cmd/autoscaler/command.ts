/** The command `pilothouse autoscaler` and its flags, with cluster-autoscaler's names and defaults. */
import { type Command, Option } from "commander";
import { boolean, gathered, goDuration, integer } from "../shared/flag-values.ts";
import { addRoleFlags } from "../shared/role-flags.ts";
import { expanderList, limits, nodeGroupSpec, numberUpTo, shardOf } from "./flag-values.ts";
import type { AutoscalerFlags } from "./flags.ts";

const minuteMs = 60_000;
const countMax = 2 ** 31 - 1;

export function addAutoscaler(program: Command): void {
  const command = program
    .command("autoscaler")
    .description(
      "grow and shrink node groups by what pods need, in place of cluster-autoscaler: of any Kubernetes API server and any provider that speaks externalgrpc",
    )
    .requiredOption(
      "--cloud-config <file>",
      "YAML: address of the provider and, with TLS, key, cert, cacert; grpc_timeout",
    )
    .option(
      "--namespace <name>",
      "of the status and of the priority expander's ConfigMap",
      "kube-system",
    )
    .option("--status-config-map-name <name>", "of the status", "cluster-autoscaler-status")
    .option(
      "--nodes <min:max:group>",
      "a group and its bounds; may be given again; absent: all groups of the provider with its bounds",
      nodeGroupSpec,
      [],
    )
    .option(
      "--shard <i/n>",
      "looks after the i-th of n parts of the groups, from 0; each has a Lease of its own",
      shardOf,
    )
    .option("--scan-interval <duration>", "between two loops", goDuration, 10_000);
  addScaleUpFlags(command);
  addScaleDownFlags(command);
  addRoleFlags(command, { lease: "cluster-autoscaler", port: 8_085 });
  command
    .addHelpText(
      "after",
      `
The kubeconfig's user reads pods, nodes, namespaces, services, volumes and claims, budgets and DaemonSets; it patches
nodes, evicts pods, and writes ConfigMaps, Leases and Events. docs/autoscaler.md has a run on a laptop.

Examples:
  echo 'address: 127.0.0.1:8086' > cloud.yaml
  pilothouse autoscaler --kubeconfig admin.conf --cloud-config cloud.yaml
  pilothouse autoscaler --cloud-config cloud.yaml --nodes 1:100:small --nodes 0:20:large --expander price,least-waste
  pilothouse autoscaler --cloud-config cloud.yaml --shard 0/2          and another one with --shard 1/2`,
    )
    .action(async (flags: AutoscalerFlags) => {
      const { autoscalerRole } = await import("../autoscaler/run.ts");
      await autoscalerRole(flags);
    });
}

function addScaleUpFlags(command: Command): void {
  command
    .option(
      "--expander <list>",
      "which group grows: random, most-pods, least-waste, least-nodes, price, priority; each of a list chooses among what the one before left",
      expanderList,
      ["least-waste"],
    )
    .option(
      "--balance-similar-node-groups [boolean]",
      "deal new nodes over groups that are alike",
      boolean,
      false,
    )
    .option(
      "--max-node-provision-time <duration>",
      "after which a node that did not come is given back",
      goDuration,
      15 * minuteMs,
    )
    .option(
      "--max-nodes-total <count>",
      "nodes of the cluster; 0: no bound",
      integer("count", 0, countMax),
      0,
    )
    .addOption(
      new Option("--cores-total <min:max>", "cores of the cluster")
        .argParser(limits)
        .default({ least: 0, most: 320_000 }, "0:320000"),
    )
    .addOption(
      new Option("--memory-total <min:max>", "gigabytes of the cluster")
        .argParser(limits)
        .default({ least: 0, most: 6_400_000 }, "0:6400000"),
    )
    .option(
      "--max-nodes-per-scaleup <count>",
      "that a group grows by in a loop",
      integer("count", 1, countMax),
      1_000,
    )
    .option(
      "--scale-up-percent-per-minute <number>",
      "a group grows by at most this share of its size within a minute, one node at least; absent: no bound",
      numberUpTo(0, 1_000_000),
    );
  addPodAndBackoffFlags(command);
}

function addPodAndBackoffFlags(command: Command): void {
  command
    .option("--new-pod-scale-up-delay <duration>", "younger pods cause no node", goDuration, 0)
    .option(
      "--expendable-pods-priority-cutoff <number>",
      "pods of a lower priority cause no node",
      numberUpTo(-(2 ** 31), 2 ** 31),
      -10,
    )
    .option(
      "--enforce-node-group-min-size [boolean]",
      "grow groups that are below their minimum",
      boolean,
      false,
    )
    .option(
      "--startup-taint <key>",
      "of new nodes, gone before pods come; may be given again",
      gathered,
      [],
    )
    .option(
      "--initial-node-group-backoff-duration <duration>",
      "rest of a group that failed",
      goDuration,
      5 * minuteMs,
    )
    .option(
      "--max-node-group-backoff-duration <duration>",
      "the longest rest",
      goDuration,
      30 * minuteMs,
    )
    .option(
      "--node-group-backoff-reset-timeout <duration>",
      "after which a failure is forgotten",
      goDuration,
      180 * minuteMs,
    )
    .option(
      "--max-total-unready-percentage <number>",
      "of nodes, beyond which nothing is done",
      numberUpTo(0, 100),
      45,
    )
    .option(
      "--ok-total-unready-count <count>",
      "unready nodes that do not matter",
      integer("count", 0, countMax),
      3,
    );
}

function addScaleDownFlags(command: Command): void {
  command
    .option("--scale-down-enabled [boolean]", "remove nodes", boolean, true)
    .option(
      "--scale-down-unready-enabled [boolean]",
      "also those that are not ready",
      boolean,
      true,
    )
    .option(
      "--scale-down-utilization-threshold <number>",
      "share of cores or memory below which a node may go",
      numberUpTo(0, 1),
      0.5,
    )
    .option(
      "--scale-down-unneeded-time <duration>",
      "for which it must be so",
      goDuration,
      10 * minuteMs,
    )
    .option(
      "--scale-down-unready-time <duration>",
      "as that, of nodes that are not ready",
      goDuration,
      20 * minuteMs,
    )
    .option(
      "--scale-down-empty-time <duration>",
      "as that, of nodes without pods; absent: --scale-down-unneeded-time",
      goDuration,
    )
    .option(
      "--node-expire-after <duration>",
      "nodes that are older are replaced, one at a time; absent: never",
      goDuration,
    )
    .option(
      "--scale-down-delay-after-add <duration>",
      "rest of scale-down after nodes were added",
      goDuration,
      10 * minuteMs,
    )
    .option("--scale-down-delay-after-delete <duration>", "after a node was removed", goDuration, 0)
    .option(
      "--scale-down-delay-after-failure <duration>",
      "after a removal failed",
      goDuration,
      3 * minuteMs,
    );
  addDrainFlags(command);
}

function addDrainFlags(command: Command): void {
  command
    .option(
      "--ignore-daemonsets-utilization [boolean]",
      "pods of DaemonSets do not count as use",
      boolean,
      false,
    )
    .option(
      "--skip-nodes-with-local-storage [boolean]",
      "keep nodes of pods with emptyDir or hostPath",
      boolean,
      true,
    )
    .option(
      "--skip-nodes-with-system-pods [boolean]",
      "keep nodes of kube-system's pods without a budget",
      boolean,
      true,
    )
    .option(
      "--skip-nodes-with-custom-controller-pods [boolean]",
      "keep nodes of pods of unknown controllers",
      boolean,
      true,
    )
    .option(
      "--max-scale-down-parallelism <count>",
      "nodes removed at a time",
      integer("count", 0, 10_000),
      10,
    )
    .option(
      "--max-drain-parallelism <count>",
      "of these, nodes with pods",
      integer("count", 0, 10_000),
      1,
    )
    .option(
      "--max-bulk-soft-taint-count <count>",
      "nodes that get or lose the soft taint in a loop",
      integer("count", 0, 10_000),
      10,
    )
    .option(
      "--max-graceful-termination-sec <seconds>",
      "the longest grace period of an evicted pod",
      integer("seconds", 0, 86_400),
      600,
    )
    .option(
      "--max-pod-eviction-time <duration>",
      "for which an eviction is tried",
      goDuration,
      2 * minuteMs,
    );
}
