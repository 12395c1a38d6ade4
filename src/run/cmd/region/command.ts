/** The commands of `pilothouse region`, by which regions join, leave, and are drained. */
import { type Command, InvalidArgumentError } from "commander";
import { defaultKinds } from "#regions/join/region-rights.ts";
import { regionNamespace } from "#regions/names.ts";
import { nameList } from "../shared/flag-values.ts";
import { addRoleFlags } from "../shared/role-flags.ts";
import type { AgentFlags } from "./agent.ts";
import type { HomeFlags, JoinFlags, LeaveFlags } from "./run.ts";

export function addRegion(program: Command): void {
  const region = program
    .command("region")
    .description(
      "regions of a coordinator: join, leave, list, drain, lost, agent (docs/regions.md)",
    );
  addJoin(region);
  atHome(region.command("list"))
    .description("list the regions: health, room, what was ordered")
    .action(async (flags: HomeFlags) => (await import("./run.ts")).listRegions(flags));
  atHome(region.command("leave <name>"))
    .description("take a region's profile and credential away; what it runs stays there")
    .option(
      "--kubeconfig <file>",
      "of the region, to take away the coordinator's account and rights too",
    )
    .action(async (name: string, flags: LeaveFlags) =>
      (await import("./run.ts")).leave(name, flags),
    );
  addOrder(
    region,
    "drain",
    "move everything out of a region that answers, within each placement's surge",
  );
  addOrder(
    region,
    "lost",
    "give a region up at once, also its whole workloads: only when it runs no more",
  );
  addAgent(region);
}

function atHome(command: Command): Command {
  return command
    .requiredOption(
      "--coordinator <file>",
      "kubeconfig of home, where the coordinator reads profiles",
    )
    .option("--namespace <name>", "of ClusterProfiles and their Secrets", regionNamespace);
}

function addJoin(region: Command): void {
  region
    .command("join")
    .description(
      "make a cluster a region: an account with named rights there, its profile and credential at home",
    )
    .option(
      "--kubeconfig <file>",
      "of the region, as an administrator; absent: what kubectl would read",
    )
    .option("--coordinator <file>", "kubeconfig of home")
    .option("--namespace <name>", "of ClusterProfiles and their Secrets", regionNamespace)
    .option("--name <name>", "of the region: a DNS label", regionName)
    .option(
      "--labels <list>",
      "of its profile, for selectors: key=value, comma separated",
      labelList,
    )
    .option("--cost <number>", "what a replica costs there, for weights: Cost")
    .option(
      "--kinds <list>",
      "what may be placed there, as deployments.apps, comma separated",
      nameList,
      [...defaultKinds],
    )
    .option(
      "--agent",
      "`pilothouse region agent` runs there: it makes the summary and holds the fence",
    )
    .option(
      "--services",
      "it takes part in global services: ServiceExport and ServiceImport are defined there, if they are not",
    )
    .option(
      "--reads [list]",
      "what users at home may read there as themselves, through the coordinator: as --kinds; without a list pods, their logs, events and workloads",
      nameList,
    )
    .option(
      "--server <url>",
      "how the coordinator reaches the region; absent: as the kubeconfig does",
    )
    .option(
      "--pull <url>",
      "the region's agent dials the coordinator, at this address of its secure port; nothing needs to reach the region",
    )
    .option("--pull-ca <file>", "with --pull: who signed the coordinator's certificate, PEM")
    .option(
      "--pull-file <file>",
      "with --pull: what `region agent --tunnel` is to be given is written here",
    )
    .option("--show-rbac", "print what would be made in the region, and change nothing")
    .addHelpText(
      "after",
      `
Examples:
  pilothouse region join --show-rbac                            the rights, before anything is changed
  pilothouse region join --kubeconfig eu.conf --coordinator home.conf --name eu --labels continent=europe`,
    )
    .action(async (flags: JoinFlags) => (await import("./run.ts")).join(flags));
}

function addOrder(region: Command, word: "drain" | "lost", text: string): void {
  atHome(region.command(`${word} <name>`))
    .description(text)
    .option("--undo", "take the word back")
    .action(async (name: string, flags: HomeFlags & { readonly undo?: boolean }) => {
      const { order } = await import("./run.ts");
      await order(name, flags.undo === true ? undefined : word, flags);
    });
}

function addAgent(region: Command): void {
  const command = region
    .command("agent")
    .description(
      "run in a region: its summary is made there, and fenced workloads stop when the coordinator is away",
    );
  // The account of `region join --agent` has rights in this namespace.
  const where = { lease: "pilothouse-region-agent", leaseNamespace: regionNamespace };
  command.option(
    "--tunnel <file>",
    "dial the coordinator, as `region join --pull` wrote it to this file",
  );
  addRoleFlags(command, { ...where, port: 10_268 });
  command.action(async (flags: AgentFlags) => (await import("./agent.ts")).agentRole(flags));
}

function regionName(text: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError("a DNS label: lower case letters, digits and dashes, at most 63.");
}

function labelList(text: string): Readonly<Record<string, string>> {
  const pairs = nameList(text).map((pair) => pair.split("="));
  if (pairs.some((pair) => pair.length !== 2 || pair[0] === "")) {
    throw new InvalidArgumentError("key=value, comma separated.");
  }
  return Object.fromEntries(pairs.map(([key = "", value = ""]) => [key, value]));
}
