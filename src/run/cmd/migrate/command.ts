/** The flags of `pilothouse migrate`. */
import type { Command } from "commander";
import { nameList } from "../shared/flag-values.ts";
import type { MigrateFlags } from "./run.ts";

export function addMigrate(program: Command): void {
  program
    .command("migrate")
    .description(
      "move a cluster's objects between an etcd and a data directory, or some of them into another etcd; stop its API servers first",
    )
    .option(
      "--from-etcd <urls>",
      "cluster that kube-apiserver or `pilothouse apiserver` wrote, comma separated",
      nameList,
      [],
    )
    .option("--to-data-dir <dir>", "new data directory for `pilothouse up` or `apiserver`")
    .option("--from-data-dir <dir>", "data directory that no process holds")
    .option(
      "--to-etcd <urls>",
      "cluster without objects below the prefix, comma separated",
      nameList,
      [],
    )
    .option(
      "--resources <names>",
      "from one etcd into another: the resources that will live there, as /events or apps/*, comma separated",
      nameList,
      [],
    )
    .option(
      "--encryption-provider-config <file>",
      "how values are encrypted at rest, where they are read and where they are written",
    )
    .option("--etcd-prefix <path>", "what the cluster's keys begin with", "/registry")
    .option("--etcd-cafile <file>", "authorities of the cluster's certificates, PEM")
    .option("--etcd-certfile <file>", "certificate to show to it, PEM")
    .option("--etcd-keyfile <file>", "its private key, PEM")
    .addHelpText("after", help)
    .action(async (flags: MigrateFlags) => (await import("./run.ts")).migrate(flags));
}

const help = `
Objects keep their resourceVersions in a data directory; in an etcd they get new ones above all they had, so that no
client sees one again. An etcd that is far behind takes a write for each revision it lacks. What is there already must be
the same: a migration that was cut off is run again.

Examples:
  pilothouse migrate --from-etcd http://127.0.0.1:2379 --to-data-dir ./cluster
  pilothouse migrate --from-data-dir ./cluster --to-etcd https://etcd-0:2379,https://etcd-1:2379 --etcd-cafile ca.crt
  pilothouse migrate --from-etcd http://127.0.0.1:2379 --to-etcd http://127.0.0.1:3379 --resources /events
`;
