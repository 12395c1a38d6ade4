/**
 * The messages of etcd's v3 API (etcdserverpb, mvccpb), field by field, as etcd 3.6 numbers them.
 * Requests and responses of services that are only ever answered with an error are not here.
 */
import {
  big,
  bool,
  bytes,
  int,
  key,
  list,
  many,
  message,
  nested,
  text,
  unsigned,
  type Message,
} from "./etcd-codec.ts";

export const header = message({
  clusterId: unsigned(1),
  memberId: unsigned(2),
  revision: int(3),
  raftTerm: unsigned(4),
});

export const keyValue = message({
  key: key(1),
  createRevision: int(2),
  modRevision: int(3),
  version: int(4),
  value: bytes(5),
  lease: big(6),
});

export const EventType = { put: 0, delete: 1 } as const;
export const event = message({
  type: int(1),
  kv: nested(2, () => keyValue),
  prevKv: nested(3, () => keyValue),
});

// KV

export const SortOrder = { none: 0, ascend: 1, descend: 2 } as const;
export const SortTarget = { key: 0, version: 1, create: 2, mod: 3, value: 4 } as const;

export const rangeRequest = message({
  key: key(1),
  rangeEnd: key(2),
  limit: int(3),
  revision: int(4),
  sortOrder: int(5),
  sortTarget: int(6),
  serializable: bool(7),
  keysOnly: bool(8),
  countOnly: bool(9),
  minModRevision: int(10),
  maxModRevision: int(11),
  minCreateRevision: int(12),
  maxCreateRevision: int(13),
});

export const rangeResponse = message({
  header: nested(1, () => header),
  kvs: many(2, () => keyValue),
  more: bool(3),
  count: int(4),
});

export const rangeStreamResponse = message({ rangeResponse: nested(1, () => rangeResponse) });

export const putRequest = message({
  key: key(1),
  value: bytes(2),
  lease: big(3),
  prevKv: bool(4),
  ignoreValue: bool(5),
  ignoreLease: bool(6),
});

export const putResponse = message({
  header: nested(1, () => header),
  prevKv: nested(2, () => keyValue),
});

export const deleteRangeRequest = message({ key: key(1), rangeEnd: key(2), prevKv: bool(3) });

export const deleteRangeResponse = message({
  header: nested(1, () => header),
  deleted: int(2),
  prevKvs: many(3, () => keyValue),
});

export const CompareResult = { equal: 0, greater: 1, less: 2, notEqual: 3 } as const;
export const CompareTarget = { version: 0, create: 1, mod: 2, value: 3, lease: 4 } as const;

export const compare = message({
  result: int(1),
  target: int(2),
  key: key(3),
  version: int(4),
  createRevision: int(5),
  modRevision: int(6),
  value: bytes(7),
  lease: big(8),
  rangeEnd: key(64),
});

/** At most one field is set. */
export interface RequestOp {
  readonly range: RangeRequest | undefined;
  readonly put: PutRequest | undefined;
  readonly deleteRange: DeleteRangeRequest | undefined;
  readonly txn: TxnRequest | undefined;
}

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export interface ResponseOp {
  readonly range: RangeResponse | undefined;
  readonly put: PutResponse | undefined;
  readonly deleteRange: DeleteRangeResponse | undefined;
  readonly txn: TxnResponse | undefined;
}

