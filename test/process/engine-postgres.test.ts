/** The engine contract on a real PostgreSQL: and what ended backends, a killed server and a failover do to it. */
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client } from "pg";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { PostgresLogCluster } from "#postgres/log-cluster.ts";
import { PostgresPool, recommendedPool } from "#postgres/pool.ts";
import { parseTarget } from "#postgres/target.ts";
import type { LogCluster } from "#store/engines/etcd/cluster.ts";
import { EtcdEngine } from "#store/engines/etcd/engine.ts";
import { RecordReader } from "#store/record.ts";
import { engineSuite, testBatch } from "#store/testing/engine-suite.ts";
import { removeDirectory, run, temporaryDirectory } from "./harness.ts";
import { findPostgres, noPeer } from "./peers.ts";
import { PostgresServer, testPassword } from "./postgres-server.ts";

const launcher = join(import.meta.dirname, "..", "..", "bin", "pilothouse.mjs");
const programs = findPostgres();
const skip = programs === undefined ? noPeer("postgres") : false;
const nowhere = { checkpoint: () => undefined, records: () => undefined };
const clock = new NodeClock();
const deps = { clock, random: new NodeRandom(), log: silentLog };
const options = {
  partBytes: 16_384,
  segmentBytes: 8192,
  checkpointLogBytes: 16_384,
  name: "",
  pace: { appendsMax: 4, besideMs: 5, gatherMs: 2 },
  giveUpMs: 30_000,
  lookMs: 0,
};

