/** The committer over a sequencer that can fail, and an engine in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#platform/log.ts";
import type { TurnRest } from "#platform/turn-rest.ts";
import { Committer } from "./commit.ts";
import type { PutCommand } from "./command.ts";
import { MemoryEngine, MemoryLog } from "./engines/memory.ts";
import { Leases } from "./leases.ts";
import { Mvcc } from "./mvcc.ts";
import { Recovery } from "./recover.ts";
import { Sequencer } from "./sequencer.ts";
import { Slabs } from "./slabs.ts";
import type { LeaseId } from "./store.ts";
import type { FakeClock } from "#platform/testing/clock.ts";
import type { AppendBatch, Engine } from "./engines/engine.ts";
import { bytes, key, newWorld } from "./testing/fixture.ts";

interface Committing {
  readonly clock: FakeClock;
  readonly committer: Committer;
  readonly published: number[];
  readonly failed: Error[];
}

/** Sequencing a put of the key "bad" throws. */
async function newCommitter(
  batchItemsMax: number,
  watch: (revision: number) => void = () => undefined,
  engine: Engine = new MemoryEngine(new MemoryLog("one", "all")),
  requests?: TurnRest,
): Promise<Committing> {
  const { clock } = newWorld(1);
  const state = { mvcc: new Mvcc(new Slabs(4096), 1), leases: new Leases(newWorld(1).clock) };
  const limits = { epoch: 1, quotaBytes: 2 ** 20, valueBytesMax: 100 };
  const sequencer = new Sequencer(state, limits);
  await engine.open(new Recovery(state.mvcc, state.leases), "next");
  const published: number[] = [];
  const failed: Error[] = [];
  const committer = new Committer(
    {
      sequence: (batch, command) => {
        if (command.kind === "put" && command.key === "bad") throw new RangeError("no memory");
        return sequencer.sequence(batch, command);
      },
      engine,
      publish: (revision) => {
        published.push(revision);
        watch(revision);
      },
      onFailed: (error) => void failed.push(error),
      clock,
      log: silentLog,
      requests,
    },
    { epoch: 1, headRevision: 1, batchBytesMax: 2 ** 20, batchItemsMax },
  );
  return { committer, published, failed, clock };
}

function put(name: string): PutCommand {
  const lease = 0n as LeaseId;
  return { kind: "put", key: key(name), value: bytes("v"), guard: undefined, lease };
}

for (const [when, names] of [
  ["at once", ["a", "bad", "b"]],
  ["in its turn, after it waited for room", ["a", "b", "c", "bad", "d"]],
] as const) {
  void test(`a throw while a command is sequenced ${when} stops the store and answers every caller`, async () => {
    const { committer, failed } = await newCommitter(2);
    const answers = await Promise.all(names.map((name) => committer.submit(put(name))));
    const kinds = answers.map(({ kind }) => kind);
    assert.deepEqual(kinds.slice(names.indexOf("bad")), ["stopped", "stopped"]);
    assert.deepEqual(
      failed.map(({ message }) => message),
      ["no memory"],
    );
    assert.equal((await committer.submit(put("late"))).kind, "stopped");
  });
}

void test("a barrier is answered after everything that was submitted before it, waiting or not", async () => {
  const { committer, published } = await newCommitter(2);
  const answered: string[] = [];
  const submit = async (name: string): Promise<void> => {
    const command = name === "barrier" ? ({ kind: "barrier" } as const) : put(name);
    await (command.kind === "barrier" ? committer.submit(command) : committer.submit(command));
    answered.push(name);
  };
  await Promise.all(["a", "b", "c", "barrier", "d"].map(submit));
  assert.deepEqual(answered, ["a", "b", "c", "barrier", "d"]);
  assert.deepEqual(published, [3, 5]);
  await submit("barrier");
  assert.deepEqual(published, [3, 5]);
});

