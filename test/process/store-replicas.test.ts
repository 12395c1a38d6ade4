/**
 * Three replicas of a store over a real etcd cluster of three: etcdctl at any of them, and holders, followers and etcd
 * members stopped in turn under writers and watchers. Six stops, one of each kind; PILOTHOUSE_KILLS=50 for a long run.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { makeAuthority, makeClientCertificate, makeServerCertificate } from "#auth/pki.ts";
import { EtcdClient } from "#etcd/client.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { EtcdCluster } from "./etcd-cluster.ts";
import { etcdctlPlain, noEtcdctl } from "./etcdctl-run.ts";
import { removeDirectory, temporaryDirectory } from "./harness.ts";
import { findPeer, noPeer } from "./peers.ts";
import { compareBooks, Watcher, Writer } from "./replica-load.ts";
import { freePort } from "./stock-apiserver.ts";
import { findHolder, Replica } from "./store-replica.ts";

const etcdProgram = findPeer("etcd");
const kills = Number(process.env["PILOTHOUSE_KILLS"] ?? 6);
const replicasCount = 3;
const writersCount = 8;
const watchersCount = 9;
const waitMsMax = 60_000;
const dayMs = 24 * 3600 * 1000;

void describe(
  "replicas of a store over an etcd cluster",
  { skip: etcdProgram === undefined ? noPeer("etcd") : false, timeout: 600_000 },
  () => {
    const directory = temporaryDirectory("store-replicas");
    const replicas: Replica[] = [];
    let etcd: EtcdCluster;

    before(async () => {
      etcd = await EtcdCluster.start(etcdProgram ?? "", directory, 3);
      for (let i = 0; i < replicasCount; i++) {
        replicas.push(new Replica(await freePort(), etcd.urls));
      }
      await Promise.all(replicas.map((replica) => replica.start()));
    });
    after(async () => {
      await Promise.all(replicas.map((replica) => replica.close()));
      await etcd?.close();
      removeDirectory(directory);
    });

    it("are one store to etcdctl", { skip: noEtcdctl }, async () => {
      const [a, b, c] = replicas.map(({ url }) => url) as [string, string, string];
      await answers(a, "put first value", "OK\n");
      await answers(b, "get first --print-value-only", "value\n");
      await answers(c, "del first", /^[01]\n$/);
      await answers(a, "get first", "");
      for (const url of [a, b, c]) await answers(b, "member list", new RegExp(url));
      // One of them holds the log.
      const leads = /^(?:(?!, true, false,)[^])*, true, false,(?:(?!, true, false,)[^])*$/;
      await answers([a, b, c].join(","), "endpoint status", leads);
    });

    it("compact the cluster's own history in turns", async () => {
      const flags = ["--etcd-prefix", "/compacted/", "--etcd-compaction-interval", "1s"];
      const two = [
        new Replica(await freePort(), etcd.urls, flags),
        new Replica(await freePort(), etcd.urls, flags),
      ];
      await Promise.all(two.map((one) => one.start()));
      const client = new EtcdClient(etcd.urls[0] ?? "");
      const before = (await client.hashKv(0)).compactRevision;
      const late = performance.now() + waitMsMax;
      while ((await client.hashKv(0)).compactRevision <= before) {
        assert.ok(performance.now() < late, "never compacted");
        const writer = new EtcdClient(two[0]?.url ?? "");
        await writer.put({ key: "a", value: new Uint8Array(10) }).catch(() => undefined);
        writer.close();
        await pause(100);
      }
      client.close();
      await Promise.all(two.map((one) => one.close()));
    });

    it(
      "serve each other with TLS, and nobody without a certificate",
      { skip: noEtcdctl },
      async () => {
        const tls = tlsFiles(directory);
        const prefix = ["--etcd-prefix", "/secure/"];
        const secure = [
          new Replica(await freePort(), etcd.urls, [...tls.server, ...tls.replica, ...prefix]),
          new Replica(await freePort(), etcd.urls, [...tls.server, ...tls.replica, ...prefix]),
        ];
        await Promise.all(secure.map((one) => one.start()));
        try {
          for (const { url } of secure) {
            for (let i = 0; i < 5; i++) {
              await answers(url, `${tls.client} put ${url} x${i}`, "OK\n");
            }
            assert.equal(etcdctlPlain(url, `--cacert=${tls.ca} --command-timeout=1s put b x`), "");
          }
          assert.deepEqual(
            secure.flatMap(({ ends }) => ends),
            [],
            "nobody was deposed",
          );
        } finally {
          await Promise.all(secure.map((one) => one.close()));
        }
      },
    );

    it("refuse to begin with a certificate that other replicas would refuse", async () => {
      const tls = tlsFiles(directory).server;
      const one = new Replica(await freePort(), etcd.urls, tls);
      await assert.rejects(one.start(), /other replicas would refuse .* --replica-cert/);
      await one.close();
    });

    it(
      "give the log away when etcdctl asks, and back to the one that prefers to hold it",
      { skip: noEtcdctl },
      async () => {
        const prefix = ["--etcd-prefix", "/moved/"];
        const two = [
          new Replica(await freePort(), etcd.urls, [...prefix, "--prefer"]),
          new Replica(await freePort(), etcd.urls, prefix),
        ] as const;
        await two[0].start();
        await answers(two[0].url, "put moved 1", "OK\n");
        await two[1].start();
        try {
          const client = new EtcdClient(two[1].url);
          const id = (await client.status()).header?.memberId.toString(16) ?? "";
          client.close();
          await answers(two[0].url, `move-leader ${id}`, /^Leadership transferred from /);
          await answers(two[1].url, "put moved 2", "OK\n");
          // The former holder was started again, and waits ten seconds.
          assert.equal(await findHolder(two), two[1]);
          for (const late = performance.now() + waitMsMax; ; await pause(200)) {
            if ((await findHolder(two)) === two[0]) break;
            assert.ok(performance.now() < late, "it never came back");
          }
          await answers(two[0].url, "get moved --print-value-only", "2\n");
          // The former holder ends once the one that asked has its answer.
          await until("both have given it away", () => two.every(({ ends }) => ends.length > 0));
          assert.deepEqual(
            two.map(({ ends }) => ends.length),
            [1, 1],
          );
        } finally {
          await Promise.all(two.map((one) => one.close()));
        }
      },
    );

    it("lose nothing, land nothing of a deposed holder, and leave no gap in a watch, whoever is killed", async () => {
      const random = new FakeRandom(Number(process.env["PILOTHOUSE_SEED"] ?? 1));
      const urls = replicas.map(({ url }) => url);
      const from = await revisionAt(urls);
      const stopped = new AbortController();
      const ended = new AbortController();
      const writers = Array.from({ length: writersCount }, (_, i) => new Writer(`w${i}`, urls, i));
      const watchers = Array.from({ length: watchersCount }, (_, i) => new Watcher(urls, i, from));
      const writing = writers.map((one) => one.run(stopped.signal));
      const watching = watchers.map((one) => one.run(ended.signal));
      for (let kill = 0; kill < kills; kill++) {
        await disturb(kill % 6, random);
        await pause(300 + random.below(700));
      }
      stopped.abort();
      await Promise.all(writing);
      const last = await revisionAt(urls);
      await until("every watch has come to the end", () =>
        watchers.every((one) => one.last >= last),
      );
      ended.abort();
      await Promise.all(watching);
      const writes = writers.flatMap((one) => one.writes);
      assert.deepEqual(compareBooks(writes, watchers).slice(0, 10), []);
      const acknowledged = writes.filter(({ revision }) => revision > 0).length;
      assert.ok(acknowledged > kills * 20, `${acknowledged} acknowledged writes`);
      const ends = replicas.flatMap((one) => one.ends);
      const deposed = ends.filter((text) =>
        text.includes("another replica has taken the log over"),
      );
      assert.ok(deposed.length > 0, "a holder that was paused found itself deposed");
      const longest = Math.max(...writers.map((one) => one.longestMs));
      const resumed = watchers.reduce((sum, one) => sum + one.resumed, 0);
      console.log(
        `${kills} stops: ${acknowledged} writes acknowledged, ${writes.length - acknowledged} unknown; longest wait ${Math.round(longest)} ms; ${resumed} watches resumed; 0 lost, 0 twice, 0 gaps, 0 lists`,
      );
    });

    /** One of six ways for a part to be gone, in turn. */
    async function disturb(way: number, random: FakeRandom): Promise<void> {
      const holder = await findHolder(replicas);
      const followers = replicas.filter((one) => one !== holder);
      switch (way) {
        case 0:
          return void holder.store?.child.kill("SIGKILL");
        case 1: {
          holder.store?.child.kill("SIGSTOP");
          const { store } = holder;
          await pause(2500);
          return void store?.child.kill("SIGCONT");
        }
        case 2:
          return void random.pick(followers).store?.child.kill("SIGKILL");
        case 3: {
          const leader = await etcd.leader();
          await etcd.kill(leader);
          await pause(random.below(1500));
          return etcd.restart(leader);
        }
        case 4:
          return void holder.store?.child.kill("SIGTERM");
        default:
          for (const one of followers) one.store?.child.kill("SIGKILL");
      }
    }
  },
);

