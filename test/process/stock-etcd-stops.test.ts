/**
 * Two API servers on one etcd, either of which is killed at random under writers and watchers: no acknowledged write is
 * lost, none is there twice, and a watcher that goes on at the other server misses nothing and never lists again.
 */
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import { pause, runCrowd, Server } from "./api-crowd.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { freePort } from "./stock-apiserver.ts";

const etcdProgram = findPeer("etcd");
const kills = 8;

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
      await runCrowd(servers, async (random) => {
        for (let kill = 0; kill < kills; kill++) {
          const server = servers[random.below(servers.length)];
          await server?.kill();
          await pause(random.below(500));
          await server?.start();
          await pause(500);
        }
      });
    });
  },
);
