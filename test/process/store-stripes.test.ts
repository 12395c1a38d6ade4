/**
 * A log in two real etcd clusters: a stripe is added while two replicas serve, then holders and members of both stripes are
 * killed under 50 writers and four watchers.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { EtcdClient } from "#etcd/client.ts";
import { EtcdCluster } from "./etcd-cluster.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { compareBooks, Watcher, Writer } from "./replica-load.ts";
import { freePort } from "./stock-apiserver.ts";
import { findHolder, Replica } from "./store-replica.ts";

const program = findPeer("etcd");
const skip = program === undefined ? noPeer("etcd") : false;
const writersCount = 50;
const watchersCount = 4;
const waitMsMax = 60_000;

void describe("a log in two etcd clusters", { skip, timeout: 300_000 }, () => {
  const directory = temporaryDirectory("store-stripes");
  let first: EtcdCluster;
  let second: EtcdCluster;
  const replicas: Replica[] = [];

  before(async () => {
    first = await EtcdCluster.start(program ?? "", join(directory, "first"), 1);
    second = await EtcdCluster.start(program ?? "", join(directory, "second"), 1);
  });
  after(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    await Promise.all([first, second].map((one) => one?.close()));
    removeDirectory(directory);
  });

  it("takes a second stripe into use while it serves, and refuses a replica that does not know it", async () => {
    const both = ["--etcd-servers", second.urls.join(",")];
    const old = new Replica(await freePort(), first.urls);
    await old.start();
    await put(old.url, "before", "1");
    for (let i = 0; i < 2; i++) replicas.push(new Replica(await freePort(), first.urls, both));
    await Promise.all(replicas.map((one) => one.start()));
    await put(replicas[0]?.url ?? "", "beside", "2");
    assert.equal(await slotsIn(second), 0, "the holder does not know it");
    await old.close();
    await findHolder(replicas);
    for (let i = 0; i < 8; i++) await put(replicas[1]?.url ?? "", `after-${i}`, "3");
    assert.ok((await slotsIn(second)) >= 3);
    assert.equal(await get(replicas[0]?.url ?? "", "before"), "1");
    const stranger = new Replica(await freePort(), first.urls);
    await assert.rejects(stranger.start(), /the log has a stripe 1 that was not named/);
    await stranger.close();
    const twice = new Replica(await freePort(), second.urls, [
      "--etcd-servers",
      first.urls[0] ?? "",
    ]);
    await assert.rejects(
      twice.start(),
      /name the log's first etcd cluster in the first --etcd-servers/,
    );
    await twice.close();
  });

  it("loses nothing, doubles nothing and leaves no gap, whichever part is killed", async () => {
    const urls = replicas.map(({ url }) => url);
    const from = await revisionAt(urls);
    const stopped = new AbortController();
    const ended = new AbortController();
    const writers = Array.from({ length: writersCount }, (_, i) => new Writer(`w${i}`, urls, i));
    const watchers = Array.from({ length: watchersCount }, (_, i) => new Watcher(urls, i, from));
    const writing = writers.map((one) => one.run(stopped.signal));
    const watching = watchers.map((one) => one.run(ended.signal));
    const acknowledged = (): number =>
      writers.flatMap((one) => one.writes).filter(({ revision }) => revision > 0).length;
    const goOn = async (): Promise<void> => {
      const before = acknowledged();
      await until("writes go on", () => acknowledged() > before + 200);
    };
    await goOn();
    for (const stripe of [second, first]) {
      await stripe.kill(0);
      await stripe.restart(0);
      await goOn();
      (await findHolder(replicas)).store?.child.kill("SIGKILL");
      await goOn();
    }
    stopped.abort();
    await Promise.all(writing);
    const last = await revisionAt(urls);
    await until("every watch has come to the end", () => watchers.every((one) => one.last >= last));
    ended.abort();
    await Promise.all(watching);
    const writes = writers.flatMap((one) => one.writes);
    assert.deepEqual(compareBooks(writes, watchers).slice(0, 10), []);
    const longest = Math.round(Math.max(...writers.map((one) => one.longestMs)));
    console.log(
      `${acknowledged()} writes acknowledged; longest wait ${longest} ms; 0 lost, 0 twice, 0 gaps, 0 lists`,
    );
  });

  it("names the stripe that holds the commit, in metrics and in readiness", async () => {
    const holder = await findHolder(replicas);
    const [pid = 0] = second.pids;
    process.kill(pid, "SIGSTOP");
    // Unanswered until the stripe is back.
    const writing = [put(holder.url, "held", "1"), put(holder.url, "held-too", "1")];
    const name = second.urls.join(",");
    await until("readiness names it", async () => {
      const body = await (await fetch(`${holder.url}/readyz?verbose`)).text();
      return body.includes(`${name} holds the commit`);
    });
    const metrics = await (await fetch(`${holder.url}/metrics`)).text();
    process.kill(pid, "SIGCONT");
    const held = new RegExp(
      `pilothouse_store_stripe_holds_commit_seconds\\{stripe="the etcd cluster ${name}"\\} [1-9]`,
    );
    assert.match(metrics, held);
    await Promise.allSettled(writing);
  });

  async function slotsIn(cluster: EtcdCluster): Promise<number> {
    const client = new EtcdClient(cluster.urls[0] ?? "");
    const { count } = await client.range({
      key: "/pilothouse/slot/",
      rangeEnd: "/pilothouse/slot0",
    });
    client.close();
    return count;
  }
});

async function put(url: string, key: string, value: string): Promise<void> {
  for (const late = performance.now() + waitMsMax; ; await pause(50)) {
    const client = new EtcdClient(url);
    try {
      return void (await client.put({ key, value: Buffer.from(value) }));
    } catch (error) {
      if (performance.now() > late) throw error;
    } finally {
      client.close();
    }
  }
}

async function get(url: string, key: string): Promise<string> {
  const client = new EtcdClient(url);
  const { kvs } = await client.range({ key });
  client.close();
  return Buffer.from(kvs[0]?.value ?? []).toString();
}

async function revisionAt(urls: readonly string[]): Promise<number> {
  for (const late = performance.now() + waitMsMax; ; await pause(50)) {
    const client = new EtcdClient(urls[0] ?? "");
    try {
      return (await client.range({ key: "none" })).header?.revision ?? 0;
    } catch (error) {
      if (performance.now() > late) throw error;
    } finally {
      client.close();
    }
  }
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const late = performance.now() + waitMsMax; !(await holds()); await pause(20)) {
    assert.ok(performance.now() < late, `never: ${what}`);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
