/** What replicas of a store do when the etcd cluster under them loses its quorum, is full, or comes back from a backup. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { EtcdCluster } from "./etcd-cluster.ts";
import { etcdctl, noEtcdctl } from "./etcdctl-run.ts";
import { removeDirectory, run, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { freePort } from "./stock-apiserver.ts";
import { findHolder, Replica } from "./store-replica.ts";

const etcdProgram = findPeer("etcd");
const waitMsMax = 60_000;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

void describe(
  "replicas of a store, when the cluster under them fails",
  { skip: etcdProgram === undefined ? noPeer("etcd") : false, timeout: 300_000 },
  () => {
    const directory = temporaryDirectory("store-disaster");
    const closing: (() => Promise<void>)[] = [];
    after(async () => {
      for (const close of closing.toReversed()) await close();
      removeDirectory(directory);
    });

    async function start(name: string, members: number, flags: readonly string[] = []) {
      const etcd = await EtcdCluster.start(
        etcdProgram ?? "",
        join(directory, name),
        members,
        flags,
      );
      closing.push(() => etcd.close());
      const replicas = [
        new Replica(await freePort(), etcd.urls),
        new Replica(await freePort(), etcd.urls),
      ];
      closing.push(...replicas.map((replica) => () => replica.close()));
      await Promise.all(replicas.map((replica) => replica.start()));
      await findHolder(replicas);
      return { etcd, replicas };
    }

    it("without a quorum writes get a clear error, old state is read, and both go on once it is back", async () => {
      const { etcd, replicas } = await start("quorum", 3);
      const holder = await findHolder(replicas);
      const follower = replicas.find((one) => one !== holder) as Replica;
      await putAtLast(holder.url, "a");
      await until("the follower has it", () => isThere(follower.url, "a"));
      for (const member of [0, 1]) await etcd.kill(member);
      const write = await withClient(follower.url, (client) =>
        client.put({ key: "b", value: bytes("2") }).then(
          () => "answered",
          (error: Error) => error.message,
        ),
      );
      assert.match(
        write,
        /^etcdserver: (no leader|leader changed|request timed out|server stopped)$/,
      );
      const stale = await withClient(follower.url, (client) =>
        client.range({ key: "a", serializable: true }),
      );
      assert.equal(stale.kvs.length, 1);
      await until("the holder has given up", () =>
        holder.ends.some((text) => text.includes("no certain answer")),
      );
      for (const member of [0, 1]) await etcd.restart(member);
      await putAtLast(follower.url, "c");
      await until("what was written before is there", () => isThere(follower.url, "a"));
    });

    it("a full cluster ends the holder with what to do, and nothing is lost", async () => {
      const { replicas } = await start("full", 1, [`--quota-backend-bytes=${2 ** 21}`]);
      const [first] = replicas as [Replica];
      const acknowledged: string[] = [];
      for (let i = 0; i < 100; i++) {
        const isIn = await withClient(first.url, (client) =>
          client.put({ key: `k${i}`, value: new Uint8Array(100_000) }).then(
            () => true,
            () => false,
          ),
        );
        if (!isIn) break;
        acknowledged.push(`k${i}`);
      }
      assert.ok(acknowledged.length > 3 && acknowledged.length < 100);
      await until("the holder says why", () =>
        replicas.some(({ ends }) => ends.some((text) => text.includes("has no space left"))),
      );
      assert.ok(replicas.some(({ ends }) => ends.some((text) => text.includes("defragment it"))));
      // A replica that is up answers from its own state, and that holds every acknowledged write.
      await until("all is read", async () => {
        const read = await withClient(first.url, (client) =>
          client.range({ key: "k", rangeEnd: "l", serializable: true }).catch(() => undefined),
        );
        return (
          read !== undefined &&
          acknowledged.every((name) => read.kvs.some(({ key }) => key === name))
        );
      });
    });

    it(
      "a cluster restored from a backup: every replica begins anew at that state",
      { skip: noEtcdctl },
      async () => {
        const { etcd, replicas } = await start("restored", 1);
        const [first, second] = replicas as [Replica, Replica];
        await putAtLast(first.url, "kept");
        const backup = join(directory, "backup.db");
        const [url = ""] = etcd.urls;
        assert.equal(ctl(["--endpoints", url, "snapshot", "save", backup]).code, 0);
        for (let i = 0; i < 20; i++) await putAtLast(second.url, `lost${i}`);
        await etcd.kill(0);
        const data = join(directory, "restored", "m0");
        rmSync(data, { recursive: true });
        const restored = ctl([
          "snapshot",
          "restore",
          backup,
          "--data-dir",
          data,
          ...etcd.restoreFlags(0),
        ]);
        assert.equal(restored.code, 0, restored.stderr);
        await etcd.restart(0);
        for (const { url: at } of replicas) {
          await putAtLast(at, "after");
          await until("the lost writes are gone everywhere", async () => {
            const read = await withClient(at, (client) =>
              client.range({ key: "a", rangeEnd: "z" }).catch(() => undefined),
            );
            return read?.kvs.map(({ key }) => key).join(" ") === "after kept";
          });
        }
      },
    );
  },
);

function ctl(args: readonly string[]): { readonly code: number; readonly stderr: string } {
  return run(etcdctl ?? "", args, { env: { ...process.env, ETCDCTL_API: "3" } });
}

async function withClient<Result>(
  url: string,
  ask: (client: EtcdClient) => Promise<Result>,
): Promise<Result> {
  const client = new EtcdClient(url);
  try {
    return await ask(client);
  } finally {
    client.close();
  }
}

function isThere(url: string, key: string): Promise<boolean> {
  return withClient(url, (client) =>
    client.range({ key }).then(
      ({ kvs }) => kvs.length === 1,
      () => false,
    ),
  );
}

async function putAtLast(url: string, key: string): Promise<void> {
  await until(`a write of ${key}`, () =>
    withClient(url, (client) =>
      client.put({ key, value: bytes("x") }).then(
        () => true,
        () => false,
      ),
    ),
  );
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + waitMsMax; !(await holds());) {
    assert.ok(performance.now() < deadline, `never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
