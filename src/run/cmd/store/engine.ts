/** Which engine keeps the log of `pilothouse store`, and where. */
import { EtcdEndpoints } from "#etcd/endpoints.ts";
import { stripesMax } from "#store/engines/etcd/stripe-table.ts";
import { checkEtcdUrl, etcdIdentityOf, type EtcdTlsFlags } from "../shared/etcd-cluster.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface EngineFlags extends EtcdTlsFlags {
  readonly engine: "local" | "etcd";
  /** One list of URLs for each cluster. */
  readonly etcdServers: readonly (readonly string[])[];
  readonly etcdPrefix: string;
  readonly replicaUrl?: string;
  readonly prefer?: boolean;
  readonly checkpoints?: string;
  readonly replicaCert?: string;
  readonly replicaKey?: string;
  /** Milliseconds; 0: others compact. */
  readonly etcdCompactionInterval: number;
}

/** Throws UsageError for flags of the other engine. */
export function checkEngine(flags: EngineFlags & { readonly memory?: boolean }): void {
  const { engine, etcdServers, memory } = flags;
  if (engine === "etcd" && etcdServers.length === 0) {
    throw new UsageError(
      "--engine etcd keeps the log in an etcd cluster: name it with --etcd-servers",
    );
  }
  if (engine === "etcd" && memory === true) {
    throw new UsageError("--memory keeps no log: leave it out with --engine etcd");
  }
  if ((flags.replicaCert === undefined) !== (flags.replicaKey === undefined)) {
    throw new UsageError("--replica-cert and --replica-key go together");
  }
  const { replicaUrl, checkpoints, prefer } = flags;
  const named = replicaUrl ?? checkpoints ?? etcdServers[0]?.[0];
  if (engine === "local" && (named !== undefined || prefer === true)) {
    throw new UsageError(
      "--etcd-servers, --replica-url, --checkpoints and --prefer go with --engine etcd",
    );
  }
}

/** One for each cluster. Nothing is connected yet. Throws UsageError. */
export async function logEndpoints(flags: EngineFlags): Promise<readonly EtcdEndpoints[]> {
  const urls = flags.etcdServers.flat();
  for (const url of urls) await checkEtcdUrl(url);
  const twice = urls.find((url, at) => urls.indexOf(url) !== at);
  if (twice !== undefined) throw new UsageError(`--etcd-servers names ${twice} twice`);
  if (flags.etcdServers.length > stripesMax) {
    throw new UsageError(
      `--etcd-servers is given ${flags.etcdServers.length} times: a log has at most ${stripesMax} stripes`,
    );
  }
  if (!/^\/[!-~]*[!-.0-~]\/$/.test(flags.etcdPrefix)) {
    throw new UsageError(
      `--etcd-prefix ${flags.etcdPrefix} must begin and end with a slash, as /pilothouse/`,
    );
  }
  const identity = etcdIdentityOf(flags);
  return flags.etcdServers.map((cluster) => new EtcdEndpoints(cluster, identity));
}
