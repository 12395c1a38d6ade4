/**
 * Random steps against the etcd API. Revisions in them are relative, so that a step means the same
 * when those before it are shrunk away: 0 is left as it is (the newest, or no filter), -1 is the
 * newest revision, -2 the one before, and 1 the next that there will be.
 */
import fc from "fast-check";
import type * as m from "#wire/etcd-messages.ts";
import type { Restart } from "./etcd-api.ts";
import type { WatchSpec } from "./etcd-model-watch.ts";

export type Step =
  | { readonly kind: "range"; readonly request: m.RangeRequest }
  | { readonly kind: "put"; readonly request: m.PutRequest }
  | { readonly kind: "delete"; readonly request: m.DeleteRangeRequest }
  | { readonly kind: "txn"; readonly request: m.TxnRequest }
  | { readonly kind: "compact"; readonly revision: number }
  | { readonly kind: "grant"; readonly id: bigint; readonly rounds: number }
  | { readonly kind: "revoke" | "keepAlive"; readonly id: bigint }
  | { readonly kind: "timeToLive"; readonly id: bigint; readonly keys: boolean }
  | { readonly kind: "leases" }
  | { readonly kind: "time"; readonly seconds: number }
  | {
      readonly kind: "watch";
      readonly stream: number;
      readonly spec: WatchSpec;
      readonly start: number;
    }
  | { readonly kind: "cancel"; readonly stream: number; readonly nth: number }
  | { readonly kind: "progress" | "stall" | "drain"; readonly stream: number }
  | { readonly kind: "restart"; readonly how: Restart };

const streamCount = 2;
export const leaseCount = 4;

const keys = ["a", "a/b", "b", "c", "d"];
const ends = ["", "", "", "\0", "b", "c", "a0", "e"];
const values = ["", "x", "y", "yy", "long".repeat(50)];

const often = <T>(arbitrary: fc.Arbitrary<T>, weight: number): fc.WeightedArbitrary<T> => ({
  arbitrary,
  weight,
});
const key = fc.oneof(often(fc.constantFrom(...keys), 60), often(fc.constant(""), 1));
const span = { key, rangeEnd: fc.constantFrom(...ends) };
const value = fc.constantFrom(...values).map((text) => Buffer.from(text));
const rarely = fc.oneof(often(fc.constant(false), 5), often(fc.constant(true), 1));
const lease = fc.oneof(
  often(fc.constant(0n), 3),
  often(fc.bigInt({ min: 1n, max: BigInt(leaseCount) }), 2),
);
/** Relative revision to read at, or to filter by. */
const past = fc.oneof(often(fc.constant(0), 3), often(fc.integer({ min: -12, max: 1 }), 1));
const filter = fc.oneof(often(fc.constant(0), 6), often(fc.integer({ min: -8, max: 1 }), 1));

const range: fc.Arbitrary<m.RangeRequest> = fc.record({
  ...span,
  limit: fc.constantFrom(0, 0, 1, 2, 4),
  revision: past,
  sortOrder: fc.constantFrom(0, 0, 1, 2),
  sortTarget: fc.constantFrom(0, 0, 1, 2, 3, 4),
  serializable: fc.boolean(),
  keysOnly: rarely,
  countOnly: rarely,
  minModRevision: filter,
  maxModRevision: filter,
  minCreateRevision: filter,
  maxCreateRevision: filter,
});
const put: fc.Arbitrary<m.PutRequest> = fc
  .record({
    key,
    value,
    lease,
    prevKv: fc.boolean(),
    ignoreValue: rarely,
    ignoreLease: rarely,
    /** Whether the client ignores the rules. */
    careless: rarely,
  })
  .map(({ careless, ...one }) => ({
    ...one,
    value: one.ignoreValue && !careless ? Buffer.alloc(0) : one.value,
    lease: one.ignoreLease && !careless ? 0n : one.lease,
  }));
const deletion: fc.Arbitrary<m.DeleteRangeRequest> = fc.record({ ...span, prevKv: fc.boolean() });
const compare: fc.Arbitrary<m.Compare> = fc.record({
  ...span,
  result: fc.constantFrom(0, 0, 1, 2, 3),
  target: fc.constantFrom(0, 1, 2, 3, 4),
  version: fc.nat(3),
  createRevision: past,
  modRevision: past,
  value,
  lease,
});
const nothing = { range: undefined, put: undefined, deleteRange: undefined, txn: undefined };

