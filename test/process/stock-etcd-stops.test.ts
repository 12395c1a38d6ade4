/**
 * Two API servers on one etcd, either of which is killed at random under writers and watchers: no acknowledged write is
 * lost, none is there twice, and a watcher that goes on at the other server misses nothing and never lists again.
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

const etcdProgram = findPeer("etcd");
const kills = 8;
const writers = 4;
const watchers = 6;

void describe(
  "API servers on one etcd, killed at random",
  { skip: etcdProgram === undefined ? noPeer("etcd") : false, timeout: 240_000 },
  () => {
    const directory = temporaryDirectory("stock-etcd-stops");
    const servers: Server[] = [];
    let etcd: TestServer;
    before(async () => {
      etcd = await startEtcd(etcdProgram ?? "");
      for (const name of ["a", "b"]) {
        const server = new Server(join(directory, name), await freePort(), etcd.url);
        await server.start();
        servers.push(server);
      }
    });
    after(async () => {
      await Promise.allSettled(servers.map((server) => server.kill()));
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
        const server = servers[random.below(servers.length)];
        await server?.kill();
        await pause(random.below(500));
        await server?.start();
        await pause(500);
      }
      stopped.abort();
      const acknowledged = (await Promise.all(writing)).flat();
      assert.ok(acknowledged.length > 100, `${acknowledged.length} writes`);
      await compareCrowd(servers, acknowledged, following);
      await Promise.all(watching);
    });
  },
);
