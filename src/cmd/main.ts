/**
 * The command line: one binary, a subcommand per role.
 * Exit codes: 0 success, 1 a reported error, 2 a bug; `doctor` has its own.
 */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { imagePatterns } from "#hollow/image-pull.ts";
import { unpullableDefault } from "#hollow/options.ts";
import { curvesOf } from "#platform/node/http/tls-curves.ts";
import { addApiServerFlags } from "./api-flags.ts";
import { addDoctor } from "./doctor-command.ts";
import {
  duration,
  durationOrZero,
  integer,
  logLevelOption,
  patterns,
  xdsTtl,
} from "./flag-values.ts";
import type { RelayFlags } from "./relay-flags.ts";
import { nodesMax, signingLifetimeMs } from "./limits.ts";
import { addInit } from "./init/command.ts";
import { addMigrate } from "./migrate-command.ts";
import { addRoles } from "./roles/commands.ts";
import type { StoreFlags } from "./store.ts";
import { addTypes } from "./types-command.ts";
import { UsageError } from "./usage-error.ts";
import { productVersion } from "./product.ts";
import type { UpFlags } from "./up-flags.ts";

const mirroredByDefault = "pods,nodes,namespaces,services,configmaps,endpointslices";

const program = new Command("pilothouse")
  .description("A Kubernetes control plane: one commit, encoded once, read by a crowd.")
  .version(productVersion, "-v, --version")
  .showHelpAfterError("(run with --help to see what it takes)")
  .exitOverride();

const up = program
  .command("up")
  .description(
    "start a whole control plane in this process: API server, store, scheduler, controllers, hollow nodes",
  )
  .option("--data-dir <dir>", "where everything is kept; made when missing", ".pilothouse")
  .option("--host <address>", "address to listen on", "127.0.0.1")
  .option(
    "--port <number>",
    "port to listen on; 0 takes any free one",
    integer("port", 0, 65_535),
    6443,
  )
  .option("--nodes <count>", "hollow nodes to register", integer("count", 0, nodesMax), 10)
  .addOption(
    new Option(
      "--image-pull-error <patterns>",
      'images that hollow nodes cannot pull, comma separated, * for any text; "" for none. Nothing is pulled or run: ' +
        "what a container does is read off its command line, not off a script's environment",
    )
      .argParser(patterns)
      .default(imagePatterns(unpullableDefault), `"${unpullableDefault}"`),
  )
  .option(
    "--cluster-signing-cert-file <file>",
    "authority that signs certificate requests, PEM; absent: the data directory's own",
  )
  .option("--cluster-signing-key-file <file>", "its private key, PEM")
  .option("--cluster-signing-kubelet-serving-cert-file <file>", ownSigner("kubelet-serving"))
  .option("--cluster-signing-kubelet-serving-key-file <file>", "its private key, PEM")
  .option(
    "--cluster-signing-kubelet-client-cert-file <file>",
    ownSigner("kube-apiserver-client-kubelet"),
  )
  .option("--cluster-signing-kubelet-client-key-file <file>", "its private key, PEM")
  .option(
    "--cluster-signing-kube-apiserver-client-cert-file <file>",
    ownSigner("kube-apiserver-client"),
  )
  .option("--cluster-signing-kube-apiserver-client-key-file <file>", "its private key, PEM")
  .option("--cluster-signing-legacy-unknown-cert-file <file>", ownSigner("legacy-unknown"))
  .option("--cluster-signing-legacy-unknown-key-file <file>", "its private key, PEM")
  .option(
    "--cluster-signing-duration <duration>",
    "longest lifetime of a signed certificate, as 8760h or 30m",
    duration,
    signingLifetimeMs,
  )
  .option(
    "--root-ca-file <file>",
    "authority that pods check this server by, PEM; absent: the data directory's own",
  )
  .option(
    "--relay <address:port>",
    "also serve through a relay here, for clients that come in crowds",
  )
  .option("--relay-resources <list>", "what that relay mirrors, or all", mirroredByDefault)
  .option("--xds-listen <address:port>", "where that relay serves Envoy and proxyless gRPC (xDS)");

addApiServerFlags(up);

up.addHelpText(
  "after",
  `
Examples:
  pilothouse up                              a cluster of 10 hollow nodes, data in ./.pilothouse
  pilothouse up --nodes 1000 --port 0        a thousand nodes, any free port
  pilothouse up --relay 127.0.0.1:6444       a crowd may watch there, the API server sees one watch
  export KUBECONFIG=.pilothouse/kubeconfig   then: kubectl get nodes`,
).action(async (options: UpFlags) => {
  const { up } = await import("./up.ts");
  await up(options);
});

