/** A throw or a rejection in any background loop is caught, logged, counted, and the loop goes on; a bug ends the process in one place. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { resourceQuota } from "#admission/resource-quota.ts";
import { FakeLookup, fakeRequest, outcome, pod } from "#admission/testing.ts";
import { AssertionError } from "#base/assert.ts";
import type { Event, Pod, ResourceQuota } from "#api/gen/types.ts";
import { DelayHeap } from "#client/delay-heap.ts";
import { createEventRecorder } from "#client/events.ts";
import { createInformerSet } from "#client/informer-set.ts";
import { createInformer } from "#client/informer.ts";
import { runWorkers } from "#client/run-workers.ts";
import { createFakeApi } from "#client/testing/fake-api.ts";
import { WorkQueue } from "#client/workqueue.ts";
import { createControllerManager } from "#controllers/manager.ts";
import { NodeLifecycleController } from "#controllers/nodelifecycle/controller.ts";
import { createWorld } from "#controllers/testing/world.ts";
import { Identity } from "#etcd/identity.ts";
import { recommendedEtcdLimits } from "#etcd/services.ts";
import { WatchService } from "#etcd/watch.ts";
import * as m from "#wire/etcd-messages.ts";
import { createGate, gateDefaults } from "#flowcontrol/gate.ts";
import { Wheel } from "#hollow/wheel.ts";
import type { TimerName } from "#platform/clock.ts";
import { Deadlines } from "#platform/deadlines.ts";
import { silentLog } from "#platform/log.ts";
import { Supervisor } from "#platform/supervisor.ts";
import { changed } from "#platform/testing/changed.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Balance, balance, balanceLimits } from "#relay/fleet/balance.ts";
import { startCompaction } from "#registry/compaction.ts";
import { podInfo } from "#scheduler/pod-info.ts";
import { queueTimes, SchedulingQueue } from "#scheduler/queue.ts";
import { createScheduler, schedulerDefaults } from "#scheduler/scheduler.ts";
import { makeNode, makePod, nodesRef, podsRef } from "#scheduler/testing.ts";
import { FrameJoiner, jsonFormat } from "#forms/watch-frames.ts";
import { StreamTurns } from "#server/stream-turns.ts";
import { streamDeadlines, WatchStream } from "#server/watch-stream.ts";
import { AutoCompactor } from "#store/auto-compact.ts";
import { Leases } from "#store/leases.ts";
import { openMemoryStore } from "#store/open.ts";
import { recommendedOptions } from "#store/options.ts";
import { startBookmarks } from "#watch/bookmarks.ts";
import { DeliveryScheduler } from "#watch/delivery-scheduler.ts";
import { testDelivery } from "#watch/testing/feed.ts";
import { root } from "../process/harness.ts";
import { keptLog } from "./promised-plane.ts";

interface Supervised {
  readonly host: FakeClock;
  readonly supervisor: Supervisor;
  readonly bugs: AssertionError[];
  readonly lines: ReturnType<typeof keptLog>["lines"];
  readonly count: (loop: string) => number;
}

function supervised(): Supervised {
  const host = new FakeClock();
  const { log, lines } = keptLog();
  const bugs: AssertionError[] = [];
  const supervisor = new Supervisor({ clock: host, log, onBug: (bug) => void bugs.push(bug) });
  const count = (loop: string): number =>
    [...supervisor.failures()].find(([[name]]) => name === loop)?.[1] ?? 0;
  return { host, supervisor, bugs, lines, count };
}

/** Throws the first time. */
function once(f: () => void = () => {}): () => void {
  let isFirst = true;
  return () => {
    if (!isFirst) return f();
    isFirst = false;
    throw new Error("the disk is gone");
  };
}

const timerNames = [
  ...readFileSync(join(root, "src/core/platform/clock.ts"), "utf8").matchAll(
    /^ {2}\| "([\w.]+)"/gm,
  ),
].map(([, name]) => name as TimerName);

