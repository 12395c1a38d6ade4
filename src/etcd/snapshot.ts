/**
 * Maintenance.Snapshot: the state at one revision as a stream that `store restore` accepts, and that
 * etcdctl saves: blocks of 512 bytes, then 32 bytes of SHA-256 over all before.
 *
 * The blob is a checkpoint file (store/FORMAT.md) with zeros up to the next block.
 */
import { createHash } from "node:crypto";
import type { FullStore } from "#store/embedded.ts";
import { snapshotResponse } from "#wire/etcd-messages.ts";
import { prefixBytes } from "#wire/grpc.ts";
import type { ServerStream } from "./call.ts";

/** etcdctl tells by a length of n * 512 + 32 that the hash is there. */
export const snapshotBlockBytes = 512;

export interface SnapshotLimits {
  /** More than that the client must take before more is read. */
  readonly streamBacklogBytes: number;
}

/** `gone`: aborted once the stream is over. Until then compaction waits for whoever reads slowly. */
export async function sendSnapshot(
  { store, call, gone }: { store: FullStore; call: ServerStream; gone: AbortSignal },
  { streamBacklogBytes }: SnapshotLimits,
  version: string,
): Promise<void> {
  const snapshot = store.snapshot();
  const hash = createHash("sha256");
  let sent = 0;
  const send = async (blob: Uint8Array): Promise<void> => {
    const remainingBytes = Math.max(0, snapshot.bytes - sent);
    call.send(snapshotResponse.encode({ remainingBytes, blob, version }, prefixBytes));
    sent += blob.length;
    if (call.backlogBytes > streamBacklogBytes) await drained(call, gone);
  };
  try {
    for (let chunk = snapshot.next(); chunk !== undefined; chunk = snapshot.next()) {
      if (call.closed) return;
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

/** Of a stream that is over nothing drains. */
function drained(call: ServerStream, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      gone.removeEventListener("abort", done);
      resolve();
    };
    call.onDrain(done);
    gone.addEventListener("abort", done);
  });
}
