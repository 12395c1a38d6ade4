/** The engine contract on a real etcd, and the limits of a real etcd as the engine meets them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { CheckpointDirectory } from "#cmd/store/checkpoint-directory.ts";
import { EtcdLogCluster } from "#etcd/log-cluster.ts";
import { EtcdEndpoints } from "#etcd/endpoints.ts";
import type { ChunkStore } from "#store/engines/etcd/chunk-store.ts";
import type { LogCluster } from "#store/engines/etcd/cluster.ts";
import { EtcdEngine } from "#store/engines/etcd/engine.ts";
import { engineSuite, testBatch, upTo } from "#store/testing/engine-suite.ts";
import { EtcdCluster } from "./etcd-cluster.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";

const program = findPeer("etcd");
const skip = program === undefined ? noPeer("etcd") : false;
const nowhere = { checkpoint: () => undefined, records: () => undefined };
const deps = { clock: new NodeClock(), random: new NodeRandom(), log: silentLog };

void describe("the engine on a real etcd", { skip, timeout: 120_000 }, () => {
  const directory = temporaryDirectory("engine-etcd");
  let etcd: EtcdCluster;
  let endpoints: EtcdEndpoints;
  let real: EtcdLogCluster;
  let logs = 0;

  before(async () => {
    const small = ["--max-request-bytes=100000", "--quota-backend-bytes=16777216"];
    etcd = await EtcdCluster.start(program ?? "", join(directory, "etcd"), 1, small);
    endpoints = new EtcdEndpoints(etcd.urls, {});
    real = new EtcdLogCluster({ ...deps, endpoints });
  });
  after(async () => {
    endpoints.close();
    await etcd.close();
    removeDirectory(directory);
  });

  // The suite is declared before the cluster runs.
  const cluster: LogCluster = {
    read: (ranges) => real.read(ranges),
    change: (change) => real.change(change),
    watch: (prefix, sink) => real.watch(prefix, sink),
  };

  function engineOn(log: number, partBytes: number, chunks?: ChunkStore): EtcdEngine {
    const prefix = `/log-${log}/`;
    const limits = { partBytes, segmentBytes: 8192, checkpointLogBytes: 16_384, lookMs: 0 };
    return new EtcdEngine(
      { ...deps, cluster, chunks },
      {
        prefix,
        name: "",
        ...limits,
        pace: { appendsMax: 4, besideMs: 5, gatherMs: 2 },
        giveUpMs: 10_000,
      },
    );
  }

  engineSuite("etcd, a real one", () => {
    const log = ++logs;
    return { engine: () => engineOn(log, 16_384), secondOpen: "takes over" };
  });

  engineSuite("etcd, a real one, with checkpoints in a directory", () => {
    const log = ++logs;
    const chunks = new CheckpointDirectory(join(directory, `chunks-${log}`));
    return { engine: () => engineOn(log, 16_384, chunks), secondOpen: "takes over" };
  });

  test("a batch above --max-request-bytes goes in parts, and is whole afterwards", async () => {
    const log = ++logs;
    const engine = engineOn(log, 2 ** 20);
    const { epoch } = await engine.open(nowhere, "next");
    await engine.append(testBatch(epoch, upTo(5000)));
    await engine.close();
    let records = 0;
    const replay = { ...nowhere, records: (bytes: Uint8Array) => void (records += bytes.length) };
    await engineOn(log, 2 ** 20).open(replay, "next");
    assert.equal(records, testBatch(epoch, upTo(5000)).bytes);
  });

  test("a prefix in which another program keeps data is refused", async () => {
    await endpoints.client().put({ key: "/theirs/a", value: Buffer.from("1") });
    const limits = { partBytes: 9000, segmentBytes: 9000, checkpointLogBytes: 0, lookMs: 0 };
    const options = {
      prefix: "/theirs/",
      name: "",
      ...limits,
      pace: { appendsMax: 4, besideMs: 5, gatherMs: 2 },
      giveUpMs: 10_000,
    };
    const engine = new EtcdEngine({ ...deps, cluster }, options);
    await assert.rejects(engine.open(nowhere, "next"), /\/theirs\/a is there, but/);
  });

  test("an etcd whose quota is used up is named, and says what to do", async () => {
    const engine = engineOn(++logs, 2 ** 20);
    const { epoch } = await engine.open(nowhere, "next");
    const fill = async (): Promise<void> => {
      for (let batch = 0; batch < 200; batch++) {
        const from = 2 + batch * 2000;
        await engine.append(
          testBatch(
            epoch,
            upTo(2000).map((revision) => revision + from),
          ),
        );
      }
    };
    await assert.rejects(fill(), /no space left \(etcdserver: mvcc: database space exceeded\)/);
  });

  test("a member that does not answer leaves the outcome open after the deadline", async () => {
    const [pid = 0] = etcd.pids;
    const range = { start: "/a", end: "/b", limit: 1 };
    process.kill(pid, "SIGSTOP");
    let silent = await real.read([range]);
    // Threads stop one by one: the last of them may still answer.
    for (let more = 0; more < 20 && silent.kind === "read"; more++) {
      await sleep(50);
      silent = await real.read([range]);
    }
    process.kill(pid, "SIGCONT");
    assert.equal(silent.kind, "uncertain");
    assert.equal((await real.read([range])).kind, "read");
  });
});
