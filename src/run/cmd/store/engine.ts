/** The engine of the log of `pilothouse store`, and its place. */
import { must } from "#base/assert.ts";
import { EtcdEndpoints } from "#etcd/endpoints.ts";
import { EtcdLogCluster } from "#etcd/log-cluster.ts";
import type { Clock } from "#platform/clock.ts";
import type { LogCluster } from "#store/engines/etcd/cluster.ts";
import { stripesMax } from "#store/engines/etcd/stripe-table.ts";
import { checkEtcdUrl, etcdIdentityOf, type EtcdTlsFlags } from "../shared/etcd-cluster.ts";
import type { Parts } from "../shared/parts.ts";
import type { PostgresFlags } from "./postgres.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface EngineFlags extends EtcdTlsFlags, PostgresFlags {
  readonly engine: "local" | "etcd" | "postgres";
  /** Lists of URLs, one for each cluster. */
  readonly etcdServers: readonly (readonly string[])[];
  readonly etcdPrefix: string;
  readonly replicaUrl?: string;
  readonly prefer?: boolean;
  readonly checkpoints?: string;
  readonly replicaCert?: string;
  readonly replicaKey?: string;
  /** Period of compactions in etcd, in milliseconds. 0: other programs compact. */
  readonly etcdCompactionInterval: number;
}

/** Throws UsageError for flags of the other engine. */
export function checkEngine(flags: EngineFlags & { readonly memory?: boolean }): void {
  const { engine, etcdServers, postgresUrl = [], memory } = flags;
  if (engine === "etcd" && etcdServers.length === 0) {
    throw new UsageError(
      "--engine etcd keeps the log in an etcd cluster: name it with --etcd-servers",
    );
  }
  if (engine === "postgres" && postgresUrl.length === 0) {
    throw new UsageError(
      "--engine postgres keeps the log in a PostgreSQL database: name it with --postgres-url",
    );
  }
  if (engine !== "local" && memory === true) {
    throw new UsageError(`--memory keeps no log: leave it out with --engine ${engine}`);
  }
  if (engine !== "postgres" && postgresUrl.length > 0) {
    throw new UsageError("--postgres-url goes with --engine postgres");
  }
  if (engine === "postgres" && etcdServers.length > 0) {
    throw new UsageError("--etcd-servers goes with --engine etcd");
  }
  if ((flags.replicaCert === undefined) !== (flags.replicaKey === undefined)) {
    throw new UsageError("--replica-cert and --replica-key go together");
  }
  const { replicaUrl, checkpoints, prefer } = flags;
  const named = replicaUrl ?? checkpoints ?? etcdServers[0]?.[0];
  if (engine === "local" && (named !== undefined || prefer === true)) {
    throw new UsageError(
      "--etcd-servers, --replica-url, --checkpoints and --prefer go with --engine etcd or postgres",
    );
  }
}

/** Returns the endpoints of each cluster without a connection. Throws UsageError. */
async function logEndpoints(flags: EngineFlags): Promise<readonly EtcdEndpoints[]> {
  const urls = flags.etcdServers.flat();
  for (const url of urls) await checkEtcdUrl(url);
  const twice = urls.find((url, at) => urls.indexOf(url) !== at);
  if (twice !== undefined) throw new UsageError(`--etcd-servers names ${twice} twice`);
  if (flags.etcdServers.length > stripesMax) {
    throw new UsageError(
      `--etcd-servers is given ${flags.etcdServers.length} times: a log has at most ${stripesMax} stripes`,
    );
  }
  const identity = etcdIdentityOf(flags);
  return flags.etcdServers.map((cluster) => new EtcdEndpoints(cluster, identity));
}

/** The place of a replicated log. */
interface LogPlace {
  readonly cluster: LogCluster;
  readonly stripes: readonly LogCluster[];
  /** Endpoints of etcd clusters, whose own history needs compaction. */
  readonly endpoints: readonly EtcdEndpoints[];
  /** Name of the place for messages, without a password. */
  readonly where: string;
}

/** Throws UsageError. */
export async function openLogPlace(
  deps: { readonly clock: Clock },
  flags: EngineFlags,
  parts: Parts,
): Promise<LogPlace> {
  checkPrefix(flags);
  if (flags.engine !== "postgres") return openEtcdPlace(deps, flags, parts);
  const { openPostgresLog } = await import("./postgres.ts");
  const { cluster, where } = await openPostgresLog(deps, flags, parts);
  return { cluster, stripes: [], endpoints: [], where };
}

/** Opens the log in etcd. The first cluster holds the log itself. With several clusters, errors name them by their URLs. */
async function openEtcdPlace(
  deps: { readonly clock: Clock },
  flags: EngineFlags,
  parts: Parts,
): Promise<LogPlace> {
  const endpoints = await parts.open("endpoints", () => logEndpoints(flags), {
    close: (opened) => opened.forEach((one) => one.close()),
  });
  const names = flags.etcdServers.map((urls) => urls.join(","));
  const [first, ...stripes] = endpoints.map((one, at) => {
    const name = endpoints.length === 1 ? undefined : `the etcd cluster ${names[at]}`;
    return new EtcdLogCluster({ ...deps, endpoints: one }, name);
  });
  const cluster = must(first, "a log has a cluster");
  return { cluster, stripes, endpoints, where: names.join(" and ") };
}

function checkPrefix({ etcdPrefix }: EngineFlags): void {
  if (/^\/[!-~]*[!-.0-~]\/$/.test(etcdPrefix)) return;
  throw new UsageError(
    `--etcd-prefix ${etcdPrefix} must begin and end with a slash, as /pilothouse/`,
  );
}
