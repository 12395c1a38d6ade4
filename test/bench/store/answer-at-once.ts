/**
 * What a client of the etcd API can reach at most: our gRPC server, which answers each put at once
 * with the same bytes and stores nothing. `node answer-at-once.ts PORT`.
 */
import { Alarms } from "../../../src/etcd/alarms.ts";
import type { Method } from "../../../src/etcd/call.ts";
import { listenEtcd, recommendedServerLimits } from "../../../src/etcd/server.ts";
import { recommendedEtcdLimits, etcdMethods } from "../../../src/etcd/services.ts";
import { etcdHttpFrontend } from "../../../src/etcd/http-frontend.ts";
import { silentLog } from "../../../src/platform/log.ts";
import { NodeClock } from "../../../src/platform/node/clock.ts";
import { NodeDisk } from "../../../src/platform/node/disk.ts";
import { readProcessFigures } from "../../../src/platform/node/process-figures.ts";
import { NodeRandom } from "../../../src/platform/node/random.ts";
import { openStore } from "../../../src/store/open.ts";
import { recommendedOptions } from "../../../src/store/options.ts";
import * as m from "../../../src/wire/etcd-messages.ts";
import { framed, prefixBytes } from "../../../src/wire/grpc.ts";

const log = silentLog;
const host = { clock: new NodeClock(), random: new NodeRandom(), disk: new NodeDisk(), log };
const store = await openStore(host, { ...recommendedOptions, engine: "memory" });
const quotaBytes = 2 ** 30;
const deps = { ...host, store, alarms: new Alarms(log) };
const real = etcdMethods(deps, {
  ...recommendedEtcdLimits,
  clusterId: 1n,
  memberId: 1n,
  name: "floor",
  clientUrls: () => [],
  quotaBytes,
});
const header = { clusterId: 1n, memberId: 1n, revision: 2, raftTerm: 2n };
const put: Method = {
  kind: "unary",
  answer: () => framed(m.putResponse.encode({ header }, prefixBytes)),
};
const methods = new Map([...real, ["/etcdserverpb.KV/Put", put]]);
await listenEtcd(
  {
    ...host,
    methods,
    http: etcdHttpFrontend({ ...deps, figures: readProcessFigures }, quotaBytes),
  },
  { host: "127.0.0.1", port: Number(process.argv[2]), limits: recommendedServerLimits },
);
