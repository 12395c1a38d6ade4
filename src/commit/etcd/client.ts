/**
 * A small etcd client: unary calls and streams over one HTTP/2 connection, messages of
 * `wire/etcd-messages.ts`. For the behaviour suite, the benchmark, and the tools of `cmd`.
 *
 * A call returns the answer's message or throws a GrpcError. No retries, no balancing, no reconnecting.
 */
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { trusting } from "#platform/node/trust.ts";
import type { Input, Message } from "#wire/etcd-codec.ts";
import * as m from "#wire/etcd-messages.ts";
import { Code, decodeGrpcMessage, Deframer, framed, GrpcError, prefixBytes } from "#wire/grpc.ts";

/** The largest answer is a list of everything in one message. */
const answerBytesMax = 2 ** 30;

/** PEM. Absent members: the host's certificate authorities, no client certificate. */
export interface EtcdIdentity {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export class EtcdClient {
  readonly #session: ClientHttp2Session;
  /** Reason why the connection broke or could not be made, such as `ECONNREFUSED`; undefined: none is known. */
  failure: string | undefined;
  /** Resolves when the connection has ended. */
  readonly gone: Promise<void>;

  /** `url`: `http://127.0.0.1:2379`. */
  constructor(url: string, identity: EtcdIdentity = {}) {
    const settings = { initialWindowSize: 8 * 2 ** 20 };
    this.#session = connect(url, { ...identity, ...trusting(identity.ca), settings });
    this.gone = new Promise((resolve) => this.#session.once("close", resolve));
    this.#session.on("connect", () => this.#session.setLocalWindowSize(16 * 2 ** 20));
    // Every stream of the session fails too and reports the error to its caller.
    this.#session.on("error", (error: NodeJS.ErrnoException) => (this.failure = error.code));
  }

  async call<Q, A>(
    path: string,
    request: Message<Q>,
    response: Message<A>,
    value: Input<Q>,
  ): Promise<A> {
    const answer = await this.forward(path, request.encode(value, prefixBytes));
    return response.decode(answer);
  }

  /** Makes a unary call with raw messages. `withHeadroom` has `prefixBytes` of free space before the message; takes ownership. */
  forward(path: string, withHeadroom: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.#open(path);
      const deframer = new Deframer(answerBytesMax);
      let answer: Buffer | undefined;
      stream.on("data", (chunk: Buffer) => {
        deframer.push(chunk, (bytes) => (answer = Buffer.from(bytes)));
      });
      onEnd(stream, (error) => {
        if (error !== undefined) reject(error);
        else if (answer === undefined) reject(new GrpcError(Code.internal, "no message came"));
        else resolve(answer);
      });
      stream.end(framed(withHeadroom));
    });
  }