const store = program
  .command("store")
  .description(
    "serve the etcd v3 API over a log in one directory, or in an etcd cluster; check, dump or restore one",
  )
  .option("--data-dir <dir>", "where the log is kept; made when missing", ".pilothouse-store")
  .option("--memory", "keep everything in memory, nothing on disk")
  .option(
    "--listen <host:port>",
    "address to listen on, off loopback with TLS only; port 0 takes any free one",
    "127.0.0.1:2379",
  )
  .option("--cert <file>", "serve TLS with this certificate chain, PEM")
  .option("--key <file>", "its private key, PEM")
  .option("--client-ca <file>", "demand client certificates of this authority, PEM")
  .option(
    "--allow-cn <names>",
    "with --client-ca: serve only certificates of these common names, comma separated or given again",
    names,
  )
  .option(
    "--insecure-transport",
    "serve in the clear off loopback: whoever reaches the address reads and writes every key",
  )
  .addOption(
    new Option(
      "--engine <name>",
      "what keeps the log: local, a directory; etcd, an existing etcd cluster, for any number of replicas of this store",
    )
      .choices(["local", "etcd"])
      .default("local"),
  )
  .option("--etcd-servers <urls>", "with --engine etcd: the cluster, comma separated", names, [])
  .option("--etcd-prefix <path>", "what the log's keys there begin with", "/pilothouse/")
  .option("--etcd-cafile <file>", "authorities of the cluster's certificates, PEM")
  .option("--etcd-certfile <file>", "certificate to show to it, PEM")
  .option("--etcd-keyfile <file>", "its private key, PEM")
  .option(
    "--etcd-compaction-interval <duration>",
    "with --engine etcd: between two compactions of that cluster, in turns with its other users; 0: others compact",
    durationOrZero,
    300_000,
  )
  .option(
    "--replica-cert <file>",
    "with --engine etcd: certificate to show to other replicas, PEM; absent: --cert, which must do for clients too",
  )
  .option("--replica-key <file>", "its private key, PEM")
  .option(
    "--replica-url <url>",
    "with --engine etcd: where other replicas and clients reach this one; absent: the address it listens on",
  )
  .option(
    "--checkpoints <url>",
    "with --engine etcd: where checkpoints lie for all replicas: file:///DIR that they share, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME with its keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; absent: in etcd",
  )
  .option(
    "--prefer",
    "with --engine etcd: hold the log while this replica is there; of each log one replica, on another machine, spreads several logs",
  )
  .option(
    "--quota <bytes>",
    "database quota; beyond it puts answer NOSPACE",
    integer("bytes", 1, Number.MAX_SAFE_INTEGER),
    8 * 2 ** 30,
  )
  .option(
    "--compact-every <seconds>",
    "compact on its own, keeping this much history; 0: clients compact",
    integer("seconds", 0, 1_000_000),
    0,
  )
  .option(
    "--progress-every <seconds>",
    "how often watches that ask for it are told where they stand",
    integer("seconds", 1, 1_000_000),
    600,
  )
  .addOption(logLevelOption())
  .addHelpText(
    "after",
    `
Examples:
  pilothouse store --data-dir data                        then: etcdctl put a b; etcdctl get a
  pilothouse store --data-dir data --compact-every 300    forgets what is older than five minutes
  kube-apiserver --etcd-servers http://127.0.0.1:2379 ... on it instead of etcd
  pilothouse store --listen 0.0.0.0:2379 --cert server.crt --key server.key \\
    --client-ca ca.crt --allow-cn kube-apiserver          for that client alone, from anywhere
  pilothouse store --engine etcd --etcd-servers http://127.0.0.1:2379 --listen 127.0.0.1:12379
                                                          one replica of as many as are started so, each on its address
  pilothouse store check data                             is every record whole
  etcdctl snapshot save s.db; pilothouse store restore s.db new-data`,
  )
  .action(async (options: StoreFlags) => {
    const { serveStore } = await import("./store.ts");
    await serveStore(options);
  });

store
  .command("check <dir>")
  .description("prove every record and checkpoint; say what is wrong where, and how much is safe")
  .action(async (dir: string) => (await import("./store-tools.ts")).storeCheck(dir));

store
  .command("dump <dir>")
  .description("print every key, one line of JSON each")
  .action(async (dir: string) => (await import("./store-tools.ts")).storeDump(dir));

store
  .command("stats <dir>")
  .description("print revisions, counts, and what takes the most room")
  .action(async (dir: string) => (await import("./store-tools.ts")).storeStats(dir));

store
  .command("restore <snapshot> <dir>")
  .description("make a new store of a snapshot, as `etcdctl snapshot save` takes it")
  .action(async (snapshot: string, dir: string) =>
    (await import("./store-tools.ts")).storeRestore(snapshot, dir),
  );

program
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
    "--audit-log <file>",
    "append one JSON line per request, with who answered it; opened again on SIGHUP",
  )
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
    const { relay } = await import("./relay.ts");
    await relay(options);
  });

addRoles(program);
addMigrate(program);
addInit(program);
addTypes(program);
addDoctor(program);

/** Of a flag that may be given again. */
function names(text: string, before: readonly string[] = []): readonly string[] {
  const given = text.split(",").map((name) => name.trim());
  if (given.includes("")) throw new InvalidArgumentError("a common name is empty.");
  return [...before, ...given];
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

try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
  if (error instanceof UsageError) {
    process.stderr.write(`pilothouse: ${error.message}\n`);
    return 1;
  }
  process.stderr.write(
    `pilothouse: this is a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  return 2;
}

function ownSigner(signer: string): string {
  return `authority of the signer kubernetes.io/${signer} alone, PEM; signers without one then sign nothing`;
}
