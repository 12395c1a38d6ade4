/** Replicas in one process, each with its own server, over one log in a model cluster. */
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { readProcessFigures } from "#platform/node/process-figures.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { LogCluster } from "#store/engines/etcd/cluster.ts";
import { EtcdEngine } from "#store/engines/etcd/engine.ts";
import { ModelCluster } from "#store/engines/etcd/testing/model-cluster.ts";
import { recommendedOptions } from "#store/options.ts";
import { openReplica, type Replica } from "#store/replica.ts";
import { Alarms } from "../alarms.ts";
import { EtcdClient } from "../client.ts";
import { Handover } from "../handover.ts";
import { HolderLink } from "../holder-link.ts";
import { etcdHttpFrontend } from "../http-frontend.ts";
import { memberIdOf, ReplicaRegistry } from "../replica-registry.ts";
import { replicaMethods } from "../replica-methods.ts";
import { recommendedReplicaTimes, ReplicaRole } from "../replica-role.ts";
import { listenEtcd, recommendedServerLimits, type EtcdListening } from "../server.ts";
import { etcdMethods, recommendedEtcdLimits } from "../services.ts";
import { freePort } from "./servers.ts";

const times = { ...recommendedReplicaTimes, pollMs: 5, askMs: 20, silentMs: 200 };
const preferMs = 200;
const engineOptions = {
  prefix: "/log/",
  partBytes: 2 ** 20,
  segmentBytes: 2 ** 16,
  checkpointLogBytes: 2 ** 20,
  pace: { appendsMax: 4, besideMs: 5, gatherMs: 2 },
  giveUpMs: 2000,
  lookMs: 20,
};

/** An etcd in this process, which can be cut off from single replicas. */
export class SharedLog {
  readonly model = new ModelCluster({ requestBytesMax: 1.5 * 2 ** 20 });

  connect(cut: { isCut: boolean }): LogCluster {
    const reach = <Answer>(answer: () => Answer): Promise<Answer> =>
      new Promise((resolve) => {
        const tick = (): void => {
          if (!cut.isCut) resolve(answer());
          else setTimeout(tick, 5).unref();
        };
        setImmediate(tick);
      });
    return {
      read: (ranges) => reach(() => this.model.read(ranges)),
      change: (change) => reach(() => this.model.change(change)),
      watch: (prefix, sink) =>
        this.model.watch(prefix, {
          pushed: (keys) => void reach(() => sink.pushed(keys)),
          broke: () => sink.broke(),
        }),
    };
  }
}

export interface TestReplica {
  readonly url: string;
  readonly client: EtcdClient;
  readonly replica: Replica;
  readonly role: ReplicaRole;
  /** While cut, neither the log nor clients hear from the replica, as after SIGSTOP. */
  readonly cut: { isCut: boolean };
  /** Breaks its connections and stops it, as kill -9 would. */
  kill(): Promise<void>;
}

export async function startReplica(log: SharedLog, prefers = false): Promise<TestReplica> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const cut = { isCut: false };
  const clock = new NodeClock();
  const deps = { clock, random: new NodeRandom(), log: silentLog };
  const cluster = log.connect(cut);
  const engine = new EtcdEngine({ ...deps, cluster }, { ...engineOptions, name: url });
  const replica = await openReplica({ ...deps, engine }, recommendedOptions);
  const connect = (name: string, gone: () => void): HolderLink =>
    new HolderLink({ clock }, name, {}, gone);
  const role = new ReplicaRole({ ...deps, replica, connect }, { ...times, name: url });
  const members = new ReplicaRegistry(cluster, "/log/");
  await members.add(url);
  const handover = new Handover(
    { ...deps, replica, role, members, connect },
    { name: url, prefers, preferMs },
  );
  const listening = await listen({ ...deps, replica, role, handover }, url, port);
  role.start();
  handover.start();
  const client = new EtcdClient(url);
  const kill = async (): Promise<void> => {
    handover.stop();
    role.stop();
    cut.isCut = true;
    client.close();
    await listening.close();
  };
  return { url, client, replica, role, cut, kill };
}

function listen(
  deps: {
    readonly clock: NodeClock;
    readonly random: NodeRandom;
    readonly log: typeof silentLog;
    readonly replica: Replica;
    readonly role: ReplicaRole;
    readonly handover: Handover;
  },
  url: string,
  port: number,
): Promise<EtcdListening> {
  const { replica: store, role, handover } = deps;
  const alarms = new Alarms(silentLog);
  const ids = { clusterId: 11n, memberId: memberIdOf(url), name: "test", clientUrls: () => [] };
  const { quotaBytes } = recommendedOptions;
  const own = etcdMethods(
    { ...deps, store, alarms },
    {
      ...recommendedEtcdLimits,
      ...ids,
      quotaBytes,
      leader: () => memberIdOf(role.holder),
      moveLeader: (targetId) => handover.moveLeader(targetId),
    },
  );
  const http = etcdHttpFrontend(
    { ...deps, store, alarms, figures: readProcessFigures },
    quotaBytes,
  );
  return listenEtcd(
    { ...deps, methods: replicaMethods(own, role, handover), http },
    { host: "127.0.0.1", port, limits: recommendedServerLimits },
  );
}