function txnOf(depth: number): fc.Arbitrary<m.TxnRequest> {
  const ops = fc.array(opOf(depth), { maxLength: 4 });
  return fc.record({
    compare: fc.array(compare, { maxLength: 2 }),
    success: ops,
    failure: ops,
  });
}

function opOf(depth: number): fc.Arbitrary<m.RequestOp> {
  const plain = [
    often(
      put.map((one): m.RequestOp => ({ ...nothing, put: one })),
      4,
    ),
    often(
      range.map((one): m.RequestOp => ({ ...nothing, range: one })),
      2,
    ),
    often(
      deletion.map((one): m.RequestOp => ({ ...nothing, deleteRange: one })),
      2,
    ),
    often(fc.constant<m.RequestOp>(nothing), 0),
  ];
  if (depth === 0) return fc.oneof(...plain);
  const nested = txnOf(depth - 1).map((one): m.RequestOp => ({ ...nothing, txn: one }));
  return fc.oneof(...plain, often(nested, 2));
}

const watchSpec: fc.Arbitrary<WatchSpec> = fc.record({
  key: fc.constantFrom(...keys),
  rangeEnd: fc.constantFrom(...ends),
  noPut: rarely,
  noDelete: rarely,
  prevKv: fc.boolean(),
  fragment: fc.boolean(),
  progressNotify: fc.boolean(),
  watchId: fc.constantFrom(0, 0, 0, 1, 7),
});

const id = fc.bigInt({ min: 1n, max: BigInt(leaseCount) });
const stream = fc.nat(streamCount - 1);
const is = <K extends string>(kind: K): fc.Arbitrary<K> => fc.constant(kind);

export const step: fc.Arbitrary<Step> = fc.oneof(
  often(fc.record({ kind: is("put"), request: put }), 8),
  often(fc.record({ kind: is("txn"), request: txnOf(2) }), 8),
  often(fc.record({ kind: is("range"), request: range }), 8),
  often(fc.record({ kind: is("delete"), request: deletion }), 3),
  often(fc.record({ kind: is("compact"), revision: fc.integer({ min: -8, max: 1 }) }), 2),
  often(fc.record({ kind: is("grant"), id, rounds: fc.nat(2) }), 2),
  often(fc.record({ kind: fc.constantFrom("revoke", "keepAlive"), id }), 2),
  often(fc.record({ kind: is("timeToLive"), id, keys: fc.boolean() }), 1),
  often(fc.record({ kind: is("leases") }), 1),
  often(fc.record({ kind: is("time"), seconds: fc.integer({ min: 1, max: 6 }) }), 2),
  often(
    fc.record({
      kind: is("watch"),
      stream,
      spec: watchSpec,
      start: fc.oneof(fc.constant(0), fc.integer({ min: -12, max: 3 })),
    }),
    5,
  ),
  often(fc.record({ kind: is("cancel"), stream, nth: fc.nat(5) }), 1),
  often(fc.record({ kind: fc.constantFrom("progress", "stall", "drain"), stream }), 7),
  often(
    fc.record({ kind: is("restart"), how: fc.constantFrom<Restart>("close", "kill", "power cut") }),
    1,
  ),
);

/** Returns the absolute revision of a relative one when `head` is the newest revision. */
export function absolute(revision: number, head: number): number {
  if (revision === 0) return 0;
  return revision > 0 ? head + revision : Math.max(1, head + 1 + revision);
}

export function absoluteRange(request: m.RangeRequest, head: number): m.RangeRequest {
  return {
    ...request,
    revision: absolute(request.revision, head),
    minModRevision: absolute(request.minModRevision, head),
    maxModRevision: absolute(request.maxModRevision, head),
    minCreateRevision: absolute(request.minCreateRevision, head),
    maxCreateRevision: absolute(request.maxCreateRevision, head),
  };
}

export function absoluteTxn(request: m.TxnRequest, head: number): m.TxnRequest {
  const op = (one: m.RequestOp): m.RequestOp => ({
    ...one,
    range: one.range && absoluteRange(one.range, head),
    txn: one.txn && absoluteTxn(one.txn, head),
  });
  return {
    compare: request.compare.map((one) => ({
      ...one,
      createRevision: absolute(one.createRevision, head),
      modRevision: absolute(one.modRevision, head),
    })),
    success: request.success.map(op),
    failure: request.failure.map(op),
  };
}
