/** The command `pilothouse hollow` and its flags. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { imagePatterns } from "#hollow/image-pull.ts";
import { unpullableDefault } from "#hollow/options.ts";
import { integer, patterns } from "../shared/flag-values.ts";
import { nodesMax } from "../shared/limits.ts";
import { addNodeGroupFlags } from "../shared/node-group-role.ts";
import { addApiFlags } from "../shared/role-flags.ts";
import type { HollowFlags, NodeRange } from "./flags.ts";
import { addStageFlags } from "../shared/stage-flags.ts";

export function addHollow(program: Command): void {
  const kubelets = program
    .command("hollow")
    .description(
      "register hollow nodes at any Kubernetes API server: what kubelets say, without containers",
    )
    .option(
      "--nodes <count>",
      "how many; absent: 10, or none with --node-groups",
      integer("count", 0, nodesMax),
    )
    .option(
      "--node-groups <file>",
      "YAML: groups of nodes that an autoscaler grows and shrinks, served as cluster-autoscaler's externalgrpc provider; see docs/autoscaler.md",
    )
    .option(
      "--first-index <number>",
      "index of the first: several processes share a cluster by ranges",
      integer("number", 0, 10_000_000),
      0,
    )
    .option(
      "--node-range <first-last>",
      "indexes of the nodes, both ends included, as 1000-1999; instead of --nodes and --first-index",
      nodeRange,
    )
    .option("--name-prefix <text>", "nodes are named this and their index", namePrefix, "hollow-")
    .addOption(
      new Option(
        "--watch-shape <shape>",
        "shared: two watches in all; kubelet: also 18 per node, as of kubelet, kube-proxy and a network plugin",
      )
        .choices(["shared", "kubelet"])
        .default("shared"),
    )
    .option("--zones <count>", "zones the nodes are dealt over", integer("count", 1, 1_000), 3)
    .option("--pods <count>", "pods a node takes", integer("count", 1, 10_000), 110)
    .option("--cpu <quantity>", "of a node", "8")
    .option("--memory <quantity>", "of a node", "32Gi")
    .option(
      "--devices <file>",
      "YAML: devices of hollow nodes, published as ResourceSlices of one DeviceClass; see docs/devices.md",
    )
    .addOption(
      new Option(
        "--image-pull-error <patterns>",
        'images that cannot be pulled, comma separated, * for any text; "" for none',
      )
        .argParser(patterns)
        .default(imagePatterns(unpullableDefault), `"${unpullableDefault}"`),
    );
  addNodeGroupFlags(kubelets);
  addStageFlags(kubelets, "");
  addApiFlags(kubelets);
  kubelets
    .addHelpText(
      "after",
      `
The kubeconfig's user writes Nodes, their Leases and the status of all Pods: an administrator, or a role made for it.
With --devices it also writes DeviceClasses and ResourceSlices, and reads ResourceClaims.

Examples:
  pilothouse hollow --kubeconfig admin.conf --nodes 1000
  pilothouse hollow --kubeconfig admin.conf --nodes 1000 --first-index 1000     a further thousand
  pilothouse hollow --kubeconfig admin.conf --node-groups groups.yaml            node groups, for an autoscaler
  pilothouse hollow --kubeconfig admin.conf --node-range 2000-2999              the next one
  pilothouse hollow --kubeconfig admin.conf --stages examples/stages/pod.yaml   pods live as its Stages say`,
    )
    .action(async (flags: HollowFlags) => {
      const { hollowRole } = await import("../hollow/run.ts");
      await hollowRole(flags);
    });
}

function nodeRange(text: string): NodeRange {
  const found = /^([0-9]{1,8})-([0-9]{1,8})$/.exec(text);
  const [first = 0, last = -1] = (found ?? []).slice(1).map(Number);
  if (last < first) throw new InvalidArgumentError("two indexes, the lower first, as 1000-1999.");
  if (last - first < nodesMax) return { firstIndex: first, nodes: last - first + 1 };
  throw new InvalidArgumentError(`at most ${nodesMax} nodes; start more processes.`);
}

function namePrefix(text: string): string {
  if (/^[a-z0-9]([-a-z0-9.]{0,60})$/.test(text)) return text;
  throw new InvalidArgumentError(
    "a prefix is lower-case letters, digits, - and ., and begins with a letter or digit.",
  );
}
