/**
 * Maintenance.Snapshot: the state at one revision as a stream that `store restore` accepts and
 * etcdctl saves: blocks of 512 bytes, then 32 bytes of SHA-256 over everything before.
 *
 * The blob is a checkpoint file (store/FORMAT.md) with zeros up to the next block.
 */
import { createHash } from "node:crypto";
import type { Clock } from "#platform/clock.ts";
import type { FullStore } from "#store/full-store.ts";
import { snapshotResponse } from "#wire/etcd-messages.ts";
import { Code, GrpcError, prefixBytes } from "#wire/grpc.ts";
import type { ServerStream } from "./call.ts";

/** etcdctl recognises the appended hash by a length of n * 512 + 32. */
export const snapshotBlockBytes = 512;

export interface SnapshotLimits {
  /** Reading pauses while the client has more unread bytes than this. */
  readonly streamBacklogBytes: number;
  /** A client that does not read `streamBacklogBytes` in this time is dropped, because compaction waits for it. */
  readonly snapshotStallMs: number;
}

interface Reader {
  readonly store: FullStore;
  readonly clock: Clock;
  readonly call: ServerStream;
  /** Aborted when the stream has ended. */
  readonly gone: AbortSignal;
}

export async function sendSnapshot(
  reader: Reader,
  limits: SnapshotLimits,
  version: string,
): Promise<void> {
  const { store, call } = reader;
  const snapshot = store.snapshot();
  const hash = createHash("sha256");
  let sent = 0;
  const send = async (blob: Uint8Array): Promise<void> => {
    const remainingBytes = Math.max(0, snapshot.bytes - sent);
    call.send(snapshotResponse.encode({ remainingBytes, blob, version }, prefixBytes));
    sent += blob.length;
    if (call.backlogBytes > limits.streamBacklogBytes) await untilDrained(reader, limits);
  };
  try {
    for (let chunk = snapshot.next(); chunk !== undefined; chunk = snapshot.next()) {
      if (call.isClosed) return;
      hash.update(chunk);
      await send(chunk);
    }
    const padding = new Uint8Array(
      (snapshotBlockBytes - (sent % snapshotBlockBytes)) % snapshotBlockBytes,
    );
    hash.update(padding);
    await send(padding);
    await send(hash.digest());
    call.end();
  } catch (error) {
    call.fail(error);
  } finally {
    snapshot.close();
  }
}

/** Resolves at the end of the stream too, which never drains. Rejects when its client takes too long. */
function untilDrained({ call, clock, gone }: Reader, limits: SnapshotLimits): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  const stalled = Promise.withResolvers<void>();
  const over = (): void => stalled.resolve();
  const timer = clock.after("etcd.snapshot", limits.snapshotStallMs, () =>
    stalled.reject(tooSlow(limits)),
  );
  call.onDrain(over);
  gone.addEventListener("abort", over);
  return stalled.promise.finally(() => {
    timer.cancel();
    gone.removeEventListener("abort", over);
  });
}

function tooSlow({ streamBacklogBytes, snapshotStallMs }: SnapshotLimits): GrpcError {
  const text = `etcdserver: snapshot ended: its client took less than ${streamBacklogBytes} bytes in ${snapshotStallMs / 1000} s, and compaction waits for it`;
  return new GrpcError(Code.resourceExhausted, text);
}
