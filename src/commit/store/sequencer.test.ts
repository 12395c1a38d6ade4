/** Message in, decision out: the sequencer alone, without a committer, an engine or a clock that moves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionError } from "#base/assert.ts";
import { concatBytes } from "#base/bytes.ts";
import { given } from "#base/given.ts";
import { Batch } from "./batch.ts";
import type { Command, Decision } from "./command.ts";
import { Leases } from "./leases.ts";
import { Mvcc } from "./mvcc.ts";
import type { StateQuota } from "./options.ts";
import { Sequencer } from "./sequencer.ts";
import { Slabs } from "./slabs.ts";
import type { LeaseId } from "./store.ts";
import { bytes, key, newWorld, rev } from "./testing/fixture.ts";

const noLease = 0n as LeaseId;

interface Turn {
  readonly mvcc: Mvcc;
  readonly batch: Batch;
  readonly send: (command: Command) => Decision;
}

function newTurn(quotaBytes = 2 ** 20, stateQuota?: StateQuota): Turn {
  const mvcc = new Mvcc(new Slabs(4096), 1);
  const leases = new Leases(newWorld(1).clock);
  const limits = {
    epoch: 1,
    quotaBytes,
    valueBytesMax: 100,
    ...given({ stateQuota }),
  };
  const sequencer = new Sequencer({ mvcc, leases }, limits);
  const batch = new Batch(1);
  return { mvcc, batch, send: (command) => sequencer.sequence(batch, command) };
}

function put(name: string, guard?: number, lease = noLease): Command {
  const modRevision = guard === 0 ? 0 : rev(guard ?? 0);
  const fields = { key: key(name), value: bytes("v"), lease };
  return { kind: "put", ...fields, guard: guard === undefined ? undefined : { modRevision } };
}

function remove(name: string): Command {
  return { kind: "delete", key: key(name), guard: undefined };
}

void test("an answer waits for the change that it depends on, and for nothing else", () => {
  const { send } = newTurn();
  assert.equal(send(put("a")).after, 2);
  assert.equal(send(put("b")).after, 3);
  assert.deepEqual(kindAndAfter(send(put("a", 0))), ["conflict", 2]);
  assert.deepEqual(kindAndAfter(send(remove("b"))), ["committed", 4]);
  assert.deepEqual(kindAndAfter(send(remove("b"))), ["missing", 4]);
  assert.deepEqual(kindAndAfter(send(remove("c"))), ["missing", 0]);
  assert.deepEqual(kindAndAfter(send(put("d", undefined, 7n as LeaseId))), [
    "lease-not-found",
    "all",
  ]);
});

void test("a refused command takes no revision and adds no record", () => {
  const { mvcc, batch, send } = newTurn(500);
  send(put("a"));
  send({ kind: "grant-lease", id: 5n, ttlMs: 1000 });
  const { items, bytes: batchBytes } = batch;
  const transact = (value: string): Command => ({
    kind: "transact",
    run: (transaction) => transaction.put(key("t"), bytes(value), noLease),
    noSpace: undefined,
  });
  const refused: readonly (readonly [string, Command])[] = [
    ["conflict", put("a", 0)],
    ["conflict", put("b", 2)],
    ["lease-not-found", put("b", undefined, 6n as LeaseId)],
    ["missing", remove("b")],
    ["lease", { kind: "grant-lease", id: 5n, ttlMs: 1 }],
    ["lease", { kind: "end-lease", id: 6n }],
    ["durable", { kind: "barrier" }],
    ["too-large", transact("v".repeat(101))],
  ];
  for (const [kind, command] of refused) {
    const { answer, effect } = send(command);
    assert.deepEqual([answer.kind, effect], [kind, undefined]);
  }
  assert.deepEqual([batch.items, batch.bytes, mvcc.headRevision], [items, batchBytes, 2]);
});

void test("a put that fits the quota is accepted, and one beyond it is refused at once", () => {
  const { send } = newTurn(150);
  assert.equal(send(put("a")).answer.kind, "committed");
  assert.equal(send(put("b")).answer.kind, "committed");
  assert.deepEqual(kindAndAfter(send(put("c"))), ["no-space", 0]);
});

void test("what a transaction's function throws is its answer, and leaves no trace", () => {
  const { mvcc, batch, send } = newTurn();
  send(put("a"));
  const error = new Error("of the caller");
  const { answer, after } = send({
    kind: "transact",
    run: (transaction) => {
      transaction.put(key("a"), bytes("w"), noLease);
      throw error;
    },
    noSpace: undefined,
  });
  assert.deepEqual([answer, after], [{ kind: "threw", error }, 2]);
  assert.deepEqual([batch.items, mvcc.headRevision], [1, 2]);
});

void test("a transaction's function may not submit a command, nor change anything later", () => {
  const { send } = newTurn();
  const nested = send({ kind: "transact", run: () => send(put("a")), noSpace: undefined });
  assert.ok(nested.answer.kind === "threw" && nested.answer.error instanceof AssertionError);
  const { answer } = send({ kind: "transact", run: (kept) => kept, noSpace: undefined });
  assert.ok(answer.kind === "done");
  const kept = answer.answer as { readonly delete: (name: string) => void };
  assert.throws(() => kept.delete("a"), AssertionError);
});

void test("the same commands give the same decisions and the same bytes", () => {
  const run = (): readonly [readonly Decision[], Uint8Array] => {
    const { batch, send } = newTurn();
    const commands: readonly Command[] = [
      { kind: "epoch" },
      { kind: "grant-lease", id: 5n, ttlMs: 1000 },
      put("a", 0, 5n as LeaseId),
      put("b"),
      {
        kind: "transact",
        run: (all) => [all.delete(key("b")), all.delete(key("a"))],
        noSpace: undefined,
      },
      put("c", undefined, 5n as LeaseId),
      { kind: "end-lease", id: 5n },
      { kind: "compact", revision: 3 },
    ];
    return [commands.map(send), concatBytes(batch.buffers())];
  };
  const [decisions, written] = run();
  assert.deepEqual(run(), [decisions, written]);
  assert.deepEqual(
    decisions.map(({ effect }) => effect?.kind),
    [
      undefined,
      "lease-granted",
      undefined,
      undefined,
      undefined,
      undefined,
      "lease-ended",
      "compacted",
    ],
  );
});

function kindAndAfter({ answer, after }: Decision): readonly [string, number | "all"] {
  return [answer.kind, after];
}

function putOf(name: string, size: number): Command {
  const value = new Uint8Array(size);
  return { kind: "put", key: key(name), value, guard: undefined, lease: noLease };
}

void test("at its quota of keys no key is added, those that are there are updated, and a delete makes room", () => {
  const { mvcc, send } = newTurn(2 ** 20, { keysMax: 2, bytesMax: 2 ** 20 });
  const kinds = (...commands: readonly Command[]): string[] =>
    commands.map((command) => kindAndAfter(send(command))[0] as string);
  assert.deepEqual(kinds(put("a"), put("b"), put("c")), ["committed", "committed", "no-space"]);
  assert.deepEqual(kinds(putOf("a", 90), put("a")), ["committed", "committed"]);
  const both: Command = {
    kind: "transact",
    run(transaction) {
      transaction.put(key("a"), bytes("v"), noLease);
      transaction.put(key("d"), bytes("v"), noLease);
    },
    noSpace: undefined,
  };
  assert.deepEqual(kinds(both), ["no-space"]);
  assert.equal(mvcc.stateKeys, 2);
  assert.deepEqual(kinds(remove("b"), put("c"), put("d")), ["committed", "committed", "no-space"]);
  assert.equal(mvcc.stateKeys, 2);
});

void test("at its quota of bytes no key is added, and those that are there grow by an eighth of it in all", () => {
  const { mvcc, send } = newTurn(2 ** 20, { keysMax: 100, bytesMax: 400 });
  const kindOf = (command: Command): unknown => kindAndAfter(send(command))[0];
  let at = 0;
  while (kindOf(putOf(`k${at}`, 10)) === "committed") at++;
  assert.ok(mvcc.stateBytes <= 400);
  const grown: unknown[] = [];
  for (let key = 0; key < at; key++) grown.push(kindOf(putOf(`k${key}`, 50)));
  assert.equal(grown[0], "committed");
  assert.equal(grown.at(-1), "no-space");
  assert.ok(mvcc.stateBytes > 400 && mvcc.stateBytes <= 450, `${mvcc.stateBytes}`);
  assert.equal(kindOf(putOf("k0", 50)), "committed", "an update that does not grow");
  assert.equal(kindOf(putOf("new", 0)), "no-space");
  for (let key = 0; key < at; key++) assert.equal(kindOf(remove(`k${key}`)), "committed");
  assert.equal(mvcc.stateBytes, 0);
  assert.equal(kindOf(putOf("new", 30)), "committed");
});
