/**
 * Two API servers on three replicas of a store, whose log lies in an etcd: holders of the log, followers and API
 * servers are killed under writers and watchers, who notice nothing but a retry. PILOTHOUSE_KILLS, PILOTHOUSE_WRITERS and
 * PILOTHOUSE_WATCHERS make the crowd larger.
 */
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startEtcd, type TestServer } from "#etcd/testing/servers.ts";
import type { FakeRandom } from "#platform/testing/random.ts";
import { pause, runCrowd, Server } from "./api-crowd.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { freePort } from "./stock-apiserver.ts";
import { findHolder, Replica } from "./store-replica.ts";

const etcdProgram = findPeer("etcd");
const kills = Number(process.env["PILOTHOUSE_KILLS"] ?? 8);

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
      await runCrowd(servers, async (random) => {
        for (let kill = 0; kill < kills; kill++) {
          if (kill % 4 === 3) await killServer(random);
          else if (kill % 4 === 2) random.pick(replicas).store?.child.kill("SIGKILL");
          else (await findHolder(replicas)).store?.child.kill("SIGKILL");
          await pause(500 + random.below(500));
        }
      });
    });

    async function killServer(random: FakeRandom): Promise<void> {
      const server = random.pick(servers);
      await server.kill();
      await server.start();
    }
  },
);