export interface TxnResponse {
  readonly header: Header | undefined;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export const requestOp: Message<RequestOp> = message({
  range: nested(1, () => rangeRequest),
  put: nested(2, () => putRequest),
  deleteRange: nested(3, () => deleteRangeRequest),
  txn: nested(4, () => txnRequest),
});

export const txnRequest: Message<TxnRequest> = message({
  compare: many(1, () => compare),
  success: many(2, () => requestOp),
  failure: many(3, () => requestOp),
});

export const responseOp: Message<ResponseOp> = message({
  range: nested(1, () => rangeResponse),
  put: nested(2, () => putResponse),
  deleteRange: nested(3, () => deleteRangeResponse),
  txn: nested(4, () => txnResponse),
});

export const txnResponse: Message<TxnResponse> = message({
  header: nested(1, () => header),
  succeeded: bool(2),
  responses: many(3, () => responseOp),
});

export const compactionRequest = message({ revision: int(1), physical: bool(2) });

/** Also the answer of all calls without results. */
export const headerResponse = message({ header: nested(1, () => header) });

// Watch

export const FilterType = { noPut: 0, noDelete: 1 } as const;

export const watchCreateRequest = message({
  key: key(1),
  rangeEnd: key(2),
  startRevision: int(3),
  progressNotify: bool(4),
  filters: list(int(5)),
  prevKv: bool(6),
  watchId: int(7),
  fragment: bool(8),
});

export const watchRequest = message({
  create: nested(1, () => watchCreateRequest),
  cancel: nested(2, () => message({ watchId: int(1) })),
  progress: nested(3, () => message({})),
});

export const watchResponse = message({
  header: nested(1, () => header),
  watchId: int(2),
  created: bool(3),
  canceled: bool(4),
  compactRevision: int(5),
  cancelReason: text(6),
  fragment: bool(7),
  events: many(11, () => event),
});

/** Like `watchResponse`, with encoded events, which are shared by many watches. */
export const watchResponseRaw = message({
  header: nested(1, () => header),
  watchId: int(2),
  fragment: bool(7),
  events: list(bytes(11)),
});

// Lease

export const leaseGrantRequest = message({ ttl: int(1), id: big(2) });
export const leaseGrantResponse = message({
  header: nested(1, () => header),
  id: big(2),
  ttl: int(3),
  error: text(4),
});
export const leaseRevokeRequest = message({ id: big(1) });
export const leaseKeepAliveRequest = message({ id: big(1) });
export const leaseKeepAliveResponse = message({
  header: nested(1, () => header),
  id: big(2),
  ttl: int(3),
});
export const leaseTimeToLiveRequest = message({ id: big(1), keys: bool(2) });
export const leaseTimeToLiveResponse = message({
  header: nested(1, () => header),
  id: big(2),
  ttl: int(3),
  grantedTtl: int(4),
  keys: list(key(5)),
});
export const leaseStatus = message({ id: big(1) });
export const leaseLeasesResponse = message({
  header: nested(1, () => header),
  leases: many(2, () => leaseStatus),
});

// Maintenance and cluster

export const AlarmAction = { get: 0, activate: 1, deactivate: 2 } as const;
export const AlarmType = { none: 0, noSpace: 1, corrupt: 2 } as const;
export const alarmRequest = message({ action: int(1), memberId: unsigned(2), alarm: int(3) });
export const alarmMember = message({ memberId: unsigned(1), alarm: int(2) });
export const alarmResponse = message({
  header: nested(1, () => header),
  alarms: many(2, () => alarmMember),
});

export const downgradeInfo = message({ enabled: bool(1), targetVersion: text(2) });
export const statusResponse = message({
  header: nested(1, () => header),
  version: text(2),
  dbSize: int(3),
  leader: unsigned(4),
  raftIndex: unsigned(5),
  raftTerm: unsigned(6),
  raftAppliedIndex: unsigned(7),
  errors: list(text(8)),
  dbSizeInUse: int(9),
  isLearner: bool(10),
  storageVersion: text(11),
  dbSizeQuota: int(12),
  downgradeInfo: nested(13, () => downgradeInfo),
});

export const hashResponse = message({ header: nested(1, () => header), hash: int(2) });
export const hashKvRequest = message({ revision: int(1) });
export const hashKvResponse = message({
  header: nested(1, () => header),
  hash: int(2),
  compactRevision: int(3),
  hashRevision: int(4),
});
export const snapshotResponse = message({
  header: nested(1, () => header),
  remainingBytes: int(2),
  blob: bytes(3),
  version: text(4),
});

export const moveLeaderRequest = message({ targetId: unsigned(1) });
export const downgradeRequest = message({ action: int(1), version: text(2) });
export const downgradeResponse = message({ header: nested(1, () => header), version: text(2) });

export const member = message({
  id: unsigned(1),
  name: text(2),
  peerUrls: list(text(3)),
  clientUrls: list(text(4)),
  isLearner: bool(5),
});
export const memberListRequest = message({ linearizable: bool(1) });
export const memberListResponse = message({
  header: nested(1, () => header),
  members: many(2, () => member),
});
export const memberIdRequest = message({ id: unsigned(1) });

export const authStatusResponse = message({
  header: nested(1, () => header),
  enabled: bool(2),
  authRevision: unsigned(3),
});

export const healthCheckRequest = message({ service: text(1) });
export const healthCheckResponse = message({ status: int(1) });
export const empty = message({});

export type Of<M> = M extends Message<infer T> ? T : never;
export type Header = Of<typeof header>;
export type WireKeyValue = Of<typeof keyValue>;
export type WireEvent = Of<typeof event>;
export type RangeRequest = Of<typeof rangeRequest>;
export type RangeResponse = Of<typeof rangeResponse>;
export type PutRequest = Of<typeof putRequest>;
export type PutResponse = Of<typeof putResponse>;
export type DeleteRangeRequest = Of<typeof deleteRangeRequest>;
export type DeleteRangeResponse = Of<typeof deleteRangeResponse>;
export type Compare = Of<typeof compare>;
export type WatchRequest = Of<typeof watchRequest>;
export type WatchCreateRequest = Of<typeof watchCreateRequest>;
export type WatchResponse = Of<typeof watchResponse>;