void test("a batch is published before its callers are answered, and what is published never falls", async () => {
  const { committer, published } = await newCommitter(3);
  const names = Array.from({ length: 20 }, (_, i) => `key-${i}`);
  await Promise.all(
    names.map(async (name) => {
      const answer = await committer.submit(put(name));
      assert.ok(answer.kind === "committed" && answer.revision <= (published.at(-1) ?? 0), name);
    }),
  );
  assert.deepEqual(
    published,
    published.toSorted((a, b) => a - b),
  );
  assert.equal(committer.stats().batches, published.length);
});

void test("a command that is submitted while a batch is published joins the next batch", async () => {
  const answers: Promise<{ readonly kind: string }>[] = [];
  const { committer, published } = await newCommitter(3, (revision) => {
    if (revision < 5) answers.push(committer.submit(put(`key-${revision}`)));
  });
  await committer.submit(put("first"));
  for (let i = 0; i < 10; i++) await committer.submit({ kind: "barrier" });
  const kinds = (await Promise.all(answers)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["committed", "committed", "committed"]);
  assert.deepEqual(published, [2, 3, 4, 5]);
});

void test("a batch that could not be published is not acknowledged", async () => {
  const { committer, failed } = await newCommitter(3, () => {
    throw new Error("a watcher threw");
  });
  const answers = await Promise.all(["a", "b"].map((name) => committer.submit(put(name))));
  assert.deepEqual(
    answers.map(({ kind }) => kind),
    ["stopped", "stopped"],
  );
  assert.deepEqual(
    failed.map(({ message }) => message),
    ["a watcher threw"],
  );
});

/** Appends take until the test ends them. */
class SlowEngine extends MemoryEngine {
  override readonly pace = { appendsMax: 3, besideMs: 5, gatherMs: 0 };
  readonly underWay: { readonly records: number; readonly end: (error?: Error) => void }[] = [];

  override append({ records }: AppendBatch): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (error?: Error): void => (error === undefined ? resolve() : reject(error));
    this.underWay.push({ records, end });
    return promise;
  }
}

/** Puts one key every three milliseconds. */
async function overSlowEngine(): Promise<
  Committing & { readonly engine: SlowEngine; readonly answers: Promise<{ kind: string }>[] }
> {
  const engine = new SlowEngine(new MemoryLog("one", "all"));
  const committing = await newCommitter(100, undefined, engine);
  const answers: Promise<{ kind: string }>[] = [];
  for (let i = 0; i < 10; i++) {
    answers.push(committing.committer.submit(put(`key-${i}`)));
    await committing.clock.advance(3);
  }
  return { ...committing, engine, answers };
}

void test("batches go beside one that takes long, become durable in order, and never more than may", async () => {
  const { engine, committer, published, answers } = await overSlowEngine();
  assert.deepEqual(
    engine.underWay.map(({ records }) => records),
    [1, 1, 2],
  );
  const barrier = committer.submit({ kind: "barrier" });
  for (let i = 0; i < engine.underWay.length; i++) {
    engine.underWay[i]?.end();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok((await Promise.all(answers)).every(({ kind }) => kind === "committed"));
  assert.deepEqual(published, [2, 3, 5, 11]);
  assert.equal((await barrier).kind, "durable");
});

void test("when one of several batches fails all callers are told that the store has stopped, once", async () => {
  const { engine, published, failed, answers } = await overSlowEngine();
  engine.underWay[0]?.end();
  await answers[0];
  for (const { end } of engine.underWay.slice(1)) end(new Error("the medium is gone"));
  const kinds = (await Promise.all(answers)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["committed", ...Array.from({ length: 9 }, () => "stopped")]);
  assert.deepEqual(published, [2]);
  assert.equal(failed.length, 1);
});

void test("writes of requests that begin in one turn share a batch, as far apart as they come", async () => {
  const atRest: (() => void)[] = [];
  const requests = { whenBegun: (f: () => void) => void atRest.push(f) };
  const { committer, published } = await newCommitter(100, undefined, undefined, requests);
  const answers = [];
  for (const name of ["a", "b", "c"]) {
    answers.push(committer.submit(put(name)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(atRest.length, 1);
  assert.deepEqual(published, []);
  atRest[0]?.();
  await Promise.all(answers);
  assert.deepEqual(published, [4]);
});