describe("a timer", () => {
  test("of any name may throw: it is logged and counted under that name", async () => {
    assert.ok(timerNames.length > 30);
    for (const name of timerNames) {
      const { host, supervisor, count, lines } = supervised();
      supervisor.clock.after(name, 10, once());
      await host.advance(10);
      assert.equal(count(name), 1);
      assert.equal(lines[0]?.fields["loop"], name);
      assert.match(String(lines[0]?.fields["error"]), /the disk is gone[\s\S]*supervisor\.test/);
    }
  });

  test("that throws without end is logged once a second, and counted each time", async () => {
    const { host, supervisor, count, lines } = supervised();
    const again = (): void => {
      supervisor.clock.after("watch.flush", 100, again);
      throw new Error("no");
    };
    supervisor.clock.after("watch.flush", 100, again);
    await host.advance(10_000);
    assert.equal(count("watch.flush"), 100);
    assert.equal(lines.length, 10);
    assert.equal(lines.at(-1)?.fields["untold"], 9);
  });

  test("that meets a bug hands it to the owner of the process, once", async () => {
    const { host, supervisor, bugs } = supervised();
    for (let index = 0; index < 3; index++) {
      supervisor.clock.after("store.lease", 1, () => {
        throw new AssertionError("seats taken exceed seats given", {});
      });
    }
    await host.advance(1);
    assert.deepEqual(
      bugs.map((bug) => bug.message),
      ["seats taken exceed seats given {}"],
    );
  });
});

describe("a loop of `run`", () => {
  test("that rejects is run again after a backoff, until it ends or is told to stop", async () => {
    const { host, supervisor, count } = supervised();
    const began: number[] = [];
    const run = supervisor.run("controllers.x", new AbortController().signal, () => {
      began.push(host.monotonicMs());
      return began.length < 4 ? Promise.reject(new Error("refused")) : Promise.resolve();
    });
    await host.advance(60_000);
    await run;
    assert.deepEqual(began, [0, 100, 300, 700]);
    assert.equal(count("controllers.x"), 3);
    const stopping = new AbortController();
    const other = supervisor.run("controllers.y", stopping.signal, () =>
      Promise.reject(new Error("refused")),
    );
    await host.advance(0);
    stopping.abort();
    await other;
  });
});

/** Each makes a loop whose first turn throws, and tells how many turns went well after `ms`. */
const periodic: Readonly<
  Record<string, (s: Supervised, well: () => void) => { ms: number; loop: string }>
> = {
  bookmarks: ({ supervisor: { clock } }, well) => {
    const turn = once(well);
    startBookmarks({ clock, sources: () => [{ bookmark: turn }] }, { periodMs: 100, slots: 1 });
    return { ms: 300, loop: "watch.bookmark" };
  },
  "heartbeats of hollow nodes": ({ supervisor: { clock } }, well) => {
    const wheel = new Wheel<string>(
      { clock, random: new FakeRandom(1) },
      { roundMs: 100, turn: once(well) },
    );
    wheel.start();
    wheel.add("node");
    return { ms: 300, loop: "hollow.heartbeat" };
  },
  "seats shared anew": ({ supervisor: { clock } }, well) => {
    let looks = 0;
    const lookup = new FakeLookup();
    const list = (...args: Parameters<FakeLookup["list"]>): ReturnType<FakeLookup["list"]> => {
      looks++;
      // The first two are the configuration at the start.
      if (looks === 3) throw new Error("the disk is gone");
      if (looks > 3) well();
      return lookup.list(...args);
    };
    createGate({ clock, lookup: { get: () => undefined, list } }, gateDefaults);
    return { ms: 30_000, loop: "flowcontrol.borrow" };
  },
  "ends of leases": ({ supervisor: { clock } }, well) => {
    const leases = new Leases(clock);
    const expire = once(well);
    leases.start(() => expire());
    for (const id of [1n, 2n]) {
      leases.grant(id, 1_000);
      leases.startTime(id);
    }
    return { ms: 10_000, loop: "store.lease" };
  },
  "delayed keys": ({ supervisor: { clock } }, well) => {
    const heap = new DelayHeap({ clock, timerName: "client.delay", due: once(well) });
    heap.add("a", 10);
    heap.add("b", 20);
    return { ms: 100, loop: "client.delay" };
  },
  "deadlines of streams": ({ supervisor: { clock } }, well) => {
    const deadlines = new Deadlines(clock, { name: "server.watch", stepMs: 50 });
    const expire = once(well);
    for (let index = 0; index < 2; index++) deadlines.add({ expire }, 100);
    return { ms: 200, loop: "server.watch" };
  },
};

