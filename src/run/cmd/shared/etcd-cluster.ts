/** An etcd cluster that an operator's flags name, with kube-apiserver's keys. This module opens no connection. */
import type { GroupResource } from "#api/object.ts";
import { builtinResources } from "#api/schema/resources.ts";
import type { EtcdIdentity } from "#etcd/client.ts";
import { EtcdEndpoints } from "#etcd/endpoints.ts";
import { KeyLayout } from "#stocketcd/layout.ts";
import type { PlacedCluster } from "#stocketcd/placement.ts";
import { isLoopback } from "./loopback.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

export interface EtcdTlsFlags {
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
}

export interface EtcdFlags extends EtcdTlsFlags {
  readonly etcdServers: readonly string[];
  /** Entries of `group/resource#servers`. */
  readonly etcdServersOverrides?: readonly string[];
  /** Accepts entries that differ from those of the earlier start. */
  readonly acceptEtcdPlacement?: boolean;
  readonly etcdPrefix: string;
  /** Period of compactions in milliseconds. 0: other programs compact. */
  readonly etcdCompactionInterval: number;
}

export function storedResources(): readonly GroupResource[] {
  return builtinResources().map((info) => info.storage ?? info);
}

/**
 * Prepares access without a connection. `holds`: whether the cluster holds a resource. Absent: it holds all.
 * Throws UsageError.
 */
export async function clusterOf(
  flags: Omit<EtcdFlags, "etcdCompactionInterval">,
  holds: PlacedCluster["holds"] = () => true,
  flag = "--etcd-servers",
): Promise<{ readonly endpoints: EtcdEndpoints; readonly layout: KeyLayout }> {
  const { etcdServers: urls, etcdPrefix: prefix } = flags;
  for (const url of urls) await checkEtcdUrl(url, flag);
  if (!/^\/[^/].*$/.test(prefix))
    throw new UsageError(`--etcd-prefix ${prefix} must begin with one slash`);
  const endpoints = new EtcdEndpoints(urls, etcdIdentityOf(flags));
  return { endpoints, layout: new KeyLayout(storedResources(), prefix, holds) };
}

/** Throws UsageError. */
export async function checkEtcdUrl(url: string, flag = "--etcd-servers"): Promise<void> {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: "", hostname: "" };
  if (protocol === "https:") return;
  if (protocol !== "http:") throw new UsageError(`${flag} ${url} must be a URL with http or https`);
  if (await isLoopback(hostname.replace(/^\[|\]$/g, ""), flag)) return;
  throw new UsageError(
    `${flag} ${url}: every Secret would cross a network in the clear: use https`,
  );
}

/** Throws UsageError. */
export function etcdIdentityOf({
  etcdCafile,
  etcdCertfile,
  etcdKeyfile,
}: EtcdTlsFlags): EtcdIdentity {
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined)) {
    throw new UsageError("--etcd-certfile and --etcd-keyfile go together");
  }
  return {
    ...(etcdCafile === undefined ? {} : { ca: readOperatorFile(etcdCafile) }),
    ...(etcdCertfile === undefined ? {} : { cert: readOperatorFile(etcdCertfile) }),
    ...(etcdKeyfile === undefined ? {} : { key: readOperatorFile(etcdKeyfile) }),
  };
}
