/**
 * A client of the etcd API that writes down all it does. It holds one connection, and makes a new
 * one when that was cut; it never repeats a call by itself.
 */
import type { Request, Outcome, Refusal } from "./checkers/history.ts";
import { unaryCall } from "./etcd-messages.ts";
import { callMethod, type GrpcConnection, type GrpcNetwork, openStream } from "./grpc-network.ts";
import type { Recorder } from "./recorder.ts";
import { DiskError } from "#platform/disk.ts";
import { ConnectionLost } from "#platform/testing/network.ts";
import { GrpcError } from "#wire/grpc.ts";
import * as m from "#wire/etcd-messages.ts";

const refusals: Readonly<Record<string, Refusal>> = {
  "etcdserver: mvcc: required revision has been compacted": "compacted",
  "etcdserver: mvcc: required revision is a future revision": "future",
  "etcdserver: requested lease not found": "lease not found",
  "etcdserver: lease already exists": "lease exists",
  "etcdserver: key not found": "key not found",
  "etcdserver: mvcc: database space exceeded": "no space",
  "etcdserver: too many requests": "too many leases",
};
/** Error of a server that stopped before it knew the result. */
const unknown = "etcdserver: server stopped";

export class SimEtcdClient {
  readonly name: string;
  readonly #network: GrpcNetwork;
  readonly #recorder: Recorder;
  #connection: GrpcConnection | undefined;

  constructor(deps: { readonly network: GrpcNetwork; readonly recorder: Recorder }, name: string) {
    this.name = name;
    this.#network = deps.network;
    this.#recorder = deps.recorder;
  }

  /** @returns undefined when no server is listening. */
  connection(): GrpcConnection | undefined {
    if (this.#connection?.isAlive !== true) this.#connection = this.#network.connect();
    return this.#connection;
  }

  /** @returns undefined when the request was never sent. */
  async ask(request: Exclude<Request, { readonly kind: "renew" }>): Promise<Outcome | undefined> {
    const connection = this.connection();
    if (connection === undefined) return undefined;
    const { path, bytes, decode } = unaryCall(request);
    const id = this.#recorder.invoke(this.name, request);
    try {
      const outcome: Outcome = {
        kind: "answered",
        ...decode(await callMethod(connection, path, bytes)),
      };
      this.#recorder.return(id, outcome);
      return outcome;
    } catch (error) {
      return this.#failed(id, error);
    }
  }

  /** Sends one keep-alive on a separate stream. */
  renew(lease: string): Promise<Outcome | undefined> {
    const connection = this.connection();
    if (connection === undefined) return Promise.resolve(undefined);
    const id = this.#recorder.invoke(this.name, { kind: "renew", lease });
    return new Promise((resolve) => {
      const told = (outcome: Outcome): void => {
        this.#recorder.return(id, outcome);
        resolve(outcome);
      };
      const stream = openStream(
        connection,
        "/etcdserverpb.Lease/LeaseKeepAlive",
        {
          message: (bytes) => {
            const { header, ttl } = m.leaseKeepAliveResponse.decode(bytes);
            const answer = {
              kind: "lease",
              ttlSeconds: ttl,
              grantedSeconds: ttl,
              keys: [],
            } as const;
            told({ kind: "answered", revision: header?.revision ?? 0, answer });
            stream.close();
          },
          closed: () => told({ kind: "unknown" }),
        },
        0,
      );
      stream.send(m.leaseKeepAliveRequest.encode({ id: BigInt(lease) }));
    });
  }

  #failed(id: number, error: unknown): Outcome | undefined {
    if (error instanceof ConnectionLost && !error.sent) {
      this.#recorder.forget(id);
      return undefined;
    }
    const outcome = outcomeOf(error);
    this.#recorder.return(id, outcome);
    return outcome;
  }
}

function outcomeOf(error: unknown): Outcome {
  // A DiskError means that the alarms could not be persisted, so a crash may undo the change.
  if (error instanceof ConnectionLost || error instanceof DiskError) return { kind: "unknown" };
  if (!(error instanceof GrpcError)) throw error;
  if (error.message === unknown) return { kind: "unknown" };
  const why = refusals[error.message];
  if (why === undefined) throw error;
  return { kind: "refused", why };
}
