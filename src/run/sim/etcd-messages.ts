/** Converts requests and answers between the histories' form and the messages of etcd's API. */
import { Buffer } from "node:buffer";
import type { Input, Message } from "#wire/etcd-codec.ts";
import * as m from "#wire/etcd-messages.ts";
import type { Answer, Compare, Event, KeyValue, KvRequest, Request } from "./checkers/history.ts";

/** An answer and the revision in its header. */
interface Told {
  readonly revision: number;
  readonly answer: Answer;
}

interface UnaryCall {
  readonly path: string;
  readonly bytes: Buffer;
  readonly decode: (bytes: Buffer) => Told;
}

/** Member whose alarms are raised and disarmed. */
export const simMemberId = 2n;
const done: Answer = { kind: "done" };
const prevKv = true;

/** Encodes every request except renewals, which use a stream. */
export function unaryCall(request: Exclude<Request, { readonly kind: "renew" }>): UnaryCall {
  switch (request.kind) {
    case "range":
      return call("KV/Range", m.rangeRequest, m.rangeResponse, rangeOf(request), (r) =>
        rangeAnswer(r, request.limit),
      );
    case "put":
      return call("KV/Put", m.putRequest, m.putResponse, putOf(request), putAnswer);
    case "delete":
      return call(
        "KV/DeleteRange",
        m.deleteRangeRequest,
        m.deleteRangeResponse,
        deleteOf(request),
        deleteAnswer,
      );
    case "txn":
      return call("KV/Txn", m.txnRequest, m.txnResponse, txnOf(request), (r) =>
        txnAnswer(r, request),
      );
    case "compact":
      return call("KV/Compact", m.compactionRequest, m.headerResponse, request, () => done);
    case "alarms":
      return call("Maintenance/Alarm", m.alarmRequest, m.alarmResponse, alarm("get"), (r) => ({
        kind: "alarms",
        armed: r.alarms.length > 0,
      }));
    case "disarm":
      return call(
        "Maintenance/Alarm",
        m.alarmRequest,
        m.alarmResponse,
        alarm("deactivate"),
        () => done,
      );
    default:
      return leaseCall(request);
  }
}

function alarm(action: "get" | "deactivate"): Input<m.Of<typeof m.alarmRequest>> {
  const memberId = action === "get" ? 0n : simMemberId;
  return { action: m.AlarmAction[action], memberId, alarm: m.AlarmType.noSpace };
}

function leaseCall(
  request: Extract<Request, { readonly kind: "grant" | "revoke" | "remaining" | "leases" }>,
): UnaryCall {
  switch (request.kind) {
    case "grant": {
      const fields = { id: BigInt(request.lease), ttl: request.ttlSeconds };
      return call(
        "Lease/LeaseGrant",
        m.leaseGrantRequest,
        m.leaseGrantResponse,
        fields,
        () => done,
      );
    }
    case "revoke": {
      const fields = { id: BigInt(request.lease) };
      return call("Lease/LeaseRevoke", m.leaseRevokeRequest, m.headerResponse, fields, () => done);
    }
    case "remaining":
      return call(
        "Lease/LeaseTimeToLive",
        m.leaseTimeToLiveRequest,
        m.leaseTimeToLiveResponse,
        { id: BigInt(request.lease), keys: true },
        ({ ttl, grantedTtl, keys }) => ({
          kind: "lease",
          ttlSeconds: ttl,
          grantedSeconds: grantedTtl,
          keys,
        }),
      );
    case "leases":
      return call("Lease/LeaseLeases", m.empty, m.leaseLeasesResponse, {}, ({ leases }) => ({
        kind: "leases",
        leases: leases.map(({ id }) => String(id)),
      }));
    default:
      return request satisfies never;
  }
}

function call<Q, A extends { readonly header: m.Header | undefined }>(
  method: string,
  request: Message<Q>,
  response: Message<A>,
  fields: Input<Q>,
  answer: (response: A) => Answer,
): UnaryCall {
  return {
    path: `/etcdserverpb.${method}`,
    bytes: request.encode(fields),
    decode: (bytes) => {
      const decoded = response.decode(bytes);
      return { revision: decoded.header?.revision ?? 0, answer: answer(decoded) };
    },
  };
}

type Of<Kind extends KvRequest["kind"]> = Extract<KvRequest, { readonly kind: Kind }>;

