/** The command `pilothouse store` and its tools. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { durationOrZero, integer, logLevelOption } from "../shared/flag-values.ts";
import type { StoreFlags } from "./run.ts";

/** Declares every flag of the command, in the order of --help. */
export function addStore(program: Command): void {
  const store = program
    .command("store")
    .description(
      "serve the etcd v3 API over a log in one directory, in an etcd cluster or in PostgreSQL; check, dump or restore one",
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
        "what keeps the log: local, a directory; etcd, an existing etcd cluster, or postgres, a database: for any number of replicas of this store",
      )
        .choices(["local", "etcd", "postgres"])
        .default("local"),
    )
    .option(
      "--etcd-servers <urls>",
      "with --engine etcd: the cluster, comma separated; given again: a further cluster, and the log is spread over them in turn. The first one stays the first",
      clusters,
      [],
    )
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
      "--postgres-url <url>",
      "with --engine postgres: postgres://USER@HOST:5432/DATABASE, the password in PGPASSWORD; sslmode=verify-full, or disable on loopback; given again: a further host of that database, for when the first is no primary",
      again,
      [],
    )
    .option(
      "--postgres-schema <name>",
      "whose table log keeps the log; made when missing",
      "pilothouse",
    )
    .option(
      "--postgres-cafile <file>",
      "authorities of the database's certificate, PEM; absent: the host's",
    )
    .option(
      "--replica-cert <file>",
      "with --engine etcd or postgres: certificate to show to other replicas, PEM; absent: --cert, which must do for clients too",
    )
    .option("--replica-key <file>", "its private key, PEM")
    .option(
      "--replica-url <url>",
      "with --engine etcd or postgres: where other replicas and clients reach this one; absent: the address it listens on",
    )
    .option(
      "--checkpoints <url>",
      "with --engine etcd or postgres: where checkpoints lie for all replicas: file:///DIR that they share, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME with its keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; absent: where the log lies",
    )
    .option(
      "--prefer",
      "with --engine etcd or postgres: hold the log while this replica is there; of each log one replica, on another machine, spreads several logs",
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
  pilothouse store --engine etcd --etcd-servers http://a:2379,http://b:2379 --etcd-servers http://c:2379,http://d:2379
                                                          a log in two stripes, each an etcd cluster of its own
  PGPASSWORD=... pilothouse store --engine postgres --postgres-url postgres://pilot@db:5432/pilot --listen 127.0.0.1:12379
                                                          a replica whose log is a table of that database
  pilothouse store check data                             is every record whole
  etcdctl snapshot save s.db; pilothouse store restore s.db new-data`,
    )
    .action(async (options: StoreFlags) => {
      const { serveStore } = await import("./run.ts");
      await serveStore(options);
    });
  addTools(store);
}

function addTools(store: Command): void {
  store
    .command("check <dir>")
    .description("prove every record and checkpoint; say what is wrong where, and how much is safe")
    .action(async (dir: string) => (await import("./tools.ts")).storeCheck(dir));

  store
    .command("dump <dir>")
    .description("print every key, one line of JSON each")
    .action(async (dir: string) => (await import("./tools.ts")).storeDump(dir));

  store
    .command("stats <dir>")
    .description("print revisions, counts, and what takes the most room")
    .action(async (dir: string) => (await import("./tools.ts")).storeStats(dir));

  store
    .command("restore <snapshot> <dir>")
    .description("make a new store of a snapshot, as `etcdctl snapshot save` takes it")
    .action(async (snapshot: string, dir: string) =>
      (await import("./tools.ts")).storeRestore(snapshot, dir),
    );
}

/** Parses a flag that names one etcd cluster each time it is given. */
function clusters(
  text: string,
  before: readonly (readonly string[])[] = [],
): readonly (readonly string[])[] {
  const urls = text.split(",").map((url) => url.trim());
  if (urls.includes("")) throw new InvalidArgumentError("a URL is empty.");
  return [...before, urls];
}

/** Parses a flag with one value each time it is given. */
function again(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Parses a flag with comma-separated values that may be repeated. */
function names(text: string, before: readonly string[] = []): readonly string[] {
  const given = text.split(",").map((name) => name.trim());
  if (given.includes("")) throw new InvalidArgumentError("a common name is empty.");
  return [...before, ...given];
}
