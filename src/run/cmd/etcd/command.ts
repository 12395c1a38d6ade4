/** `pilothouse etcd`: the store with etcd's own flags, for tools that start etcd with them (envtest, k3s, kubeadm). */
import { Command, InvalidArgumentError, Option } from "commander";
import { ciphersOf } from "#platform/node/http/tls-ciphers.ts";
import { boolean, goDuration, integer, milliseconds, nameList } from "../shared/flag-values.ts";
import { cipherList } from "../shared/serving-flags.ts";
import { etcdFeatureGates, etcdFlags } from "../shared/stock-flags/etcd.ts";
import { addStockFlags } from "../shared/stock-flags/stock-flag.ts";
import type { ListenUrl, StoreFlags } from "../store/run.ts";
import { UsageError } from "../shared/usage-error.ts";

/** The values of etcd's flags, as parsed. */
interface EtcdFlags {
  readonly name: string;
  readonly dataDir?: string;
  readonly listenClientUrls: readonly ListenUrl[];
  readonly listenMetricsUrls: readonly ListenUrl[];
  readonly listenClientHttpUrls: readonly ListenUrl[];
  readonly advertiseClientUrls?: readonly string[];
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly clientCertAuth: boolean;
  readonly trustedCaFile?: string;
  readonly allowCn?: readonly string[];
  readonly tlsMinVersion?: "TLSv1.2" | "TLSv1.3";
  readonly cipherSuites: readonly string[];
  readonly configFile?: string;
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

/** etcd's default quota, which the flag value 0 stands for. */
const quotaDefaultBytes = 2 * 2 ** 30;

const clientUrlDefault = "http://localhost:2379";

export function addEtcd(program: Command): void {
  const command = program.command("etcd");
  command.hook("preAction", () => readEnvironment(command));
  declare(command);
}

function declare(command: Command): Command {
  command
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
      "--listen-client-http-urls <urls>",
      "the same again: where /health, /version and /metrics are served without gRPC, comma separated",
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
    )
    .option("--tls-min-version <version>", "oldest TLS spoken: TLS1.2 or TLS1.3", tlsVersion)
    .option(
      "--cipher-suites <names>",
      "suites of TLS 1.2 by their IANA names, comma separated; those of TLS 1.3 are always there; absent: the strong ones",
      cipherList,
      [],
    )
    .option(
      "--feature-gates <list>",
      "taken by their names; none changes what clients see here",
      etcdFeatureGates,
    )
    .option(
      "--config-file <file>",
      "these flags as YAML; the command line and the environment do not count beside it",
    );
  addLimitFlags(command);
  addStockFlags(command, etcdFlags);
  return command.action(serve);
}

async function serve(flags: EtcdFlags & { readonly version?: boolean }): Promise<void> {
  if (flags.version === true) return printVersion();
  if (flags.configFile !== undefined) return serveConfigFile(flags.configFile);
  const { serveStore } = await import("../store/run.ts");
  await serveStore(storeFlags(flags));
}

async function serveConfigFile(path: string): Promise<void> {
  const { configFileArguments } = await import("./config-file.ts");
  const command = new Command(`etcd --config-file ${path}`);
  await declare(command).parseAsync([...configFileArguments(path)], { from: "user" });
}

/**
 * Reads flags that the command line lacks from the environment: ETCD_LISTEN_CLIENT_URLS for --listen-client-urls. An
 * empty variable counts as unset.
 */
function readEnvironment(command: Command): void {
  for (const option of command.options) {
    const name = `ETCD_${(option.long ?? "").slice(2).toUpperCase().replaceAll("-", "_")}`;
    const text = process.env[name] ?? "";
    const isGiven = command.getOptionValueSource(option.attributeName()) === "cli";
    if (name === "ETCD_VERSION" || text === "" || isGiven) continue;
    command.setOptionValueWithSource(option.attributeName(), valueOf(option, name, text), "env");
  }
}

/** @throws UsageError */
function valueOf(option: Option, name: string, text: string): unknown {
  try {
    if (option.parseArg !== undefined) return option.parseArg(text, option.defaultValue);
    return option.isBoolean() ? boolean(text) : text;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new UsageError(`invalid value ${JSON.stringify(text)} for ${name}: ${error.message}`, {
      cause: error,
    });
  }
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
      goDuration,
      600_000,
    )
    .option(
      "--experimental-watch-progress-notify-interval <duration>",
      "its older name",
      goDuration,
    )
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

/** Translates the flags into those of `pilothouse store`. @throws UsageError */
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
    metricsListen: [...flags.listenMetricsUrls, ...flags.listenClientHttpUrls],
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

const longOf = {
  listenMetricsUrls: "--listen-metrics-urls",
  listenClientHttpUrls: "--listen-client-http-urls",
} as const;

/** Requires a certificate and a key for an https address. Like etcd, http ignores them. @throws UsageError */
function securityOf(flags: EtcdFlags): Partial<StoreFlags> {
  const tls = flags.listenClientUrls.filter(({ isTls }) => isTls).length;
  if (tls !== 0 && tls !== flags.listenClientUrls.length)
    throw new UsageError("--listen-client-urls are either all https or all http");
  for (const flag of ["listenMetricsUrls", "listenClientHttpUrls"] as const) {
    if (tls === 0 && flags[flag].some(({ isTls }) => isTls))
      throw new UsageError(`${longOf[flag]} of https need --listen-client-urls of https`);
  }
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
    ...tlsOf(flags),
  };
}

function tlsOf({ tlsMinVersion, cipherSuites }: EtcdFlags): Partial<StoreFlags> {
  const ciphers = ciphersOf(cipherSuites);
  return {
    ...(tlsMinVersion !== undefined && { tlsMinVersion }),
    ...(ciphers !== undefined && { ciphers }),
  };
}

function limitsOf(flags: EtcdFlags): Pick<StoreFlags, "quota"> & Partial<StoreFlags> {
  return {
    quota: flags.quotaBackendBytes === 0 ? quotaDefaultBytes : flags.quotaBackendBytes,
    ...(flags.maxRequestBytes !== undefined && { requestBytesMax: flags.maxRequestBytes }),
    ...(flags.maxTxnOps !== undefined && { txnOpsMax: flags.maxTxnOps }),
  };
}

/** Parses the compaction period, in hours where it has no unit, as etcd reads it. @throws UsageError */
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

/** @throws InvalidArgumentError for a text that is not an http or https address. */
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

function tlsVersion(text: string): string {
  if (text === "TLS1.2") return "TLSv1.2";
  if (text === "TLS1.3") return "TLSv1.3";
  throw new InvalidArgumentError("TLS1.2 or TLS1.3; older ones are not spoken.");
}
