/**
 * A client that takes snapshots under faults - slowly, and not always to the end - and restores a new
 * member from what arrived, as `pilothouse store restore` does.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { FakeRandom } from "#platform/testing/random.ts";
import { silentLog } from "#platform/log.ts";
import { CorruptionError } from "#store/engines/engine.ts";
import { openStore } from "#store/open.ts";
import { restoreSnapshot } from "#store/restore.ts";
import type { Key } from "#store/store.ts";
import * as m from "#wire/etcd-messages.ts";
import type { Restored } from "./checkers/history.ts";
import { FakeDisk } from "#platform/testing/disk.ts";
import type { SimEtcdClient } from "./etcd-client.ts";
import { openStream } from "./grpc-network.ts";
import { roomyBytes, storeOptions } from "./etcd-member.ts";
import { plainKv } from "./etcd-messages.ts";
import { think, type WorkloadDeps } from "./etcd-workload.ts";
import { ProcessClock } from "./process-clock.ts";
import type { Recorder } from "./recorder.ts";

const pauseMsMax = 1500;
const hashBytes = 32;
const from = "/from";
const path = `${from}/snapshot`;
const sizes = { segmentBytes: 4096, checkpointLogBytes: 4096, freeBytesMin: 0 } as const;

export async function takeSnapshots(
  deps: WorkloadDeps,
  client: SimEtcdClient,
  recorder: Recorder,
  untilMs: number,
): Promise<void> {
  const { random, clock } = deps;
  while (clock.monotonicMs() < untilMs) {
    await think(deps, random.below(pauseMsMax));
    const asked = recorder.moment();
    const bytes = await download(client, random);
    if (bytes === undefined) continue;
    const taken = recorder.moment();
    const restored = await restore(deps, bytes);
    recorder.snapshot({ asked, taken, isWhole: isWhole(bytes), restored });
  }
}

/** Returns the bytes that arrived until the stream ended for any reason. Undefined: no server is listening. */
function download(client: SimEtcdClient, random: FakeRandom): Promise<Buffer | undefined> {
  const connection = client.connection();
  if (connection === undefined) return Promise.resolve(undefined);
  const enough = random.chance(0.2) ? 1 + random.below(3) : Number.POSITIVE_INFINITY;
  const slowMs = random.pick([0, 0, 20, 300]);
  return new Promise((resolve) => {
    const blobs: Buffer[] = [];
    const stream = openStream(
      connection,
      "/etcdserverpb.Maintenance/Snapshot",
      {
        message: (bytes) => {
          blobs.push(Buffer.from(m.snapshotResponse.decode(bytes).blob));
          if (blobs.length >= enough) stream.close();
        },
        closed: () => resolve(Buffer.concat(blobs)),
      },
      slowMs,
    );
    stream.send(m.empty.encode({}));
  });
}

/** Checks like etcdctl: the end of a snapshot is a hash of all bytes before it. */
function isWhole(bytes: Buffer): boolean {
  const end = bytes.length - hashBytes;
  if (end < 0) return false;
  return createHash("sha256").update(bytes.subarray(0, end)).digest().equals(bytes.subarray(end));
}

/** Returns the state of a member restored from `snapshot`, after a power cut. Undefined: the restore was refused. */
async function restore(
  { random, clock }: WorkloadDeps,
  snapshot: Buffer,
): Promise<Restored | undefined> {
  const disk = new FakeDisk(random.next32());
  const simRandom = new FakeRandom(random.next32());
  await disk.makeDirectory(from);
  const file = await disk.open(path, "create");
  await file.write([snapshot], 0);
  try {
    await restoreSnapshot({ disk, random: simRandom }, { file, path }, storeOptions.directory);
  } catch (error) {
    if (error instanceof CorruptionError) return undefined;
    throw error;
  }
  const process = new ProcessClock(clock);
  const deps = { clock: process, random: simRandom, log: silentLog, disk: disk.survivor() };
  const options = { ...storeOptions, ...sizes, quotaBytes: roomyBytes, engine: "local" } as const;
  const store = await openStore(deps, options);
  const state = store.range({ start: "" as Key, end: "\uffff" as Key });
  process.kill();
  if (state.kind !== "ok") throw new Error(`a restored store answers ${state.kind}`);
  const leases = store.leases().map(({ id }) => String(id));
  return { revision: store.commitRevision, kvs: state.kvs.map(plainKv), leases };
}
