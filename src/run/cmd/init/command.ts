/** The flags of `pilothouse init`. An absent flag keeps the value of an earlier run in the directory. */
import type { Command } from "commander";
import { integer, nameList } from "../shared/flag-values.ts";
import type { InitFlags } from "./settings.ts";

export function addInit(program: Command): void {
  program
    .command("init")
    .description(
      "write certificates, kubeconfigs, systemd units, a Compose file and manifests to run the roles as replicas",
    )
    .requiredOption("--out <dir>", "where everything is written; made when missing")
    .option(
      "--replicas <count>",
      "API servers, each with a scheduler and a controller manager (default: as many as --address names, else 3)",
      integer("replicas", 1, 99),
    )
    .option(
      "--address <list>",
      "where each API server listens and is reached, HOST or HOST:PORT, comma separated or given again; further replicas count up the port (default: 127.0.0.1:6443)",
      addresses,
    )
    .option(
      "--endpoint <host:port>",
      "where a load balancer before all of them is reached: in their certificates and in admin.kubeconfig",
    )
    .option(
      "--etcd-servers <urls>",
      "the etcd cluster that keeps everything, comma separated (default: http://127.0.0.1:2379)",
      nameList,
    )
    .option("--etcd-cafile <file>", "authorities of the cluster's certificates, PEM; copied")
    .option("--etcd-certfile <file>", "certificate to show to it, PEM; copied")
    .option("--etcd-keyfile <file>", "its private key, PEM; copied")
    .option(
      "--health-port <number>",
      "of the first controller manager on a host, the scheduler's is two above, the next pair's ten (default: 10257)",
      integer("port", 1, 64_000),
    )
    .addHelpText("after", help)
    .action(async (flags: InitFlags) => (await import("./run.ts")).init(flags));
}

function addresses(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(",")];
}

const help = `
Run again with the same --out it renews the certificates: authorities and the key of service account tokens stay, so
processes with old and with new certificates understand each other; restart them one after the other. Flags that are
absent then mean what they meant before. A directory with anything else in it is refused.

Examples:
  pilothouse init --out cluster                                        three replicas on this machine, an etcd beside them
  pilothouse init --out /etc/pilothouse --etcd-servers https://10.0.0.1:2379,https://10.0.0.2:2379 \\
    --etcd-cafile ca.crt --etcd-certfile client.crt --etcd-keyfile client.key \\
    --address 10.0.0.1,10.0.0.2,10.0.0.3 --endpoint api.example:6443   a host each: copy the directory to all three
  pilothouse init --out /etc/pilothouse                                renews the certificates of what is there
`;
