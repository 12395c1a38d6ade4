/**
 * The connection from a replica to the one that holds the log: it forwards calls unchanged, and checks from time
 * to time whether the holder is reachable.
 *
 * Holds  a call that was not sent rejects with `noLeader`: it may be repeated. A call whose answer was lost rejects
 *        with `leaderChanged`: it may have been carried out.
 * Bounds the calls that this replica's own clients have under way; all of them end with the link.
 */
import type { Clock } from "#platform/clock.ts";
import { Code, GrpcError, prefixBytes } from "#wire/grpc.ts";
import { EtcdClient, type EtcdIdentity } from "./client.ts";
import type { PeerMetrics } from "./peer-metrics.ts";
import { etcdError } from "./rpc-error.ts";

/** Prefix of the paths for calls between replicas, which only the holder answers. */
export const replicaPrefix = "/pilothouse.Replica";
export const holdPath = `${replicaPrefix}/Hold`;
/** Paths for `call`: asks a replica to take the log over, or the holder to give it to the URL in the message. */
export const takePath = "/Take";
export const yieldPath = "/Yield";

export class HolderLink {
  readonly url: string;
  /** Time of the holder's last answer on the monotonic clock; undefined: none yet. */
  heardMs: number | undefined;
  /** Whether the connection could not be made, or has ended. */
  isGone = false;
  readonly #clock: Clock;
  readonly #client: EtcdClient;
  readonly #peers: PeerMetrics | undefined;
  #asking = false;

  constructor(
    deps: { readonly clock: Clock; readonly peers?: PeerMetrics },
    url: string,
    identity: EtcdIdentity,
    gone: () => void,
  ) {
    this.url = url;
    this.#clock = deps.clock;
    this.#peers = deps.peers;
    this.#client = new EtcdClient(url, identity);
    void this.#client.gone.then(() => {
      this.isGone = true;
      gone();
    });
  }

  /** Whether the connection was refused, so that the process must have ended. */
  get isRefused(): boolean {
    return this.#client.failure === "ECONNREFUSED";
  }

  /** `path`: the path of the client's call. @returns the answer's message. */
  async call(path: string, request: Buffer): Promise<Buffer> {
    if (this.isGone) throw etcdError("noLeader");
    try {
      return await this.#send(`${replicaPrefix}${path}`, request);
    } catch (error) {
      throw isBroken(error) ? etcdError("leaderChanged") : error;
    }
  }

  /** Asks whether it holds the log and updates `heardMs` on the answer. One question at a time. */
  ask(): void {
    if (this.#asking || this.isGone) return;
    this.#asking = true;
    const asked = this.#clock.monotonicMs();
    this.#send(holdPath, Buffer.alloc(0))
      .then(
        () => (this.heardMs = asked),
        () => undefined,
      )
      .finally(() => (this.#asking = false));
  }

  close(): void {
    this.#client.close();
  }

  async #send(path: string, request: Buffer): Promise<Buffer> {
    const withHeadroom = Buffer.concat([Buffer.alloc(prefixBytes), request]);
    this.#peers?.sent(this.url, withHeadroom.length);
    const beganMs = this.#clock.monotonicMs();
    try {
      const answer = await this.#client.forward(path, withHeadroom);
      this.#peers?.answered(this.url, this.#clock.monotonicMs() - beganMs, answer.length);
      return answer;
    } catch (error) {
      if (isBroken(error)) this.#peers?.failed(this.url);
      throw error;
    }
  }
}

/** The client's own error text: whether the other side did anything is unknown. */
function isBroken(error: unknown): boolean {
  const { code, message } = error as Partial<GrpcError>;
  return !(error instanceof GrpcError) || (code === Code.unavailable && !isOfEtcd(message ?? ""));
}

function isOfEtcd(message: string): boolean {
  return message.startsWith("etcdserver: ");
}
