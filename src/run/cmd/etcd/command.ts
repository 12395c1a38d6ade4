/** `pilothouse etcd`: the store under etcd's own flags, for those who start etcd by them (envtest, k3s, kubeadm). */
import { type Command, InvalidArgumentError, Option } from "commander";
import { boolean, duration, integer, milliseconds, nameList } from "../shared/flag-values.ts";
import { etcdFlags } from "../shared/stock-flags/etcd.ts";
import { addStockFlags } from "../shared/stock-flags/stock-flag.ts";
import type { ListenUrl, StoreFlags } from "../store/run.ts";
import { UsageError } from "../shared/usage-error.ts";

/** As etcd's flags say it. */
interface EtcdFlags {
  readonly name: string;
  readonly dataDir?: string;
  readonly listenClientUrls: readonly ListenUrl[];
  readonly listenMetricsUrls: readonly ListenUrl[];
  readonly advertiseClientUrls?: readonly string[];
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly clientCertAuth: boolean;
  readonly trustedCaFile?: string;
  readonly allowCn?: readonly string[];
  readonly quotaBackendBytes: number;
  readonly autoCompactionMode: "periodic" | "revision";
  readonly autoCompactionRetention: string;
  readonly maxRequestBytes?: number;
  readonly maxTxnOps?: number;
  readonly watchProgressNotifyInterval: number;
  readonly experimentalWatchProgressNotifyInterval?: number;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "panic" | "fatal";
  readonly insecureTransport?: boolean;
}

/** etcd's: 0 stands for it. */
const quotaDefaultBytes = 2 * 2 ** 30;

const clientUrlDefault = "http://localhost:2379";

export function addEtcd(program: Command): void {
  const command = program
    .command("etcd")
    .description(
      "serve the etcd v3 API as one member, by etcd's own flags: `pilothouse store` for those who start etcd",
    )
    .option("--name <name>", "name of this member", "default")
    .option("--data-dir <dir>", "where the log is kept (default: NAME.etcd)")
    .addOption(
      new Option("--listen-client-urls <urls>", "where clients are served, comma separated")
        .argParser(urls)
        .default(urls(clientUrlDefault), clientUrlDefault),
    )
    .option(
      "--listen-metrics-urls <urls>",
      "where /metrics and /health are served besides, comma separated",
      urls,
      [],
    )
    .option(
      "--advertise-client-urls <urls>",
      "what clients are told; absent: where this listens",
      nameList,
    )
    .option("--initial-cluster <members>", "NAME=URL of this member alone", oneMember)
    .option("--cert-file <file>", "certificate chain to show, PEM")
    .option("--key-file <file>", "its private key, PEM")
    .option(
      "--client-cert-auth [boolean]",
      "demand client certificates of --trusted-ca-file",
      boolean,
      false,
    )
    .option("--trusted-ca-file <file>", "authority of clients' certificates, PEM")
    .option(
      "--allow-cn <names>",
      "serve only certificates of these common names; not a flag of etcd's",
      nameList,
    );
  addLimitFlags(command);
  addStockFlags(command, etcdFlags);
  command.action(async (flags: EtcdFlags & { readonly version?: boolean }) => {
    if (flags.version === true) return printVersion();
    const { serveStore } = await import("../store/run.ts");
    await serveStore(storeFlags(flags));
  });
}

function addLimitFlags(command: Command): void {
  command
    .option(
      "--quota-backend-bytes <bytes>",
      "database quota; 0: 2 GiB",
      integer("bytes", 0, Number.MAX_SAFE_INTEGER),
      0,
    )
    .option(
      "--auto-compaction-mode <mode>",
      "what --auto-compaction-retention counts: periodic or revision",
      compactionMode,
      "periodic",
    )
    .option(
      "--auto-compaction-retention <amount>",
      "history kept: a duration, hours without a unit, or revisions; 0: clients compact",
      "0",
    )
    .option(
      "--max-request-bytes <bytes>",
      "size of a request (default: 1.5 MiB)",
      integer("bytes", 1, 2 ** 30),
    )
    .option(
      "--max-txn-ops <count>",
      "operations of a transaction (default: 128)",
      integer("count", 1, 1_000_000),
    )
    .option(
      "--watch-progress-notify-interval <duration>",
      "how often watches that ask for it are told where they stand",
      duration,
      600_000,
    )
    .option("--experimental-watch-progress-notify-interval <duration>", "its older name", duration)
    .option("--log-level <level>", "debug, info, warn, error, panic or fatal", logLevel, "info")
    .option("--version", "print the version and exit")
    .option(
      "--insecure-transport",
      "serve in the clear off loopback: whoever reaches the address reads and writes every key; not a flag of etcd's",
    );
}

async function printVersion(): Promise<void> {
  const { etcdVersion } = await import("#etcd/maintenance.ts");
  process.stdout.write(`etcd Version: ${etcdVersion}\n`);
}

