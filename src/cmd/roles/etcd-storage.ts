/** `--etcd-servers`: the API server's storage on an etcd cluster, in kube-apiserver's keys and encoding. */
import { builtinResources } from "#api/schema/resources.ts";
import type { EtcdIdentity } from "#etcd/client.ts";
import { EtcdEndpoints } from "#stocketcd/endpoints.ts";
import { KeyLayout } from "#stocketcd/layout.ts";
import { openStockStore } from "#stocketcd/store.ts";
import type { OpenedStore } from "#store/full-store.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Host } from "../host.ts";
import { isLoopback } from "../loopback.ts";
import { readOperatorFile } from "../operator-file.ts";
import { UsageError } from "../usage-error.ts";

export interface EtcdFlags {
  readonly etcdServers: readonly string[];
  readonly etcdPrefix: string;
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
  /** Milliseconds; 0: others compact. */
  readonly etcdCompactionInterval: number;
}

type OpenStore = (host: Host) => Promise<OpenedStore>;

/** Undefined: no etcd was named. Throws UsageError. */
export async function etcdStorage(flags: EtcdFlags): Promise<OpenStore | undefined> {
  const { etcdServers: urls } = flags;
  if (urls.length === 0) return undefined;
  const { endpoints, layout } = await clusterOf(flags);
  return async (host) => {
    try {
      const options = { ...recommendedOptions, compactPeriodMs: flags.etcdCompactionInterval };
      return await openStockStore({ ...host, endpoints, layout }, options);
    } catch (error) {
      endpoints.close();
      const text = `cannot read --etcd-servers ${urls.join(",")}: ${(error as Error).message}`;
      throw new UsageError(text, { cause: error });
    }
  };
}

/** Nothing is connected yet. Throws UsageError. */
export async function clusterOf(
  flags: Omit<EtcdFlags, "etcdCompactionInterval">,
): Promise<{ readonly endpoints: EtcdEndpoints; readonly layout: KeyLayout }> {
  const { etcdServers: urls, etcdPrefix: prefix } = flags;
  for (const url of urls) await checkUrl(url);
  if (!/^\/[^/].*$/.test(prefix))
    throw new UsageError(`--etcd-prefix ${prefix} must begin with one slash`);
  const stored = builtinResources().map((info) => info.storage ?? info);
  const endpoints = new EtcdEndpoints(urls, identityOf(flags));
  return { endpoints, layout: new KeyLayout(stored, prefix) };
}

/** @throws UsageError */
export async function checkUrl(url: string): Promise<void> {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: "", hostname: "" };
  if (protocol === "https:") return;
  if (protocol !== "http:")
    throw new UsageError(`--etcd-servers ${url} must be a URL with http or https`);
  if (await isLoopback(hostname.replace(/^\[|\]$/g, ""), "--etcd-servers")) return;
  throw new UsageError(
    `--etcd-servers ${url}: every Secret would cross a network in the clear: use https`,
  );
}

function identityOf({
  etcdCafile,
  etcdCertfile,
  etcdKeyfile,
}: Omit<EtcdFlags, "etcdCompactionInterval">): EtcdIdentity {
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined)) {
    throw new UsageError("--etcd-certfile and --etcd-keyfile go together");
  }
  return {
    ...(etcdCafile === undefined ? {} : { ca: readOperatorFile(etcdCafile) }),
    ...(etcdCertfile === undefined ? {} : { cert: readOperatorFile(etcdCertfile) }),
    ...(etcdKeyfile === undefined ? {} : { key: readOperatorFile(etcdKeyfile) }),
  };
}
