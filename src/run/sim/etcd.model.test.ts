/**
 * The etcd API against a model too simple to be wrong, step by step, with shrinking: nested
 * transactions, ranges with every option, leases and their time, compactions, watches of many kinds
 * on shared streams, and restarts between. PILOTHOUSE_RUNS for more, PILOTHOUSE_SEED for one again.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { FullStore } from "#store/full-store.ts";
import * as m from "#wire/etcd-messages.ts";
import { framed, prefixBytes } from "#wire/grpc.ts";
import type { Message } from "#wire/etcd-codec.ts";
import type { Methods } from "./grpc-network.ts";
import { changed } from "#platform/testing/changed.ts";
import type { ApiEngine, ApiPlanted } from "./testing/etcd-api.ts";
import { ModelRun } from "./testing/etcd-model-run.ts";
import { step } from "./testing/etcd-steps.ts";
import type { Step } from "./testing/etcd-steps.ts";

const runs = Number(process.env["PILOTHOUSE_RUNS"] ?? 80);
const seed = Number(process.env["PILOTHOUSE_SEED"] ?? Date.now() % 2 ** 31);
const stepsMax = 60;
/** A planted bug shows within 200 runs, mostly; the search ends with the first that shows it. */
const plantedRuns = 5000;

async function follow(
  engine: ApiEngine,
  steps: readonly Step[],
  planted: ApiPlanted = {},
): Promise<void> {
  const run = await ModelRun.start(engine, planted);
  for (const one of steps) await run.step(one);
  await run.end();
}

function property(engine: ApiEngine, planted: ApiPlanted = {}) {
  const steps = fc.array(step, { minLength: 1, maxLength: stepsMax, size: "max" });
  return fc.asyncProperty(steps, (some) => follow(engine, some, planted));
}

for (const engine of ["memory", "local"] as const) {
  void test(`over the ${engine} engine the API answers as the model, seed ${seed}`, async () => {
    await fc.assert(property(engine), { numRuns: runs, seed });
  });
}

const nothing = { range: undefined, put: undefined, deleteRange: undefined, txn: undefined };
const put = m.putRequest.decode(m.putRequest.encode({ key: "a", value: Buffer.from("x") }));
const ignoring = { ...put, value: Buffer.alloc(0), ignoreValue: true };
const deleteFrom = { ...nothing, deleteRange: { key: "a", rangeEnd: "\0", prevKv: true } };
const spec = {
  key: "a",
  rangeEnd: "\0",
  noPut: false,
  noDelete: false,
  prevKv: true,
  fragment: false,
  progressNotify: false,
  watchId: 0,
};

/** What the model has found, shrunk: here for good. */
const found: Readonly<Record<string, readonly Step[]>> = {
  "a transaction that finds on its way that it cannot go on has changed nothing": [
    { kind: "put", request: put },
    {
      kind: "txn",
      request: {
        compare: [],
        success: [deleteFrom, { ...nothing, put: ignoring }],
        failure: [],
      },
    },
  ],
  "a key that is put and deleted in one transaction held before what it held before both": [
    { kind: "put", request: put },
    { kind: "watch", stream: 0, spec, start: 0 },
    {
      kind: "txn",
      request: { compare: [], success: [{ ...nothing, put }, deleteFrom], failure: [] },
    },
  ],
};

for (const [name, steps] of Object.entries(found)) {
  void test(name, async () => {
    for (const engine of ["memory", "local"] as const) await follow(engine, steps);
  });
}

const storeBug =
  (changes: (store: FullStore) => Partial<FullStore>): ((store: FullStore) => FullStore) =>
  (store) =>
    changed(store, changes(store));

/** An API that understands `path`'s requests as `change` has them. */
function misreading<Q>(
  path: string,
  message: Message<Q>,
  change: (request: Q) => Q,
): (methods: Methods) => Methods {
  return (methods: Methods) => {
    const method = methods.get(`/etcdserverpb.${path}`);
    if (method?.kind !== "unary") return methods;
    const answer = (bytes: Buffer): ReturnType<typeof method.answer> =>
      method.answer(message.encode(change(message.decode(bytes)) as never));
    return new Map([...methods, [`/etcdserverpb.${path}`, { kind: "unary", answer }]]);
  };
}