describe("a periodic loop whose turn throws goes on:", () => {
  for (const [name, make] of Object.entries(periodic)) {
    test(name, async () => {
      const s = supervised();
      let wellCount = 0;
      const { ms, loop } = make(s, () => void wellCount++);
      await s.host.advance(ms);
      assert.equal(s.count(loop), 1, "the throw was counted");
      assert.ok(wellCount > 0, "no turn after the throw");
    });
  }

  test("a window of watches serves the other resources, and its own in the next window", async () => {
    const s = supervised();
    const { clock } = s.supervisor;
    const delivery = { ...testDelivery, gather: { watchersMin: 0, windowMs: 4 } };
    const serve = (): number => 0;
    let served = 0;
    let isBroken = false;
    const broken = (): void => {
      if (isBroken) throw new Error("a sink is broken");
      served++;
    };
    const [one, other] = [broken, () => void served++].map(
      (dispatch) => new DeliveryScheduler({ clock, dispatch, serve }, delivery),
    );
    const request = (): void => [one, other].forEach((scheduler) => scheduler?.request(5_000));
    request();
    isBroken = true;
    request();
    await s.host.advance(1_000);
    assert.equal(served, 3, "the other one was served");
    assert.equal(s.count("watch.flush"), 1);
    isBroken = false;
    request();
    assert.equal(served, 5);
  });

  test("pods that wait for their backoff", async () => {
    const s = supervised();
    let wake = (): void => {};
    const queue = new SchedulingQueue(
      { clock: s.supervisor.clock, wake: () => wake() },
      queueTimes,
    );
    for (const name of ["a", "b"]) {
      queue.put(podInfo({ ...makePod(name), metadata: { name, namespace: "n", uid: name } }));
    }
    for (let pod = queue.pop(); pod !== undefined; pod = queue.pop()) {
      queue.failed(pod);
      await s.host.advance(10);
    }
    wake = once();
    await s.host.advance(60_000);
    assert.equal(s.count("scheduler.backoff"), 1);
    assert.equal(queue.activeCount, 2, "both came back");
  });

  test("the look at silent nodes", async () => {
    const s = supervised();
    const world = createWorld();
    let looks = 0;
    await world.start((deps) => {
      const informer = (...args: Parameters<typeof deps.informers.informer>): never => {
        const real = deps.informers.informer(...args);
        const broken = (): ReturnType<typeof real.values> => {
          looks++;
          // The first is at the start.
          if (looks === 2) throw new Error("the disk is gone");
          return real.values();
        };
        const wrapped = new Proxy(real, {
          get(target, key) {
            if (key === "values" && args[0].resource === "nodes") return broken;
            const value: unknown = Reflect.get(target, key, target);
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
        return wrapped as never;
      };
      const informers = {
        ...deps.informers,
        informer,
        release: () => {},
        synced: () => Promise.resolve(),
      };
      return new NodeLifecycleController({ ...deps, informers, clock: s.supervisor.clock });
    });
    await s.host.advance(11_000);
    assert.equal(s.count("controllers.resync"), 1);
    assert.ok(looks > 2, "no look after the throw");
    await world.stop();
  });

  test("a controller whose loop rejects begins again, and the others run on", async () => {
    const s = supervised();
    const world = createWorld();
    let refusals = 1;
    const runs: string[] = [];
    await world.start((deps) => {
      const informers = {
        informer: (...args: Parameters<typeof deps.informers.informer>) =>
          deps.informers.informer(...args) as never,
        inNamespaces: () => assert.fail(),
        release: () => {},
        holds: () => true,
        run: (signal: AbortSignal) => deps.informers.run(signal),
        synced: (signal: AbortSignal) => {
          runs.push("run");
          if (refusals-- > 0) return Promise.reject(new Error("refused"));
          return deps.informers.synced(signal);
        },
      };
      const made = createControllerManager(
        { ...deps, informers, supervisor: s.supervisor },
        { rootCa: "ca" },
      );
      return {
        name: "all",
        metrics: () => [...made.metrics().values()][0]!,
        run: (signal) => made.run(signal),
      };
    });
    const before = runs.length;
    await s.host.advance(1_000);
    assert.equal(runs.length, before + 1);
    assert.equal([...s.supervisor.failures()].length, 1);
    await world.stop();
  });

  test("progress of etcd's watches", async () => {
    const s = supervised();
    const { clock } = s.supervisor;
    const deps = { clock, random: new FakeRandom(1), log: silentLog };
    const store = await openMemoryStore(deps, recommendedOptions);
    const identity = new Identity({ clusterId: 1n, memberId: 1n });
    const limits = { ...recommendedEtcdLimits, progressMs: 1_000 };
    const { Watch } = new WatchService({ store, clock, identity }, limits).methods();
    assert.ok(Watch?.kind === "stream");
    let sent = 0;
    const progress = once();
    const opened = Watch.open({
      // The first says that the watch was created.
      send: () => {
        sent++;
        if (sent > 1) progress();
      },
      sendPieces: () => {},
      backlogBytes: 0,
      onDrain: () => {},
      end: () => {},
      fail: () => {},
      isClosed: false,
    });
    const create = { key: "a", rangeEnd: "", progressNotify: true, watchId: 7 };
    opened.message(Buffer.from(m.watchRequest.encode({ create } as never)));
    await s.host.advance(3_500);
    assert.equal(s.count("etcd.progress"), 1);
    assert.ok(sent >= 3, "no progress after the throw");
    opened.closed();
    await store.close();
  });

  test("compaction, of a plane and of a store", async () => {
    const { host } = supervised();
    let tries = 0;
    const store = {
      commitRevision: 10,
      compactRevision: 0,
      compact: () => {
        store.commitRevision += 10;
        tries++;
        return tries === 1 ? Promise.reject(new Error("full")) : Promise.resolve({ kind: "done" });
      },
    };
    const deps = { store: store as never, clock: host, log: silentLog };
    startCompaction({ ...deps, compacted: () => {} }, { periodMs: 100 });
    await host.advance(300);
    assert.ok(tries >= 2, "the next period tries again");
    new AutoCompactor(deps, { intervalMs: 100 }).start();
    await host.advance(300);
  });
});

describe("work that is not waited for", () => {
  test("a worker's key that throws is put back, and other keys are done", async () => {
    const { host } = supervised();
    const deps = { clock: host, log: silentLog, random: new FakeRandom(1) };
    const queue = new WorkQueue(deps, { name: "x" });
    const stopping = new AbortController();
    const turn = once();
    const done: string[] = [];
    const reconcile = (key: string): Promise<void> => {
      if (key === "a") turn();
      done.push(key);
      return Promise.resolve();
    };
    const workers = runWorkers(queue, 1, reconcile, stopping.signal);
    queue.add("a");
    queue.add("b");
    await host.advance(10_000);
    assert.deepEqual(done, ["b", "a"]);
    stopping.abort();
    await workers;
  });

  test("a reflector lists again, and a handler that throws costs its neighbours nothing", async () => {
    const host = new FakeClock();
    const api = createFakeApi({ clock: host });
    const list = once();
    const client = Object.assign(Object.create(api) as typeof api, {
      list: (...args: Parameters<typeof api.list>) => {
        list();
        return api.list(...args);
      },
    });
    const deps = { client, clock: host, log: silentLog, random: new FakeRandom(1) };
    const informer = createInformer(deps, {
      ref: { group: "", version: "v1", resource: "nodes" },
    });
    let heard = 0;
    informer.addHandler({ add: once() });
    informer.addHandler({ add: () => void heard++ });
    const stopping = new AbortController();
    const running = informer.run(stopping.signal);
    await api.create({ group: "", version: "v1", resource: "nodes" }, "", makeNode("a"));
    await host.advance(10_000);
    assert.equal(heard, 1);
    stopping.abort();
    await host.advance(1);
    await running;
  });

  test("a quota round that breaks answers those who wait, and the next round begins", async () => {
    const hard = { pods: "5" };
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q", namespace: "ns", resourceVersion: "1" },
      spec: { hard },
      status: { hard, used: { pods: "0" } },
    };
    const lookup = new FakeLookup(quota);
    let looks = 0;
    const broken = {
      get: lookup.get.bind(lookup),
      list: (...args: Parameters<FakeLookup["list"]>) => {
        looks++;
        if (looks === 2) throw new TypeError("a quantity that is none");
        return lookup.list(...args);
      },
    };
    const plugin = resourceQuota({
      lookup: broken,
      clock: new FakeClock(),
      updateQuota: (next: ResourceQuota) => Promise.resolve(lookup.put(next as never)),
    });
    const create = (): Promise<string> =>
      outcome(() => plugin.validate?.(fakeRequest(pod()))).catch((error: Error) => error.message);
    assert.equal(await create(), "a quantity that is none");
    assert.equal(await create(), "admitted");
  });

  test("balancing between relays goes on after peers that cannot be asked", async () => {
    const clock = new FakeClock();
    const stopping = new AbortController();
    const first = once();
    let asked = 0;
    const failed: unknown[] = [];
    const peerStreams = (): Promise<readonly number[]> => {
      asked++;
      return Promise.resolve().then(() => {
        first();
        return [];
      });
    };
    const rule = new Balance(balanceLimits);
    const deps = { clock, rule, peerStreams, own: () => 0, letGo: () => {} };
    const running = balance({ ...deps, failed: (e) => failed.push(e) }, stopping.signal);
    await clock.advance(35_000);
    assert.equal(asked, 3);
    assert.equal(failed.length, 1);
    stopping.abort();
    await clock.advance(1);
    await running;
  });

  test("an event that cannot be stored is dropped, and the next one is written", async () => {
    const clock = new FakeClock();
    const api = createFakeApi({ clock });
    const create = once();
    const client = Object.assign(Object.create(api) as typeof api, {
      create: (...args: Parameters<typeof api.create>) => {
        create();
        return api.create(...args);
      },
    });
    const recorder = createEventRecorder(
      { client, clock, log: silentLog, random: new FakeRandom(1) },
      { component: "x" },
    );
    const about = { apiVersion: "v1", kind: "Node", metadata: { name: "n", uid: "u" } };
    recorder.event(about, "Normal", "First", "a");
    await clock.advance(1_000);
    recorder.event(about, "Normal", "Second", "b");
    await clock.advance(10_000);
    const reasons = api
      .peekAll<Event>({ group: "", version: "v1", resource: "events" })
      .map((event) => event.reason);
    assert.ok(reasons.includes("Second"), reasons.join());
    await recorder.close();
  });

  /** Why each cannot reject; a line that is added to the code is added here, or waited for. */
  const dropped: Readonly<Record<string, readonly string[]>> = {
    "gate/admission/resource-quota.ts": ["this.#subtract(", "this.#rounds("],
    // A WebSocket's and a tunnel's ends are caught where they are read; `send` never rejects.
    "gate/apiserver/kubelet/exec-translation.ts": ["peer.send(", "this.#peer.send("],
    "gate/apiserver/kubelet/exec-upgrade.ts": ["over.then("],
    "gate/apiserver/kubelet/join.ts": ["Promise.all("],
    "gate/apiserver/kubelet/logs.ts": ["sendMessages("],
    "gate/apiserver/kubelet/spdy-tunnel.ts": ["tunnel("],
    "crowd/client/events.ts": ["this.#sendOne("],
    // Of a plugin: what is away is asked for again, and its checks end with a text.
    "commit/encryption/kms-provider.ts": ["this.#decrypted(", "this.check("],
    "commit/encryption/sealed-store.ts": ["waits.then("],
    "commit/etcd/endpoints.ts": ["client.gone.then("],
    "commit/etcd/handover.ts": ["this.#look("],
    "commit/etcd/holder-link.ts": ["this.#client.gone.then("],
    "commit/etcd/kv.ts": ["this.#stream("],
    "commit/etcd/lease.ts": ["this.#sendGone(", "this.#sendConfirmed("],
    "commit/etcd/log-cluster.ts": ["watchAgain("],
    "commit/etcd/maintenance.ts": ["sendSnapshot("],
    "commit/etcd/replica-methods.ts": ["send("],
    "commit/etcd/replica-role.ts": ["run(", "this.#follow(", "this.#takeOver("],
    // `terminate` of a worker always resolves.
    "core/wire/grpc-server.ts": ["this.#answer("],
    "core/platform/node/offload.ts": ["this.#end("],
    // Where the collection cannot be begun, nothing is collected.
    "core/platform/spare-memory.ts": ["this.#host.collectInSteps("],
    // A handshake that fails is an event of its server.
    "core/platform/node/http/http-body.ts": ["turn.then("],
    "core/platform/node/http/http.ts": [
      "serveHttp1(",
      "serveUpgrade(",
      "serveHttp2(",
      "handshakeInTurn(",
    ],
    "core/platform/node/http/duplex-stream.ts": ["readInto("],
    // A host call: what its function throws is uncaught, as a timer's.
    "core/platform/node/http/process-turns.ts": ["setImmediate("],
    "core/platform/node/http/http1-connection.ts": ["this.#answer("],
    "crowd/relay/kubernetes/mirrored-reads.ts": ["this.#deps.shadow?.look("],
    "crowd/relay/pass-through.ts": ["Promise.all("],
    "crowd/relay/relay.ts": ["this.#balance("],
    "crowd/relay/access/stream-review.ts": ["this.#look("],
    "crowd/relay/xds/xds-call.ts": ["this.#identify(", "this.#decide(", "this.#review("],
    "loops/controllers/framework/eviction-line.ts": ["grant.then("],
    "loops/scheduler/bind.ts": ["this.#bind(", "this.#bindWhenReady(", "this.#prepare("],
    "loops/scheduler/gangs/gang-shell.ts": ["evictVictim("],
    "loops/scheduler/gangs/group-status.ts": ["this.#patch("],
    "loops/scheduler/conditions.ts": ["this.#patch("],
    // A grant that fails is logged; the region asks again.
    "loops/regions/coordinator/region-connection.ts": ["this.#answerFence("],
    "loops/scheduler/preemptor.ts": ["evictVictim("],
    // A sink that fails is an answer of false, and a fetch that fails leaves the keys as they are.
    "gate/server/audit/trail.ts": ["this.stage("],
    "gate/auth/issuers/issuer-keys.ts": ["this.refresh("],
    "run/cmd/shared/encryption.ts": ["this.#takeWithPlugins("],
    "run/cmd/plane/authentication/issuers.ts": ["tokens.warmUp("],
    // Its events are stored or lost, and counted; the end of a thread is heard by its exit.
    "run/cmd/plane/workers/audit-desk.ts": ["allStored("],
    "run/cmd/plane/workers/pool.ts": ["worker.terminate("],
    // It catches what its client does.
    "gate/server/websocket-stream.ts": ["sink.untilLeft("],
    // It answers 502, or breaks its stream.
    "run/cmd/region/tunnel.ts": ["passed("],
    // What could not be written fails its session.
    "crowd/sinks/drivers/kafka.ts": ["this.#writing?.then("],
    "commit/stocketcd/compactor.ts": ["this.#round("],
    "commit/postgres/log-cluster.ts": ["watchAgain("],
    "commit/store/auto-compact.ts": ["this.#tick("],
    "commit/store/embedded.ts": ["deps.engine.deposed?.then("],
    "commit/store/engines/local/room.ts": ["this.look("],
    // `failed` never rejects.
    "commit/store/replica.ts": ["owner.failed.then("],
    "commit/store/watches.ts": ["Promise.resolve("],
  };

  test("every promise that nobody waits for is known, and catches what goes wrong", () => {
    const found: string[] = [];
    for (const file of globSync("**/*.ts", { cwd: join(root, "src") })) {
      if (/^run\/sim\/|\/gen\/|\/testing\/|\.(?:test|bench)\.ts$/.test(file)) continue;
      const text = readFileSync(join(root, "src", file), "utf8");
      for (const [, call = ""] of text.matchAll(/(?:^|[{;>]|else)\s*void ([\w.#?]+\()/gm)) {
        // Synchronous calls whose result is dropped.
        if (/\.(?:push|add|delete|set|end|destroy|once|after|view|send\?\.)\($|^\d/.test(call))
          continue;
        if (dropped[file]?.includes(call) !== true) found.push(`${file}: ${call}`);
      }
    }
    assert.deepEqual(found, []);
  });

  test("a pod that cannot be decided is tried again, and does not hold up the others", async () => {
    const clock = new FakeClock();
    const api = createFakeApi({ clock });
    for (const name of ["n1", "n2", "n3"]) await api.create(nodesRef, "", makeNode(name));
    const { log, lines } = keptLog();
    const plain = new FakeRandom(3);
    const choose = once();
    // Among three nodes alike the scheduler draws one.
    const random = changed(plain, {
      below: (bound: number) => {
        if (bound === 3) choose();
        return plain.below(bound);
      },
    });
    const deps = { client: api, clock, log };
    const informers = createInformerSet({ ...deps, random: plain });
    const scheduler = createScheduler({ ...deps, random, informers }, schedulerDefaults);
    const stop = new AbortController();
    const running = Promise.all([informers.run(stop.signal), scheduler.run(stop.signal)]);
    await clock.advance(50);
    for (const name of ["first", "second"]) await api.create(podsRef, "a", makePod(name));
    await clock.advance(50);
    const nodeOf = (name: string): string =>
      api.peek<Pod>(podsRef, "a", name)?.spec?.nodeName ?? "";
    assert.deepEqual(
      lines.filter((line) => line.message === "a pod could not be decided").length,
      1,
    );
    assert.notEqual(nodeOf("second"), "", "the other pod was held up");
    await clock.advance(60_000);
    assert.notEqual(nodeOf("first"), "", "it was not tried again");
    stop.abort();
    await running;
  });

  test("the store stops, and says so, when what is durable cannot be published", async () => {
    const deps = { clock: new FakeClock(), random: new FakeRandom(1), log: silentLog };
    const store = await openMemoryStore(deps, recommendedOptions);
    const range = { start: "" as never, end: "\uffff" as never };
    store.watch(range, store.commitRevision, {
      deliver: () => {
        throw new Error("a sink that throws");
      },
    } as never);
    await Promise.resolve();
    await store.put("a" as never, new Uint8Array([1]), {}).catch(() => undefined);
    assert.match((await store.failed).message, /a sink that throws/);
  });

  test("a watch whose objects cannot be shown ends with an ERROR event, and its neighbours go on", () => {
    const clock = new FakeClock();
    const sent = { events: { count: 0 }, bytes: { observeTogether: () => {} } };
    const deps = {
      deadlines: streamDeadlines(clock),
      joiner: new FrameJoiner(),
      turns: new StreamTurns(clock),
      open: new Set<WatchStream>(),
      sent,
    };
    const stream = new WatchStream(deps, {
      apiVersion: "v1",
      kind: "Pod",
      timeoutMs: 60_000,
      allowBookmarks: false,
      convert: ({ object }) => object,
    });
    const format = jsonFormat("odd", () => {
      throw new TypeError("an object nobody can show");
    });
    const response = stream.byteResponse({ ...format, event: () => once()() as never }, {});
    const written: string[] = [];
    let ended = false;
    assert.equal(response.kind, "stream");
    if (response.kind !== "stream") return;
    response.open({
      write: (chunks) => {
        for (const chunk of chunks) written.push(Buffer.from(chunk).toString());
        return true;
      },
      onDrain: () => {},
      end: () => {
        ended = true;
      },
      get closed() {
        return ended;
      },
    });
    const item = { type: "ADDED", object: {}, revision: 1 } as never;
    assert.equal(stream.deliver([item]), true);
    assert.ok(ended);
    assert.match(written.join(""), /"type":"ERROR".*the disk is gone/);
  });
});

describe("the process", () => {
  const script = (lines: string): ReturnType<typeof spawnSync> => {
    const text = `
      import { NodeClock } from "#platform/node/clock.ts";
      import { nodeLog } from "#platform/node/log.ts";
      import { AssertionError } from "#base/assert.ts";
      import { supervised } from "#cmd/shared/supervise.ts";
      const log = nodeLog({ level: "warn", destination: 2 });
      const { supervisor } = supervised({ clock: new NodeClock(), log });
      ${lines}
    `;
    const args = ["--input-type=module-typescript", "-e", text];
    return spawnSync(process.execPath, args, { cwd: root, encoding: "utf8", timeout: 60_000 });
  };

  test("lives on after an uncaught error and an unhandled rejection, and counts them", () => {
    const result = script(`
      setImmediate(() => { throw new Error("a socket is gone"); });
      void Promise.reject(new Error("nobody waited"));
      setTimeout(() => console.log(JSON.stringify([...supervisor.failures()])), 50);
    `);
    assert.equal(result.status, 0, String(result.stderr));
    assert.match(String(result.stdout), /\[\["unhandled"\],1\],\[\["uncaught"\],1\]/);
    assert.match(String(result.stderr), /"loop":"uncaught".*a socket is gone/);
    assert.match(String(result.stderr), /"loop":"unhandled".*nobody waited/);
  });

  test("ends with code 2 and one clear line at a bug", () => {
    const result = script(`
      setImmediate(() => { throw new AssertionError("revisions are not dense", { at: 7 }); });
      setTimeout(() => console.log("still here"), 5_000);
    `);
    assert.equal(result.status, 2);
    assert.equal(result.stdout, "");
    assert.match(
      String(result.stderr),
      /^pilothouse: this is a bug, and the process stops: .*revisions are not dense \{"at":7\}/,
    );
  });
});
