/**
 * What the clients of a load call: requests made, answers looked at. An answer that is not what was
 * asked for ends the run.
 */
import * as m from "../../../src/core/wire/etcd-messages.ts";
import { framed, prefixBytes } from "../../../src/core/wire/grpc.ts";
import { fail } from "./h2-client.ts";

export interface Workload {
  readonly path: string;
  /** The next request of this client, from 0. */
  request(client: number): Buffer;
  /** `first` is the first data frame of the answer, `bytes` the length of all. */
  answered(client: number, first: Buffer, bytes: number): void;
}

export interface WorkloadOptions {
  readonly kind: "put" | "txn" | "range" | "list" | "stream" | "fill" | "scatter";
  readonly clients: number;
  readonly keys: number;
  readonly valueBytes: number;
}

export function workload(options: WorkloadOptions): Workload {
  switch (options.kind) {
    case "put":
      return puts(options);
    case "txn":
      return new GuardedUpdates(options);
    case "range":
      return gets(options);
    case "list":
      return lists(options, "Range");
    case "stream":
      return lists(options, "RangeStream");
    case "fill":
      return fills(options, 1);
    case "scatter":
      return fills(options, scatterStep);
    default:
      return options.kind satisfies never;
  }
}

/** Keys that `fill` makes and `range`, `list` read. */
export const filledPrefix = "bench/kept/";

/** Prime to any count of keys in use here: stepping by it visits every key, in no order. */
const scatterStep = 7919;

function filledKey(i: number): string {
  return `${filledPrefix}${String(i).padStart(8, "0")}`;
}

function puts({ keys, valueBytes }: WorkloadOptions): Workload {
  const value = Buffer.alloc(valueBytes, "x");
  let next = 0;
  return {
    path: "/etcdserverpb.KV/Put",
    request: () => {
      const key = `bench/put/${String(next++ % keys).padStart(8, "0")}`;
      return framed(m.putRequest.encode({ key, value }, prefixBytes));
    },
    answered: () => undefined,
  };
}

/**
 * As kube-apiserver updates an object: if its mod_revision is still N, put, else get. Clients have
 * keys of their own, so after the first answer each update succeeds.
 */
class GuardedUpdates implements Workload {
  readonly path = "/etcdserverpb.KV/Txn";
  readonly #value: Buffer;
  readonly #keysPerClient: number;
  /** Last known mod_revision by client and key. */
  readonly #revisions: Float64Array;
  readonly #next: Uint32Array;

  constructor({ clients, keys, valueBytes }: WorkloadOptions) {
    this.#value = Buffer.alloc(valueBytes, "x");
    this.#keysPerClient = Math.max(1, Math.floor(keys / clients));
    this.#revisions = new Float64Array(clients * this.#keysPerClient);
    this.#next = new Uint32Array(clients);
  }

  request(client: number): Buffer {
    const at = this.#at(client);
    const key = `bench/txn/${String(at).padStart(8, "0")}`;
    const modRevision = this.#revisions[at] as number;
    const compare = [
      { key, target: m.CompareTarget.mod, result: m.CompareResult.equal, modRevision },
    ];
    const success = [{ put: { key, value: this.#value } }];
    const failure = [{ range: { key } }];
    return framed(m.txnRequest.encode({ compare, success, failure }, prefixBytes));
  }

  answered(client: number, first: Buffer): void {
    const at = this.#at(client);
    const answer = m.txnResponse.decode(first.subarray(prefixBytes));
    const held = answer.responses[0]?.range?.kvs[0]?.modRevision;
    const known = this.#revisions[at] as number;
    if (answer.succeeded) this.#revisions[at] = answer.header?.revision ?? 0;
    // Of an earlier run.
    else if (held !== undefined && known === 0) this.#revisions[at] = held;
    else fail(new Error(`update of a client's own key refused: knew ${known}, holds ${held}`));
    this.#next[client] = ((this.#next[client] as number) + 1) % this.#keysPerClient;
  }

  #at(client: number): number {
    return client * this.#keysPerClient + (this.#next[client] as number);
  }
}

/** Any one of the keys, as kube-apiserver gets an object. */
function gets({ keys, valueBytes }: WorkloadOptions): Workload {
  const requests = Array.from({ length: keys }, (_, i) =>
    framed(m.rangeRequest.encode({ key: filledKey(i), limit: 1 }, prefixBytes)),
  );
  let next = 0;
  return {
    path: "/etcdserverpb.KV/Range",
    request: () => requests[(next = (next + scatterStep) % keys)] as Buffer,
    answered: (_client, _first, bytes) => {
      if (bytes <= valueBytes) fail(new Error(`a get of ${bytes} bytes`));
    },
  };
}

/** All keys at once. */
function lists({ keys, valueBytes }: WorkloadOptions, method: "Range" | "RangeStream"): Workload {
  const rangeEnd = `${filledPrefix.slice(0, -1)}0`;
  const request = framed(m.rangeRequest.encode({ key: filledPrefix, rangeEnd }, prefixBytes));
  return {
    path: `/etcdserverpb.KV/${method}`,
    request: () => request,
    answered: (_client, _first, bytes) => {
      if (bytes <= keys * valueBytes) fail(new Error(`a list of ${bytes} bytes`));
    },
  };
}

const fillPuts = 50;

/** Makes the kept keys, once over, many to a transaction. */
function fills({ keys, valueBytes }: WorkloadOptions, step: number): Workload {
  const value = Buffer.alloc(valueBytes, "k");
  let next = 0;
  return {
    path: "/etcdserverpb.KV/Txn",
    request: () => {
      const count = Math.max(1, Math.min(fillPuts, keys - next));
      const success = Array.from({ length: count }, (_, i) => ({
        put: { key: filledKey(((next + i) * step) % keys), value },
      }));
      next += count;
      return framed(m.txnRequest.encode({ success }, prefixBytes));
    },
    answered: () => undefined,
  };
}

/** Calls that make all of them. */
export function fillCalls(keys: number): number {
  return Math.ceil(keys / fillPuts);
}
