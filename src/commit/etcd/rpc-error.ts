/**
 * etcd's errors, code and text, as clients match on them. The store's refusals are mapped here only.
 *
 * After  api/v3rpc/rpctypes/error.go: the texts are part of the contract, stable since 3.0.
 */
import { Code, GrpcError } from "#wire/grpc.ts";
import type { Refused, WriteRefused } from "#store/store.ts";

const { invalidArgument, outOfRange, failedPrecondition, resourceExhausted } = Code;

const errors = {
  emptyKey: [invalidArgument, "etcdserver: key is not provided"],
  keyNotFound: [invalidArgument, "etcdserver: key not found"],
  valueProvided: [invalidArgument, "etcdserver: value is provided"],
  leaseProvided: [invalidArgument, "etcdserver: lease is provided"],
  tooManyOps: [invalidArgument, "etcdserver: too many operations in txn request"],
  duplicateKey: [invalidArgument, "etcdserver: duplicate key given in txn request"],
  invalidSortOption: [invalidArgument, "etcdserver: invalid sort option"],
  requestTooLarge: [invalidArgument, "etcdserver: request is too large"],
  compacted: [outOfRange, "etcdserver: mvcc: required revision has been compacted"],
  futureRevision: [outOfRange, "etcdserver: mvcc: required revision is a future revision"],
  noSpace: [resourceExhausted, "etcdserver: mvcc: database space exceeded"],
  corrupt: [Code.dataLoss, "etcdserver: corrupt cluster"],
  tooManyRequests: [resourceExhausted, "etcdserver: too many requests"],
  leaseNotFound: [Code.notFound, "etcdserver: requested lease not found"],
  leaseExists: [failedPrecondition, "etcdserver: lease already exists"],
  leaseTtlTooLarge: [outOfRange, "etcdserver: too large lease TTL"],
  memberNotFound: [Code.notFound, "etcdserver: member not found"],
  rootUserNotExist: [failedPrecondition, "etcdserver: root user does not exist"],
  userNotFound: [failedPrecondition, "etcdserver: user name not found"],
  roleNotFound: [failedPrecondition, "etcdserver: role name not found"],
  authNotEnabled: [failedPrecondition, "etcdserver: authentication is not enabled"],
  notLeader: [failedPrecondition, "etcdserver: not leader"],
  badLeaderTransferee: [failedPrecondition, "etcdserver: bad leader transferee"],
  invalidDowngradeTarget: [invalidArgument, "etcdserver: invalid downgrade target version"],
  downgradeFormat: [invalidArgument, "etcdserver: wrong downgrade target version format"],
  unknownMethod: [Code.unknown, "etcdserver: unknown method"],
  timedOut: [Code.unavailable, "etcdserver: request timed out"],
  noLeader: [Code.unavailable, "etcdserver: no leader"],
  leaderChanged: [Code.unavailable, "etcdserver: leader changed"],
  stopped: [Code.unavailable, "etcdserver: server stopped"],
  streamSorted: [Code.unimplemented, "RangeStream does not support custom sort orders"],
  streamFiltered: [Code.unimplemented, "RangeStream does not support revision filters"],
  oneMember: [
    Code.unimplemented,
    "etcdserver: this store is a single member; members cannot be added, changed or removed",
  ],
  noAuth: [
    Code.unimplemented,
    "etcdserver: this store keeps no users or roles; use client certificates",
  ],
} as const satisfies Record<string, readonly [Code, string]>;

export type ErrorName = keyof typeof errors;

export function etcdError(name: ErrorName): GrpcError {
  const [code, text] = errors[name];
  return new GrpcError(code, text);
}

export function readError(refused: Refused): GrpcError {
  return etcdError(refused.kind === "compacted" ? "compacted" : "futureRevision");
}

const writeErrors = {
  "no-space": "noSpace",
  "too-large": "requestTooLarge",
  "lease-not-found": "leaseNotFound",
  stopped: "stopped",
} as const satisfies Record<WriteRefused["kind"], ErrorName>;

export function writeError(refused: WriteRefused): GrpcError {
  return etcdError(writeErrors[refused.kind]);
}
