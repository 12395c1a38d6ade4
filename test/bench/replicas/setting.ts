/** An etcd of three members and replicas of our store over it, for one case. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EtcdCluster } from "../../process/etcd-cluster.ts";
import { freePort } from "../../process/stock-apiserver.ts";
import { findHolder, Replica } from "../../process/store-replica.ts";

export interface CaseOptions {
  readonly etcd: string;
  readonly runs: number;
  /** Of one run. */
  readonly seconds: number;
}

export interface Setting {
  readonly etcd: EtcdCluster;
  readonly replicas: Replica[];
  readonly holder: () => Promise<Replica>;
  readonly followers: () => Promise<readonly Replica[]>;
  /** One more replica, which is ready when this resolves. */
  readonly add: () => Promise<Replica>;
}

const members = 3;
/** As our store's own limit. */
const quotaBytes = 8 * 2 ** 30;

export async function withReplicas(
  { etcd: program }: CaseOptions,
  count: number,
  run: (setting: Setting) => Promise<void>,
): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "bench-replicas-"));
  const etcd = await EtcdCluster.start(program, directory, members, [
    `--quota-backend-bytes=${quotaBytes}`,
  ]);
  const replicas: Replica[] = [];
  const add = async (): Promise<Replica> => {
    const replica = new Replica(await freePort(), etcd.urls);
    await replica.start();
    replicas.push(replica);
    return replica;
  };
  const holder = (): Promise<Replica> => findHolder(replicas);
  const followers = async (): Promise<readonly Replica[]> => {
    const held = await holder();
    return replicas.filter((one) => one !== held);
  };
  try {
    for (let i = 0; i < count; i++) await add();
    await run({ etcd, replicas, holder, followers, add });
  } finally {
    await Promise.all(replicas.map((replica) => replica.close()));
    await etcd.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

export function portOf(url: string): number {
  return Number(new URL(url).port);
}