/** Again while it is refused: on a busy machine a holder may be deposed meanwhile, and clients ask again. */
async function answers(url: string, line: string, wanted: string | RegExp): Promise<void> {
  const fits = (told: string): boolean =>
    typeof wanted === "string" ? told === wanted : wanted.test(told);
  const deadline = performance.now() + waitMsMax;
  for (let told = etcdctlPlain(url, line); !fits(told); told = etcdctlPlain(url, line)) {
    assert.ok(performance.now() < deadline, `${line} is answered ${JSON.stringify(told)}`);
    await pause(50);
  }
}

/** One certificate for serving, one for replicas as clients of each other and for etcdctl. */
function tlsFiles(directory: string): {
  readonly server: readonly string[];
  readonly replica: readonly string[];
  readonly client: string;
  readonly ca: string;
} {
  const nowMs = Date.now();
  const validity = { notBeforeMs: nowMs - dayMs, notAfterMs: nowMs + dayMs };
  const issue = () => ({ validity, serial: randomBytes(16) });
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const authority = makeAuthority("store", issue());
  const own = makeServerCertificate(authority, "store", ["127.0.0.1"], issue());
  const peer = makeClientCertificate(authority, { commonName: "c", organizations: [] }, issue());
  const ca = file("ca.crt", authority.certificate);
  const [cert, key] = [file("s.crt", own.certificate), file("s.key", own.privateKey)];
  const [clientCert, clientKey] = [file("c.crt", peer.certificate), file("c.key", peer.privateKey)];
  return {
    server: ["--cert", cert, "--key", key, "--client-ca", ca],
    replica: ["--replica-cert", clientCert, "--replica-key", clientKey],
    client: `--cacert=${ca} --cert=${clientCert} --key=${clientKey} --command-timeout=10s`,
    ca,
  };
}

/** The newest revision, as a linearizable read at whichever replica answers. */
async function revisionAt(urls: readonly string[]): Promise<number> {
  for (const deadline = performance.now() + waitMsMax; performance.now() < deadline;) {
    for (const url of urls) {
      const client = new EtcdClient(url);
      const answer = await client.range({ key: "none" }).catch(() => undefined);
      client.close();
      if (answer?.header !== undefined) return answer.header.revision;
    }
    await pause(50);
  }
  throw new Error("no replica answers");
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (const deadline = performance.now() + waitMsMax; !holds();) {
    assert.ok(performance.now() < deadline, `never: ${what}`);
    await pause(20);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
