/** Node groups of hollow nodes in one process: their nodes, and the provider for autoscalers. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { GroupNodes } from "#hollow/node-group-nodes.ts";
import { NodeGroups } from "#hollow/node-groups.ts";
import type { HollowOptions } from "#hollow/options.ts";
import { type HollowClients, stagedHollowNodes, type StagePlan } from "./hollow-stages.ts";
import type { SupervisedHost } from "./host.ts";
import { isLoopback } from "./loopback.ts";
import { nodeGroupsOf } from "./node-group-file.ts";
import { type ListeningProvider, type ProviderTls, serveNodeGroups } from "./node-group-server.ts";
import { readOperatorFile } from "./operator-file.ts";
import type { Parts } from "./parts.ts";
import { UsageError } from "./usage-error.ts";

/** Idle time after which a connection is closed. cluster-autoscaler sends a request every 10 s. */
const silentMsMax = 120_000;

export interface NodeGroupFlags {
  readonly nodeGroupsAddress: { readonly host: string; readonly port: number };
  readonly nodeGroupsCertFile?: string;
  readonly nodeGroupsKeyFile?: string;
  readonly nodeGroupsClientCaFile?: string;
}

/** Adds the flags beside the one that names the file. */
export function addNodeGroupFlags(command: Command): void {
  command
    .addOption(
      new Option(
        "--node-groups-address <host:port>",
        "where node groups are served as cluster-autoscaler's externalgrpc provider; port 0 takes any free one",
      )
        .argParser(hostAndPort)
        .default({ host: "127.0.0.1", port: 8_086 }, "127.0.0.1:8086"),
    )
    .option(
      "--node-groups-cert-file <file>",
      "certificate of that address, PEM; absent: no TLS, on loopback alone",
    )
    .option("--node-groups-key-file <file>", "its private key, PEM")
    .option(
      "--node-groups-client-ca-file <file>",
      "authority of the clients' certificates, PEM; required with TLS",
    );
}

interface Asked {
  /** Path of the file of node groups. */
  readonly path: string;
  readonly flags: NodeGroupFlags;
  /** Defaults of nodes and pods where a group has no value. `firstIndex`: index of a group's first node. */
  readonly options: HollowOptions;
  /** Stages of the nodes and their pods. Undefined: the built-in lifecycle. */
  readonly stages: StagePlan | undefined;
}

/** Throws UsageError. */
export async function openNodeGroups(
  host: SupervisedHost,
  clients: HollowClients,
  { path, flags, options, stages }: Asked,
  parts: Parts,
): Promise<ListeningProvider> {
  const file = nodeGroupsOf(path);
  const tls = await tlsOf(flags);
  const deps = { ...host, client: clients.client };
  const hollow = stagedHollowNodes(host, clients, { ...options, count: 0 }, stages);
  const facts = { nowMs: host.clock.nowMs(), firstIndex: options.firstIndex };
  const groups = new NodeGroups(host, file, facts);
  const nodes = new GroupNodes(deps, { groups, options, roster: hollow.roster });
  const ending = new AbortController();
  const { signal } = ending;
  await nodes.begin(signal);
  const run = (): Promise<void> =>
    host.supervisor.run("hollow", signal, async () => {
      await Promise.all([hollow.run(signal), nodes.run(signal)]);
    });
  await parts.open("node-groups", () => ({ done: run() }), {
    close: async ({ done }) => {
      ending.abort();
      await done;
    },
  });
  const at = { ...flags.nodeGroupsAddress, tls, silentMsMax };
  return parts.open("node-group-provider", () => serveNodeGroups(nodes, at), {
    close: (provider) => provider.close(),
  });
}

/** @throws UsageError when other machines could reach the provider without a certificate. */
async function tlsOf(flags: NodeGroupFlags): Promise<ProviderTls | undefined> {
  const { nodeGroupsCertFile: cert, nodeGroupsKeyFile: key, nodeGroupsClientCaFile: ca } = flags;
  if (cert === undefined && key === undefined && ca === undefined) {
    const { host } = flags.nodeGroupsAddress;
    if (await isLoopback(host, "--node-groups-address")) return undefined;
    throw new UsageError(
      `--node-groups-address ${host} is not loopback: give --node-groups-cert-file, -key-file and -client-ca-file`,
    );
  }
  if (cert === undefined || key === undefined || ca === undefined) {
    throw new UsageError(
      "--node-groups-cert-file, --node-groups-key-file and --node-groups-client-ca-file are given together",
    );
  }
  const [certPem, keyPem, clientCa] = [cert, key, ca].map(readOperatorFile) as [
    string,
    string,
    string,
  ];
  return { cert: certPem, key: keyPem, clientCa };
}

function hostAndPort(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new InvalidArgumentError("an address is host:port, as 127.0.0.1:8086.");
}
