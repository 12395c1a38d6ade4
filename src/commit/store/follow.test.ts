/**
 * Followers and fencing at the store's level: the records of a tail produce the same state elsewhere,
 * and a store stops when another opening has taken over its log.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FullStore } from "./full-store.ts";
import { FencedError } from "./engines/engine.ts";
import type { Engine } from "./engines/engine.ts";
import { LocalEngine } from "./engines/local/engine.ts";
import { MemoryEngine, MemoryLog } from "./engines/memory.ts";
import { Leases } from "./leases.ts";
import { Mvcc } from "./mvcc.ts";
import { openStoreOn } from "./open.ts";
import { Recovery } from "./recover.ts";
import { Slabs } from "./slabs.ts";
import { bytes, key, newWorld, plain, smallOptions } from "./testing/fixture.ts";
import type { World } from "./testing/fixture.ts";
import type { LeaseId } from "./store.ts";

const lease = 7n as LeaseId;

/** A second copy of the state, fed by the log of the first. */
class Follower {
  readonly #mvcc = new Mvcc(new Slabs(4096), 1);
  readonly #recovery: Recovery;

  constructor(world: World) {
    this.#recovery = new Recovery(this.#mvcc, new Leases(world.clock));
  }

  take(records: Uint8Array): void {
    this.#recovery.records(records, { kind: "log", file: "tail", offset: 0 });
    this.#recovery.finish();
  }

  state(): unknown {
    return stateOf(this.#mvcc);
  }
}

function stateOf(store: Pick<Mvcc | FullStore, "range"> & { readonly commitRevision: number }) {
  const all = store.range({ start: key(""), end: key("\uffff") });
  assert.equal(all.kind, "ok");
  return { revision: store.commitRevision, kvs: all.kind === "ok" ? all.kvs.map(plain) : [] };
}

async function writeSome(store: FullStore, world: World, writes: number): Promise<void> {
  for (let i = 0; i < writes; i++) {
    const name = key(`k${world.random.below(20)}`);
    const choice = world.random.below(8);
    if (choice === 0) await store.delete(name, {});
    else if (choice === 1) await store.grantLeaseAs(lease, 60);
    else if (choice === 2) await store.revokeLease(lease);
    else if (choice === 3) {
      await store.transact((transaction) => {
        for (const one of [name, key("both")]) transaction.put(one, bytes(`t${i}`), 0n as LeaseId);
      });
    } else {
      const attached = choice === 4 && store.lease(lease) !== undefined ? { lease } : {};
      await store.put(name, bytes(`v${i}`), attached);
    }
  }
}

const engines: Record<string, (world: World) => Engine> = {
  memory: () => new MemoryEngine(new MemoryLog("one", "all")),
  local: (world) => new LocalEngine(world, { ...smallOptions, directory: "/data" }),
};

for (const [name, engineOf] of Object.entries(engines)) {
  void test(`a follower of the ${name} engine's tail has the store's state, leases' ends and transactions included`, async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const world = newWorld(seed);
      const engine = engineOf(world);
      const store = await openStoreOn({ ...world, engine }, smallOptions);
      const follower = new Follower(world);
      const tail = engine.tail(0);
      for (let round = 0; round < 5; round++) {
        await writeSome(store, world, 30);
        for (let read = await tail.read(700); read.kind !== "end"; read = await tail.read(700)) {
          assert.equal(read.kind, "records", `seed ${seed}`);
          if (read.kind === "records") follower.take(read.bytes);
        }
        assert.deepEqual(follower.state(), stateOf(store), `seed ${seed}`);
      }
      await tail.close();
      await store.close();
    }
  });
}

void test("a store whose log was taken over stops, and the new one has all that was acknowledged", async () => {
  const world = newWorld(1);
  const log = new MemoryLog("one", "all");
  const old = await openStoreOn({ ...world, engine: new MemoryEngine(log) }, smallOptions);
  await writeSome(old, world, 50);
  const acknowledged = stateOf(old);
  const next = await openStoreOn({ ...world, engine: new MemoryEngine(log) }, smallOptions);
  assert.deepEqual(stateOf(next), acknowledged);
  assert.equal((await old.put(key("late"), bytes("x"), {})).kind, "stopped");
  assert.ok((await old.failed) instanceof FencedError);
  assert.equal((await next.put(key("new"), bytes("y"), {})).kind, "committed");
  assert.deepEqual(next.get(key("late")), { kind: "missing" });
  for (const store of [old, next]) await store.close();
});