void describe("the engine on a real PostgreSQL", { skip, timeout: 300_000 }, () => {
  const directory = temporaryDirectory("engine-postgres");
  const pools: PostgresPool[] = [];
  let server: PostgresServer;
  let logs = 0;

  before(async () => {
    chmodSync(directory, 0o755);
    server = await PostgresServer.start(programs ?? "", join(directory, "first"));
  });
  after(async () => {
    for (const pool of pools) pool.close();
    await server?.kill();
    removeDirectory(directory);
  });

  function poolOf(...urls: readonly string[]): PostgresPool {
    const targets = urls.map((url) => parseTarget(url, testPassword));
    const pool = new PostgresPool({ clock, Client }, targets, recommendedPool);
    pools.push(pool);
    return pool;
  }

  /** The suite is declared before the server runs. */
  function lazily(schema: string): LogCluster {
    let cluster: PostgresLogCluster | undefined;
    const made = (): PostgresLogCluster =>
      (cluster ??= new PostgresLogCluster({ clock, pool: poolOf(server.url) }, schema));
    return {
      read: (ranges) => made().read(ranges),
      change: (change) => made().change(change),
      watch: (prefix, sink) => made().watch(prefix, sink),
    };
  }

  const shared = lazily("logs");
  const engineOn = (cluster: LogCluster, prefix: string): EtcdEngine =>
    new EtcdEngine({ ...deps, cluster }, { ...options, prefix });

  engineSuite("PostgreSQL, a real one", () => {
    const log = ++logs;
    return { engine: () => engineOn(shared, `/log-${log}/`), secondOpen: "takes over" };
  });

  /** Appends one revision after the other while something happens; what was acknowledged must be there, once. */
  async function underWrites(
    cluster: LogCluster,
    prefix: string,
    happens: () => Promise<void>,
  ): Promise<number> {
    const engine = engineOn(cluster, prefix);
    const { epoch } = await engine.open(nowhere, "next");
    let last = 1;
    let isOver = false;
    const writing = (async () => {
      for (; !isOver; last++) await engine.append(testBatch(epoch, [last + 1]));
    })();
    await happens();
    const before = last;
    while (last < before + 20) await new Promise((resolve) => setTimeout(resolve, 5));
    isOver = true;
    await writing;
    await engine.close();
    assert.deepEqual(
      await revisionsOf(cluster, prefix),
      Array.from({ length: last - 1 }, (_, at) => at + 2),
    );
    return last;
  }

  async function revisionsOf(cluster: LogCluster, prefix: string): Promise<readonly number[]> {
    const revisions: number[] = [];
    const records = (bytes: Uint8Array): void => {
      const reader = new RecordReader(bytes);
      for (let at = 0; at < bytes.length; at += reader.size(at))
        revisions.push(reader.revision(at));
    };
    const next = engineOn(cluster, prefix);
    await next.open({ ...nowhere, records }, "next");
    await next.close();
    return revisions;
  }

  const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pilothouse store'`;

  test("backends ended again and again lose nothing and double nothing", async () => {
    await underWrites(shared, "/ended/", async () => {
      for (let time = 0; time < 20; time++) {
        await server.ask(terminate);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
  });

  test("a server killed and started again loses nothing", async () => {
    await underWrites(shared, "/killed/", async () => {
      for (let time = 0; time < 2; time++) {
        await server.kill();
        await server.restart();
      }
    });
  });

  test("of two engines the later one has the log, whatever the first one had on its way", async () => {
    const first = engineOn(shared, "/stolen/");
    const { epoch } = await first.open(nowhere, "next");
    await first.append(testBatch(epoch, [2]));
    const onTheirWay = [[3], [4]].map((revisions) => first.append(testBatch(epoch, revisions)));
    const late = Promise.allSettled(onTheirWay);
    const second = engineOn(shared, "/stolen/");
    const seen: number[] = [];
    const records = (bytes: Uint8Array): void =>
      void seen.push(new RecordReader(bytes).revision(0));
    const opened = await second.open({ ...nowhere, records }, "next");
    const outcomes = await late;
    for (const [at, { status }] of outcomes.entries())
      assert.equal(status === "fulfilled", seen.includes(at + 3), `revision ${at + 3}`);
    await assert.rejects(first.append(testBatch(epoch, [9])), /epoch 1/);
    await second.append(testBatch(opened.epoch, [9]));
    await Promise.all([first.close(), second.close()]);
  });

  test("slots are pushed to those who listen", async () => {
    const engine = engineOn(shared, "/pushed/");
    const { epoch } = await engine.open(nowhere, "next");
    const pushed: string[] = [];
    const watch = shared.watch("/pushed/slot/", {
      pushed: (keys) => pushed.push(...keys.map(({ key }) => key)),
      broke: () => undefined,
    });
    for (let revision = 2; pushed.length < 2; revision++) {
      await engine.append(testBatch(epoch, [revision]));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    watch.close();
    await engine.close();
    assert.match(pushed[0] ?? "", /^\/pushed\/slot\/\d{16}$/);
  });

  test("a failover to a synchronous standby loses nothing", async () => {
    const old = await PostgresServer.start(programs ?? "", join(directory, "old"));
    const standby = await old.standby(join(directory, "standby"));
    await old.ask("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await old.ask("SELECT pg_reload_conf()");
    const pool = poolOf(old.url, standby.url);
    const cluster = new PostgresLogCluster({ clock, pool }, "logs");
    try {
      await underWrites(cluster, "/over/", async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        await old.kill();
        standby.promote();
      });
    } finally {
      await Promise.all([old.kill(), standby.kill()]);
    }
  });

  test("a table of another form is refused, and not written", async () => {
    const forms = {
      columns: "CREATE TABLE columns.log (key text PRIMARY KEY, value bytea)",
      unlogged: "CREATE UNLOGGED TABLE unlogged.log (key bytea PRIMARY KEY, value bytea NOT NULL)",
      keyless: "CREATE TABLE keyless.log (key bytea, value bytea NOT NULL)",
    };
    for (const [schema, create] of Object.entries(forms)) {
      await server.ask(`CREATE SCHEMA ${schema}`);
      await server.ask(create);
      const put = { kind: "put", key: "/a/b", value: Uint8Array.of(1) } as const;
      const answer = await lazily(schema).change({ conditions: [], operations: [put] });
      assert.equal(answer.kind, "refused", schema);
      assert.match("message" in answer ? answer.message : "", /is not a log's table/);
      assert.deepEqual(await server.ask(`SELECT * FROM ${schema}.log`), []);
    }
  });

  /** What the command says when it ends by itself, which is never a password. */
  function refusedStart(url: string, password: string): string {
    const args = ["store", "--engine", "postgres", "--listen", "127.0.0.1:0"];
    const reach = ["--replica-url", "http://127.0.0.1:1", "--log-level", "debug"];
    const env = { ...process.env, PGPASSWORD: password };
    const all = [launcher, ...args, ...reach, "--postgres-url", url];
    const { code, stdout, stderr } = run(process.execPath, all, { env });
    const said = stdout + stderr;
    assert.notEqual(code, 0, url);
    assert.doesNotMatch(said, /hunter2|not to be logged/, url);
    return said;
  }

  test("a wrong password and hostile URLs are refused, and no password is printed", () => {
    assert.match(refusedStart(server.url, "hunter2"), /password authentication failed/);
    const refused = {
      "postgres://pilot:hunter2@192.0.2.1/db?sslmode=disable": /in the clear/,
      "postgres://pilot:hunter2@127.0.0.1/db?sslmode=require": /sslmode disable or verify-full/,
      "postgres://pilot:hunter2@127.0.0.1/db?options=-c%20fsync%3Doff": /sslmode at most/,
      "postgres://pilot:hunter2@%2Ftmp/db": /names a host/,
      "postgres://pilot:hunter2@127.0.0.1/db%00": /percent-encoded/,
      "mysql://pilot:hunter2@127.0.0.1/db": /begins with postgres:/,
    };
    for (const [url, text] of Object.entries(refused)) {
      assert.match(refusedStart(url, "hunter2"), text, url);
    }
  });
});
