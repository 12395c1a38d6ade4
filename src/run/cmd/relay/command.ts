/** The command `pilothouse relay` and its flags. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { curvesOf } from "#platform/node/http/tls-curves.ts";
import { addAuditFlags } from "../shared/audit-flags.ts";
import { integer, logLevelOption, xdsTtl } from "../shared/flag-values.ts";
import type { RelayFlags } from "./flags.ts";

export const mirroredByDefault = "pods,nodes,namespaces,services,configmaps,endpointslices";

/** Declares every flag of the command, in the order of --help. */
export function addRelay(program: Command): void {
  const command = program
    .command("relay")
    .description(
      "stand before any Kubernetes API server: one list and one watch per resource for thousands of clients",
    )
    .option(
      "--upstream <kubeconfig|url>",
      "how to reach the API server, and as whom; absent: a Pod's own service account, or what kubectl would read",
    )
    .option("--context <name>", "the kubeconfig's context; its current one when absent")
    .option(
      "--upstream-ca <file>",
      "of a URL: PEM authorities of its certificate; absent: the host's",
    )
    .option(
      "--upstream-token-file <file>",
      "of a URL: the relay's bearer token, read anew as it changes",
    )
    .option("--upstream-cert <file>", "of a URL: the relay's client certificate, PEM")
    .option("--upstream-key <file>", "its private key, PEM")
    .option(
      "--resources <list>",
      "what to mirror, comma separated (pods, apps/v1/deployments), or all; the rest passes through",
      mirroredByDefault,
    )
    .option("--listen <address:port>", "where clients come", "127.0.0.1:6444")
    .option("--xds-listen <address:port>", "also serve Envoy and proxyless gRPC (xDS) here")
    .option(
      "--xds-ttl <duration>",
      "clients that say that they know it forget a resource that they do not hear of for so long; at least 3s; absent: they keep what they have",
      xdsTtl,
    )
    .option(
      "--cert <file>",
      "PEM certificate of the listener; absent: HTTP in the clear, on loopback only",
    )
    .option("--key <file>", "PEM key of the listener")
    .option("--client-ca <file>", "PEM authorities whose client certificates count")
    .option(
      "--tls-curve-preferences <numbers>",
      "allowed key exchanges of the listener, as kube-apiserver takes them: 4588 is X25519MLKEM768, 29 X25519; 29 alone makes an idle connection 9 KB smaller, and what is recorded today readable to a quantum computer",
      curves,
    )
    .option("--views <file>", "YAML file of named views to serve at /views/NAME; read at the start")
    .addOption(
      new Option("--reads <how>", "what a read of the most recent state gets")
        .choices(["verify", "cache"])
        .default("verify"),
    )
    .option(
      "--shrink-guard <percent>",
      "a list that takes away a larger share of a resource waits for a second one; absent: no guard",
      integer("percent", 1, 100),
    )
    .option(
      "--ready-max-age <seconds>",
      "not ready once a mirror's upstream has been away for longer; absent: the last state is good enough",
      integer("seconds", 1, 86_400),
    )
    .option(
      "--max-requests-inflight <count>",
      "seats for reads that are answered here: they are given by the upstream's FlowSchemas and PriorityLevelConfigurations; 0: no read waits for another",
      integer("count", 0, 1_000_000),
      0,
    )
    .option(
      "--drain-seconds <number>",
      "time over which clients are let go",
      integer("seconds", 0, 600),
      2,
    )
    .option(
      "--shadow <share>",
      "of the reads answered here, 0 to 1, to ask upstream too; differences are counted and logged by name",
      share,
    )
    .option(
      "--peers <urls>",
      "other relays before the same upstream, comma separated: streams are balanced",
    )
    .option("--peers-ca <file>", "PEM authorities of the peers' certificates")
    .option(
      "--sink <file>",
      "also write changes of what it mirrors into streams, as the file says: see docs/sinks.md",
    )
    .option(
      "--serving-workers <count>",
      "processes that serve clients, all fed by this one; 0: this process serves them itself",
      integer("count", 0, 64),
      0,
    )
    .addOption(logLevelOption())
    .addHelpText(
      "after",
      `
Examples:
  pilothouse relay --upstream ~/.kube/config              for clients on this machine, in the clear
  pilothouse relay --upstream ~/.kube/config --resources all --listen 0.0.0.0:6444 \\
    --cert relay.crt --key relay.key                      for everybody, who must say who they are
  pilothouse relay --upstream http://127.0.0.1:8001       behind "kubectl proxy"
  pilothouse relay --upstream https://relay-0:6444 --upstream-ca ca.crt --upstream-token-file token
                                                          behind another relay
  curl 127.0.0.1:6444/relay/readyz                        is it well; /relay/metrics says how`,
    )
    .action(async (options: RelayFlags) => {
      const { relay } = await import("./run.ts");
      await relay(options);
    });
  addAuditFlags(command);
}

function share(text: string): number {
  const value = Number(text);
  if (/^\d*\.?\d+$/.test(text) && value <= 1) return value;
  throw new InvalidArgumentError("share must be a number from 0 to 1.");
}

function curves(text: string): string {
  try {
    return curvesOf(text.split(",").map(Number));
  } catch (error) {
    throw new InvalidArgumentError(`${(error as Error).message}.`);
  }
}
