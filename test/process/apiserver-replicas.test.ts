/**
 * Two API servers on three replicas of a store, whose log lies in an etcd: holders of the log, followers and API
 * servers are killed under writers and watchers, who notice nothing but a retry.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { compareCrowd, listed, pause, Server, Watcher, writeUntil } from "./api-crowd.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { freePort } from "./stock-apiserver.ts";
import { findHolder, Replica } from "./store-replica.ts";

const etcdProgram = findPeer("etcd");
const kills = Number(process.env["PILOTHOUSE_KILLS"] ?? 8);
const writers = 4;
const watchers = 6;

void describe(
  "API servers on replicas of a store",
  { skip: etcdProgram === undefined ? noPeer("etcd") : false, timeout: 600_000 },
  () => {
    const directory = temporaryDirectory("apiserver-replicas");
    const replicas: Replica[] = [];
    const servers: Server[] = [];
    let etcd: TestServer;

    before(async () => {
      etcd = await startEtcd(etcdProgram ?? "");
      for (let i = 0; i < 3; i++) replicas.push(new Replica(await freePort(), [etcd.url]));
      await Promise.all(replicas.map((replica) => replica.start()));
      const urls = replicas.map(({ url }) => url).join(",");
      for (const name of ["a", "b"]) {
        const server = new Server(join(directory, name), await freePort(), urls);
        await server.start();
        servers.push(server);
      }
    });
    after(async () => {
      await Promise.allSettled(servers.map((server) => server.kill()));
      await Promise.all(replicas.map((replica) => replica.close()));
      await etcd?.close();
      removeDirectory(directory);
    });

    it("lose no acknowledged write, tell each once, and cause no list", async () => {
      const random = new FakeRandom(Number(process.env["PILOTHOUSE_SEED"] ?? 1));
      const stopped = new AbortController();
      const first = await listed(servers[0]);
      const following = Array.from(
        { length: watchers },
        (_, at) => new Watcher(servers, at, first),
      );
      const watching = following.map((watcher) => watcher.run(stopped.signal));
      const writing = Array.from({ length: writers }, (_, at) => writeUntil(servers, at, stopped));
      for (let kill = 0; kill < kills; kill++) {
        if (kill % 4 === 3) await killServer(random);
        else if (kill % 4 === 2) random.pick(replicas).store?.child.kill("SIGKILL");
        else (await findHolder(replicas)).store?.child.kill("SIGKILL");
        await pause(500 + random.below(500));
      }
      stopped.abort();
      const acknowledged = (await Promise.all(writing)).flat();
      assert.ok(acknowledged.length > 100, `${acknowledged.length} writes`);
      await compareCrowd(servers, acknowledged, following);
      await Promise.all(watching);
    });

    async function killServer(random: FakeRandom): Promise<void> {
      const server = random.pick(servers);
      await server.kill();
      await server.start();
    }
  },
);