function misanswering<A>(
  path: string,
  message: Message<A>,
  change: (answer: A) => A,
): (methods: Methods) => Methods {
  return (methods: Methods) => {
    const method = methods.get(`/etcdserverpb.${path}`);
    if (method?.kind !== "unary") return methods;
    const answer = async (bytes: Buffer): Promise<Buffer> => {
      const frame = await method.answer(bytes);
      const whole = Buffer.isBuffer(frame) ? frame : Buffer.concat(frame);
      const changedAnswer = change(message.decode(whole.subarray(prefixBytes)));
      return framed(message.encode(changedAnswer as never, prefixBytes));
    };
    return new Map([...methods, [`/etcdserverpb.${path}`, { kind: "unary", answer }]]);
  };
}

const bugs: Readonly<Record<string, ApiPlanted>> = {
  "nested transactions take the other branch": {
    methods: misreading("KV/Txn", m.txnRequest, (request) => ({
      ...request,
      success: request.success.map((op) => ({
        ...op,
        txn: op.txn && { ...op.txn, success: op.txn.failure, failure: op.txn.success },
      })),
    })),
  },
  "a compare on a range looks at its first key": {
    methods: misreading("KV/Txn", m.txnRequest, (request) => ({
      ...request,
      compare: request.compare.map((one) => ({ ...one, rangeEnd: "" })),
    })),
  },
  "a compare of leases is of versions": {
    methods: misreading("KV/Txn", m.txnRequest, (request) => ({
      ...request,
      compare: request.compare.map((one) => (one.target === 4 ? { ...one, target: 0 } : one)),
    })),
  },
  "a descending range ascends": {
    methods: misreading("KV/Range", m.rangeRequest, (request) => ({
      ...request,
      sortOrder: request.sortOrder === 2 ? 1 : request.sortOrder,
    })),
  },
  "a filter by creation is forgotten": {
    methods: misreading("KV/Range", m.rangeRequest, (r) => ({ ...r, maxCreateRevision: 0 })),
  },
  "count is of what was returned": {
    methods: misanswering("KV/Range", m.rangeResponse, (r) => ({ ...r, count: r.kvs.length })),
  },
  "ignore_lease detaches": {
    methods: misreading("KV/Put", m.putRequest, (r) => ({ ...r, ignoreLease: false })),
  },
  "previous keys of a delete are not told": {
    methods: misreading("KV/DeleteRange", m.deleteRangeRequest, (r) => ({ ...r, prevKv: false })),
  },
  "compaction stops one short": {
    store: storeBug((store) => ({
      compact: (revision) => store.compact(Math.max(1, revision - 1) as typeof revision),
    })),
  },
  "a lease lasts a second longer": {
    store: storeBug((store) => ({ grantLeaseAs: (id, ttl) => store.grantLeaseAs(id, ttl + 1) })),
  },
  "a renewal does nothing": {
    store: storeBug((store) => ({ renewLease: (id) => store.lease(id) !== undefined })),
  },
  "a watch from the past begins one late": {
    store: storeBug((store) => ({
      watchFrom: (span, start, sink) =>
        store.watchFrom(
          span,
          (start <= store.commitRevision ? start + 1 : start) as typeof start,
          sink,
        ),
    })),
  },
  "a watch hands out one commit at a time to each, the last first": {
    store: storeBug((store) => ({
      watchFrom: (span, start, sink) =>
        store.watchFrom(span, start, {
          deliver: (commits) => sink.deliver(commits.toReversed()),
          compacted: (revision) => sink.compacted(revision),
        }),
    })),
  },
  "progress is told while a watch is behind": {
    store: storeBug((store) => ({
      watchFrom: (span, start, sink) =>
        changed(store.watchFrom(span, start, sink), { position: (2 ** 40) as typeof start }),
    })),
  },
};

void test(`each of ${Object.keys(bugs).length} bugs put into the API is found`, async () => {
  const missed: string[] = [];
  for (const [name, planted] of Object.entries(bugs)) {
    const { failed } = await fc.check(property("memory", planted), {
      numRuns: plantedRuns,
      seed,
      endOnFailure: true,
    });
    if (!failed) missed.push(name);
  }
  assert.deepEqual(missed, [], `seed ${seed}`);
});