function rangeOf({ key, end, revision, limit }: Of<"range">): Input<m.RangeRequest> {
  return { key, rangeEnd: end, revision, limit };
}

function putOf({ key, value, lease, ignore }: Of<"put">): Input<m.PutRequest> {
  return {
    key,
    value: ignore === "value" ? Buffer.alloc(0) : Buffer.from(value),
    lease: ignore === "lease" ? 0n : BigInt(lease),
    prevKv,
    ignoreValue: ignore === "value",
    ignoreLease: ignore === "lease",
  };
}

function deleteOf({ key, end }: Of<"delete">): Input<m.DeleteRangeRequest> {
  return { key, rangeEnd: end, prevKv };
}

function txnOf({ compares, success, failure }: Of<"txn">): Input<m.TxnRequest> {
  return {
    compare: compares.map(compareOf),
    success: success.map(opOf),
    failure: failure.map(opOf),
  };
}

function opOf(request: KvRequest): Input<m.RequestOp> {
  switch (request.kind) {
    case "range":
      return { range: rangeOf(request) };
    case "put":
      return { put: putOf(request) };
    case "delete":
      return { deleteRange: deleteOf(request) };
    case "txn":
      return { txn: txnOf(request) };
    default:
      return request satisfies never;
  }
}

function compareOf({ target, result, operand, key, end }: Compare): Input<m.Compare> {
  const common = {
    key,
    rangeEnd: end,
    target: m.CompareTarget[target],
    result: m.CompareResult[result],
  };
  switch (target) {
    case "version":
      return { ...common, version: Number(operand) };
    case "create":
      return { ...common, createRevision: Number(operand) };
    case "mod":
      return { ...common, modRevision: Number(operand) };
    case "value":
      return { ...common, value: Buffer.from(operand) };
    case "lease":
      return { ...common, lease: BigInt(operand) };
    default:
      return target satisfies never;
  }
}

function rangeAnswer({ kvs, count, more }: m.RangeResponse, limit: number): Answer {
  if (limit > 0 && kvs.length > limit) throw new Error(`${kvs.length} keys, limit ${limit}`);
  return { kind: "range", kvs: kvs.map(plainKv), count, more };
}

function putAnswer({ prevKv: previous }: m.PutResponse): Answer {
  return { kind: "put", previous: maybeKv(previous) };
}

function deleteAnswer(response: m.Of<typeof m.deleteRangeResponse>): Answer {
  const { deleted, prevKvs } = response;
  if (deleted !== prevKvs.length) throw new Error(`${deleted} deleted, ${prevKvs.length} told`);
  return { kind: "delete", previous: prevKvs.map(plainKv) };
}

function txnAnswer({ succeeded, responses }: m.TxnResponse, request: Of<"txn">): Answer {
  const ops = succeeded ? request.success : request.failure;
  if (ops.length !== responses.length) throw new Error("a transaction with too few answers");
  const answers = responses.map((response, i) => opAnswer(response, ops[i] as KvRequest));
  return { kind: "txn", succeeded, answers };
}

function opAnswer({ range, put, deleteRange, txn }: m.ResponseOp, request: KvRequest): Answer {
  if (range !== undefined) return rangeAnswer(range, 0);
  if (put !== undefined) return putAnswer(put);
  if (deleteRange !== undefined) return deleteAnswer(deleteRange);
  if (txn !== undefined && request.kind === "txn") return txnAnswer(txn, request);
  throw new Error(`no answer to ${JSON.stringify(request)}`);
}

/** Converts a key-value, as the store holds it or as it was decoded from the wire, to its plain form. */
export function plainKv(
  kv: Omit<m.WireKeyValue, "value"> & { readonly value: Uint8Array },
): KeyValue {
  return {
    key: kv.key,
    value: Buffer.from(kv.value).toString(),
    create: kv.createRevision,
    mod: kv.modRevision,
    version: kv.version,
    lease: String(kv.lease),
  };
}

export function plainEvent({ type, kv, prevKv: previous }: m.WireEvent): Event {
  if (kv === undefined) throw new Error("an event without a key");
  const deleted = type === m.EventType.delete;
  return {
    revision: kv.modRevision,
    key: kv.key,
    kv: deleted ? undefined : plainKv(kv),
    previous: maybeKv(previous),
  };
}

function maybeKv(kv: m.WireKeyValue | undefined): KeyValue | undefined {
  return kv === undefined ? undefined : plainKv(kv);
}