/** What `pilothouse store` would have been told. @throws UsageError */
function storeFlags(flags: EtcdFlags): StoreFlags {
  const [first, ...others] = flags.listenClientUrls;
  if (first === undefined) throw new UsageError("--listen-client-urls names no address");
  const progress =
    flags.experimentalWatchProgressNotifyInterval ?? flags.watchProgressNotifyInterval;
  return {
    ...localStore,
    ...securityOf(flags),
    ...limitsOf(flags),
    ...compactionOf(flags),
    dataDir: flags.dataDir ?? `${flags.name}.etcd`,
    name: flags.name,
    listen: first.address,
    alsoListen: others.map(({ address }) => address),
    metricsListen: flags.listenMetricsUrls,
    ...(flags.advertiseClientUrls && { advertise: flags.advertiseClientUrls }),
    progressEvery: wholeSeconds(progress),
    logLevel: flags.logLevel === "panic" || flags.logLevel === "fatal" ? "error" : flags.logLevel,
  };
}

const localStore = {
  engine: "local",
  etcdServers: [],
  etcdPrefix: "/pilothouse/",
  etcdCompactionInterval: 0,
} as const;

/** An https address needs a pair; http takes none, as etcd says it. @throws UsageError */
function securityOf(flags: EtcdFlags): Partial<StoreFlags> {
  const tls = flags.listenClientUrls.filter(({ isTls }) => isTls).length;
  if (tls !== 0 && tls !== flags.listenClientUrls.length)
    throw new UsageError("--listen-client-urls are either all https or all http");
  if (tls === 0 && flags.listenMetricsUrls.some(({ isTls }) => isTls))
    throw new UsageError("--listen-metrics-urls of https need --listen-client-urls of https");
  const { certFile: cert, keyFile: key, trustedCaFile } = flags;
  const open = { ...(flags.insecureTransport === true && { insecureTransport: true }) };
  if (tls === 0) return open;
  if (cert === undefined || key === undefined)
    throw new UsageError(
      "an https address of --listen-client-urls needs --cert-file and --key-file",
    );
  if (flags.clientCertAuth && trustedCaFile === undefined)
    throw new UsageError("--client-cert-auth needs --trusted-ca-file");
  return {
    cert,
    key,
    ...(flags.clientCertAuth && trustedCaFile !== undefined && { clientCa: trustedCaFile }),
    ...(flags.allowCn && { allowCn: flags.allowCn }),
  };
}

function limitsOf(flags: EtcdFlags): Pick<StoreFlags, "quota"> & Partial<StoreFlags> {
  return {
    quota: flags.quotaBackendBytes === 0 ? quotaDefaultBytes : flags.quotaBackendBytes,
    ...(flags.maxRequestBytes !== undefined && { requestBytesMax: flags.maxRequestBytes }),
    ...(flags.maxTxnOps !== undefined && { txnOpsMax: flags.maxTxnOps }),
  };
}

/** Hours where a period has no unit, as etcd reads it. @throws UsageError */
function compactionOf({
  autoCompactionMode: mode,
  autoCompactionRetention: amount,
}: EtcdFlags): Pick<StoreFlags, "compactEvery" | "keepRevisions"> {
  if (/^0[hms]?$/.test(amount)) return { compactEvery: 0 };
  const isCount = /^[1-9]\d{0,11}$/.test(amount);
  if (mode === "revision" && isCount) return { compactEvery: 0, keepRevisions: Number(amount) };
  const ms = isCount ? Number(amount) * 3_600_000 : milliseconds(amount);
  if (mode === "periodic" && ms !== undefined) return { compactEvery: wholeSeconds(ms) };
  const form = mode === "periodic" ? "a duration, as 1h or 30m" : "a number of revisions";
  throw new UsageError(`--auto-compaction-retention ${amount}: in mode ${mode} it is ${form}`);
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.round(ms / 1_000));
}

/** @throws InvalidArgumentError for what is no http or https address. */
function urls(text: string): readonly ListenUrl[] {
  return nameList(text).map((one) => {
    const url = URL.parse(one);
    const isTls = url?.protocol === "https:";
    if (url === null || (!isTls && url.protocol !== "http:") || !/:\d+\/?$/.test(one))
      throw new InvalidArgumentError(`${one} is no address such as http://127.0.0.1:2379.`);
    const host = url.hostname === "localhost" ? "127.0.0.1" : url.hostname;
    const port = /:(\d+)\/?$/.exec(one)?.[1] ?? "";
    return { isTls, address: `${host}:${port}` };
  });
}

function oneMember(text: string): string {
  if (nameList(text).length === 1) return text;
  throw new InvalidArgumentError(
    "one member alone is served; replicas are pilothouse store --engine etcd (docs/roles.md).",
  );
}

function compactionMode(text: string): string {
  if (text === "periodic" || text === "revision") return text;
  throw new InvalidArgumentError("periodic or revision.");
}

function logLevel(text: string): string {
  if (["debug", "info", "warn", "error", "panic", "fatal"].includes(text)) return text;
  throw new InvalidArgumentError("debug, info, warn, error, panic or fatal.");
}
