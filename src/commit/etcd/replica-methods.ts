/**
 * The services of one replica among several. Calls that change the log, or depend on the time of leases, go to the
 * replica that holds it; all other calls are answered here.
 *
 *   client ─▶ Put at a follower ─▶ /pilothouse.Replica/etcdserverpb.KV/Put at the holder ─▶ as if it had come there
 *
 * Holds  a call between replicas is answered by the holder or refused with `noLeader`, never forwarded: no loops.
 */
import { framed, prefixBytes } from "#wire/grpc.ts";
import type { Method, ServerStream, StreamEnd } from "./call.ts";
import { holdPath, replicaPrefix, takePath, yieldPath } from "./holder-link.ts";
import { etcdError } from "./rpc-error.ts";

type Unary = Extract<Method, { readonly kind: "unary" }>;
type Streaming = Extract<Method, { readonly kind: "stream" }>;

export interface ReplicaCalls {
  readonly isOwner: boolean;
  /** Sends the call to the holder. @returns its message; "own" when this process has become the holder. */
  forward(path: string, request: Buffer): Promise<Buffer | "own">;
  /** Takes the log over from a holder that gives it away. Rejects when that fails. */
  take(): Promise<void>;
}

const heldPaths = [
  "/etcdserverpb.KV/Put",
  "/etcdserverpb.KV/DeleteRange",
  "/etcdserverpb.KV/Txn",
  "/etcdserverpb.KV/Compact",
  "/etcdserverpb.Lease/LeaseGrant",
  "/etcdserverpb.Lease/LeaseRevoke",
  "/etcdserverpb.Lease/LeaseTimeToLive",
  "/etcdserverpb.Lease/LeaseLeases",
  "/etcdserverpb.Maintenance/Alarm",
];
const keepAlivePath = "/etcdserverpb.Lease/LeaseKeepAlive";

export function replicaMethods(
  methods: ReadonlyMap<string, Method>,
  replica: ReplicaCalls,
  handover: { yieldTo(url: string): Promise<void> },
): ReadonlyMap<string, Method> {
  const all = new Map(methods);
  for (const path of heldPaths) {
    const own = methods.get(path) as Unary;
    all.set(path, atHolder(replica, path, own));
    all.set(`${replicaPrefix}${path}`, onlyAtHolder(replica, own));
  }
  const keepAlive = methods.get(keepAlivePath) as Streaming;
  const once = oneByOne(keepAlive);
  all.set(keepAlivePath, { kind: "stream", open: (call) => keptAlive(replica, once, call) });
  all.set(`${replicaPrefix}${keepAlivePath}`, onlyAtHolder(replica, once));
  all.set(holdPath, onlyAtHolder(replica, { kind: "unary", answer: nothing }));
  const take = (): Promise<Buffer> => replica.take().then(nothing);
  all.set(`${replicaPrefix}${takePath}`, { kind: "unary", answer: take });
  const yieldTo = (url: Buffer): Promise<Buffer> => handover.yieldTo(url.toString()).then(nothing);
  all.set(
    `${replicaPrefix}${yieldPath}`,
    onlyAtHolder(replica, { kind: "unary", answer: yieldTo }),
  );
  return all;
}

function nothing(): Buffer {
  return framed(Buffer.alloc(prefixBytes));
}

function atHolder(replica: ReplicaCalls, path: string, own: Unary): Unary {
  const send = async (request: Buffer): Promise<Buffer | readonly Buffer[]> => {
    const answer = await replica.forward(path, request);
    return answer === "own" ? own.answer(request) : framed(withHeadroom(answer));
  };
  return {
    kind: "unary",
    // Copied, because the request is borrowed.
    answer: (request) => (replica.isOwner ? own.answer(request) : send(Buffer.from(request))),
  };
}

function onlyAtHolder(replica: ReplicaCalls, own: Unary): Unary {
  return {
    kind: "unary",
    answer: (request) => {
      if (!replica.isOwner) throw etcdError("noLeader");
      return own.answer(request);
    },
  };
}

/** Forwards each message as a separate call, because the log may change hands between two messages. */
function keptAlive(replica: ReplicaCalls, once: Unary, call: ServerStream): StreamEnd {
  const method = atHolder(replica, keepAlivePath, once);
  const send = async (request: Buffer): Promise<void> => {
    try {
      const frame = (await method.answer(request)) as Buffer;
      if (!call.isClosed) call.send(frame);
    } catch (error) {
      call.fail(error);
    }
  };
  return {
    message: (bytes) => void send(Buffer.from(bytes)),
    halfClosed: () => call.end(),
    closed: () => undefined,
  };
}

/** Presents a stream's method as a unary one, for a single message. */
function oneByOne({ open }: Streaming): Unary {
  const answer = (request: Buffer): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const call: ServerStream = {
        send: (bytes) => resolve(framed(bytes)),
        sendPieces: (pieces) => resolve(Buffer.concat(pieces)),
        backlogBytes: 0,
        onDrain: () => undefined,
        end: () => undefined,
        fail: reject,
        isClosed: false,
      };
      open(call).message(request);
    });
  return { kind: "unary", answer };
}

function withHeadroom(message: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(prefixBytes), message]);
}
