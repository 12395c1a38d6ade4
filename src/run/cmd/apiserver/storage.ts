/** `--etcd-servers`: the API server's storage in etcd clusters, with kube-apiserver's keys and encoding. */
import { given } from "#base/given.ts";
import type { GroupResource } from "#api/object.ts";
import type { EtcdEndpoints } from "#etcd/endpoints.ts";
import { checkPlacement } from "#stocketcd/placement-record.ts";
import { placementOf, type PlacedCluster } from "#stocketcd/placement.ts";
import { openStockStore } from "#stocketcd/store.ts";
import type { AtRest } from "#store/at-rest.ts";
import type { OpenedStore } from "#store/full-store.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Host } from "../shared/host.ts";
import type { StoreOptions } from "../plane/stores.ts";
import { clusterOf, type EtcdFlags, storedResources } from "../shared/etcd-cluster.ts";
import { UsageError } from "../shared/usage-error.ts";

type OpenStore = (host: Host, atRest?: AtRest) => Promise<OpenedStore>;

/** Returns no options when no etcd server is named. Throws UsageError. */
export async function etcdStorage(flags: EtcdFlags): Promise<StoreOptions> {
  const { etcdServers, etcdServersOverrides: overrides = [] } = flags;
  if (etcdServers.length === 0) {
    if (overrides.length === 0) return {};
    throw new UsageError("--etcd-servers-overrides go with --etcd-servers, which has the rest");
  }
  const placed = placement(overrides);
  const isElsewhere = (resource: GroupResource): boolean =>
    placed.some(({ holds }) => holds(resource));
  const rest = { servers: etcdServers, holds: (one: GroupResource) => !isElsewhere(one) };
  const main = await opening(flags, rest, "--etcd-servers");
  const others = await Promise.all(
    placed.map((cluster) => opening(flags, cluster, "--etcd-servers-overrides")),
  );
  return {
    async openStore(host, atRest) {
      await main.ask(() => refuseMoved(main, others, flags));
      return main.open(host, atRest);
    },
    elsewhere: others,
  };
}

interface Opening extends PlacedCluster {
  readonly endpoints: EtcdEndpoints;
  readonly root: string;
  readonly open: OpenStore;
  /** Runs the call and names the flag in its errors. Rejects with UsageError. */
  readonly ask: <T>(call: () => Promise<T>) => Promise<T>;
}

/** Prepares the storage in a cluster without a connection. Throws UsageError. */
async function opening(flags: EtcdFlags, cluster: PlacedCluster, flag: string): Promise<Opening> {
  const { servers, holds } = cluster;
  const { endpoints, layout } = await clusterOf({ ...flags, etcdServers: servers }, holds, flag);
  const ask = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      endpoints.close();
      if (error instanceof UsageError) throw error;
      const text = `cannot read ${flag} ${servers.join(",")}: ${(error as Error).message}`;
      throw new UsageError(text, { cause: error });
    }
  };
  const options = { ...recommendedOptions, compactPeriodMs: flags.etcdCompactionInterval };
  const open: OpenStore = (host, atRest) => {
    const sealed = given({ atRest });
    return ask(() => openStockStore({ ...host, endpoints, layout, ...sealed }, options));
  };
  return { ...cluster, endpoints, root: layout.root, open, ask };
}

/** Rejects with UsageError when the flags place a resource in another cluster than the one that stored it. */
async function refuseMoved(
  { endpoints, root }: Opening,
  others: readonly Opening[],
  { acceptEtcdPlacement = false }: EtcdFlags,
): Promise<void> {
  const placed = new Map<string, string>();
  for (const other of others) {
    const id = await other.ask(() => clusterId(other));
    for (const resource of storedResources().filter(other.holds))
      placed.set(`${resource.group}/${resource.resource}`, id);
  }
  const moved = await checkPlacement(endpoints.client(), root, placed, acceptEtcdPlacement);
  if (moved.length === 0) return;
  const where = (id: string | undefined): string =>
    id === undefined ? "with the rest" : `in etcd cluster ${id}`;
  const lines = moved.map(
    ({ name, was, now }) => `  ${name} was ${where(was)}, would be ${where(now)}`,
  );
  throw new UsageError(
    `--etcd-servers-overrides: resources would be looked for elsewhere than where they are:\n${lines.join("\n")}\nMove them (pilothouse migrate --resources), then start once with --accept-etcd-placement`,
  );
}

/** Returns the cluster's ID in hexadecimal, as etcdctl prints it. */
async function clusterId({ endpoints }: Opening): Promise<string> {
  const { header } = await endpoints.client().status();
  return (header?.clusterId ?? 0n).toString(16);
}

/** Throws UsageError. */
function placement(overrides: readonly string[]): readonly PlacedCluster[] {
  try {
    return placementOf(overrides, storedResources());
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}
