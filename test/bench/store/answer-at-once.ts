/**
 * What a client of the etcd API can reach at most: our gRPC server, which answers each put at once
 * with the same bytes and stores nothing. `node answer-at-once.ts PORT`.
 */
import { Alarms } from "../../../src/commit/etcd/alarms.ts";
import type { Method } from "../../../src/commit/etcd/call.ts";
import { listenEtcd, recommendedServerLimits } from "../../../src/commit/etcd/server.ts";
import { recommendedEtcdLimits, etcdMethods } from "../../../src/commit/etcd/services.ts";
import { etcdHttpFrontend } from "../../../src/commit/etcd/http-frontend.ts";
import { silentLog } from "../../../src/core/platform/log.ts";
import { NodeClock } from "../../../src/core/platform/node/clock.ts";
import { NodeDisk } from "../../../src/core/platform/node/disk.ts";
import { readProcessFigures } from "../../../src/core/platform/node/process-figures.ts";
import { NodeRandom } from "../../../src/core/platform/node/random.ts";
import { openStore } from "../../../src/commit/store/open.ts";
import { recommendedOptions } from "../../../src/commit/store/options.ts";
import * as m from "../../../src/core/wire/etcd-messages.ts";
import { framed, prefixBytes } from "../../../src/core/wire/grpc.ts";

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