  stream<Q, A>(path: string, request: Message<Q>, response: Message<A>): EtcdStream<Q, A> {
    return new EtcdStream(this.#open(path), request, response);
  }

  close(): void {
    this.#session.destroy();
  }

  range = (value: Input<m.RangeRequest>) =>
    this.call("/etcdserverpb.KV/Range", m.rangeRequest, m.rangeResponse, value);
  put = (value: Input<m.PutRequest>) =>
    this.call("/etcdserverpb.KV/Put", m.putRequest, m.putResponse, value);
  deleteRange = (value: Input<m.DeleteRangeRequest>) =>
    this.call("/etcdserverpb.KV/DeleteRange", m.deleteRangeRequest, m.deleteRangeResponse, value);
  txn = (value: Input<m.TxnRequest>) =>
    this.call("/etcdserverpb.KV/Txn", m.txnRequest, m.txnResponse, value);
  compact = (revision: number) =>
    this.call("/etcdserverpb.KV/Compact", m.compactionRequest, m.headerResponse, { revision });
  watch = () => this.stream("/etcdserverpb.Watch/Watch", m.watchRequest, m.watchResponse);
  grant = (ttl: number, id: bigint = 0n) =>
    this.call("/etcdserverpb.Lease/LeaseGrant", m.leaseGrantRequest, m.leaseGrantResponse, {
      ttl,
      id,
    });
  revoke = (id: bigint) =>
    this.call("/etcdserverpb.Lease/LeaseRevoke", m.leaseRevokeRequest, m.headerResponse, { id });
  timeToLive = (id: bigint, keys: boolean) =>
    this.call(
      "/etcdserverpb.Lease/LeaseTimeToLive",
      m.leaseTimeToLiveRequest,
      m.leaseTimeToLiveResponse,
      { id, keys },
    );
  leases = () => this.call("/etcdserverpb.Lease/LeaseLeases", m.empty, m.leaseLeasesResponse, {});
  keepAlive = () =>
    this.stream(
      "/etcdserverpb.Lease/LeaseKeepAlive",
      m.leaseKeepAliveRequest,
      m.leaseKeepAliveResponse,
    );
  status = () => this.call("/etcdserverpb.Maintenance/Status", m.empty, m.statusResponse, {});
  snapshot = () => {
    const stream = this.stream("/etcdserverpb.Maintenance/Snapshot", m.empty, m.snapshotResponse);
    stream.send({});
    stream.end();
    return stream;
  };
  hashKv = (revision: number) =>
    this.call("/etcdserverpb.Maintenance/HashKV", m.hashKvRequest, m.hashKvResponse, { revision });
  alarm = (value: Input<m.Of<typeof m.alarmRequest>>) =>
    this.call("/etcdserverpb.Maintenance/Alarm", m.alarmRequest, m.alarmResponse, value);

  #open(path: string): ClientHttp2Stream {
    return this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
  }
}

/** A bidirectional stream. Messages arrive in order, one per `next`. */
export class EtcdStream<Q, A> {
  readonly #stream: ClientHttp2Stream;
  readonly #request: Message<Q>;
  readonly #came: A[] = [];
  readonly #waiting: ((answer: A | undefined) => void)[] = [];
  #ended = false;
  /** The error with which it ended; undefined: status OK. */
  error: GrpcError | undefined;

  constructor(stream: ClientHttp2Stream, request: Message<Q>, response: Message<A>) {
    this.#stream = stream;
    this.#request = request;
    const deframer = new Deframer(answerBytesMax);
    stream.on("data", (chunk: Buffer) => {
      deframer.push(chunk, (bytes) => this.#take(response.decode(Buffer.from(bytes))));
    });
    onEnd(stream, (error) => {
      this.error = error;
      this.#ended = true;
      for (const resolve of this.#waiting.splice(0)) resolve(undefined);
    });
  }

  send(value: Input<Q>): void {
    this.#stream.write(framed(this.#request.encode(value, prefixBytes)));
  }

  /** The next message; undefined when the stream has ended. */
  next(): Promise<A | undefined> {
    const first = this.#came.shift();
    if (first !== undefined || this.#ended) return Promise.resolve(first);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Half-closes the stream; answers may still arrive. */
  end(): void {
    this.#stream.end();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  close(): void {
    this.#stream.close();
  }

  #take(answer: A): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#came.push(answer);
    else waiting(answer);
  }
}

/** Calls `done` once, without an error when the call ended with status OK. */
function onEnd(stream: ClientHttp2Stream, done: (error: GrpcError | undefined) => void): void {
  let status: GrpcError | undefined | "none" = "none";
  const see = (headers: Record<string, unknown>): void => {
    const code = headers["grpc-status"];
    if (code === undefined) return;
    const message = headers["grpc-message"];
    const text = decodeGrpcMessage(typeof message === "string" ? message : "");
    status = code === "0" ? undefined : new GrpcError(Number(code) as Code, text);
  };
  stream.on("response", see);
  stream.on("trailers", see);
  stream.on("error", () => undefined);
  stream.on("close", () => {
    done(status === "none" ? new GrpcError(Code.unavailable, "the connection broke") : status);
  });
}
