/**
 * Makes a new store directory from a snapshot (the bytes of a checkpoint file, as `FullStore.snapshot`
 * returns them), or from the state of another kind of store. The format file is written last, so an interrupted
 * restore leaves no store behind.
 */
import type { Clock } from "#platform/clock.ts";
import type { Disk, DiskFile } from "#platform/disk.ts";
import type { Random } from "#platform/random.ts";
import { stateSource } from "./checkpoint.ts";
import { addCopiedPut } from "./copied-put.ts";
import { CorruptionError, type RecordSupply } from "./engines/engine.ts";
import {
  decodeFileHeader,
  encodeFileHeader,
  encodeFormat,
  fileHeaderBytes,
  pathOf,
  formatFileName,
  isOurs,
  parseFileName,
  temporarySuffix,
  unreadFormat,
} from "./engines/local/files.ts";
import { readRecords } from "./engines/local/read.ts";
import { Leases } from "./leases.ts";
import { Mvcc } from "./mvcc.ts";
import { RecordKind, RecordReader } from "./record.ts";
import { Slabs } from "./slabs.ts";
import type { KeyValue } from "./store.ts";

interface Restored {
  readonly revision: number;
  /** Number of leases and keys. */
  readonly records: number;
}

/** Throws CorruptionError when the file is not a whole snapshot; then nothing was created. */
export async function restoreSnapshot(
  deps: RestoreDeps,
  snapshot: { readonly file: DiskFile; readonly path: string },
  directory: string,
): Promise<Restored> {
  const header = decodeFileHeader(await snapshot.file.read(0, fileHeaderBytes));
  if (header?.kind !== "checkpoint") {
    const hint = "to bring over the keys of an etcd, use `etcdctl make-mirror`";
    throw new CorruptionError(`${snapshot.path}: not a snapshot of this product; ${hint}`);
  }
  const unread = unreadFormat(header.format);
  if (unread !== undefined) throw new CorruptionError(`${snapshot.path}: ${unread}`);
  const { revision } = header;
  const { records, end } = await restoreProve(snapshot);
  await makeStore(
    deps,
    { revision, write: (file) => copy(snapshot.file, file, fileHeaderBytes, end) },
    directory,
  );
  return { revision, records };
}

interface ForeignState {
  readonly revision: number;
  /** With their revisions, which are at most `revision`. */
  readonly kvs: Iterable<KeyValue>;
  readonly leases: Iterable<{ readonly id: bigint; readonly ttlMs: number }>;
}

/** Creates a store with the state of another kind of store. Throws CorruptionError when `directory` is not empty. */
export async function createStore(
  deps: RestoreDeps & { readonly clock: Clock },
  { revision, kvs, leases: granted }: ForeignState,
  directory: string,
): Promise<void> {
  const mvcc = new Mvcc(new Slabs(slabBytes), 0);
  mvcc.rebase(revision);
  for (const kv of kvs) addCopiedPut(mvcc, kv.key, kv.modRevision, kv);
  const leases = new Leases(deps.clock);
  for (const { id, ttlMs } of granted) leases.grant(id, ttlMs);
  const source = stateSource({ mvcc, leases, revision });
  await makeStore(deps, { revision, write: (file) => writeAll(source, file) }, directory);
}

interface RestoreDeps {
  readonly disk: Disk;
  readonly random: Random;
}

/** Slab size for the copied state; larger records get a slab of their own. */
const slabBytes = 2 ** 20;

/** `write` appends the checkpoint's records after its header. */
async function makeStore(
  { disk, random }: RestoreDeps,
  {
    revision,
    write,
  }: { readonly revision: number; readonly write: (file: DiskFile) => Promise<void> },
  directory: string,
): Promise<void> {
  await disk.makeDirectory(directory);
  const lock = await disk.lock(directory);
  try {
    await restoreRefuseUsed(disk, directory);
    const storeId = random.uuid();
    const fields = { storeId, revision, previousEnd: 0, epoch: 0 };
    const checkpoint = { kind: "checkpoint", number: revision, ...fields } as const;
    await restoreFile(disk, pathOf(directory, checkpoint), async (file) => {
      await file.write([encodeFileHeader(checkpoint)], 0);
      await write(file);
    });
    const log = { kind: "log", number: 1, ...fields } as const;
    await restoreFile(disk, pathOf(directory, log), (file) =>
      file.write([encodeFileHeader(log)], 0),
    );
    await disk.syncDirectory(directory);
    await restoreFile(disk, `${directory}/${formatFileName}`, (file) =>
      file.write([encodeFormat(storeId)], 0),
    );
    await disk.syncDirectory(directory);
  } finally {
    await lock.release();
  }
}

async function writeAll(source: RecordSupply, file: DiskFile): Promise<void> {
  let at = fileHeaderBytes;
  for (let chunk = source.next(); chunk !== undefined; chunk = source.next()) {
    await file.write([chunk], at);
    at += chunk.length;
  }
}

async function restoreProve({
  file,
  path,
}: {
  readonly file: DiskFile;
  readonly path: string;
}): Promise<{ readonly records: number; readonly end: number }> {
  let records = 0;
  let groups = 0;
  let counted: number | undefined;
  const { end } = await readRecords(file, fileHeaderBytes, (bytes) => {
    const reader = new RecordReader(bytes);
    for (let at = 0; at < bytes.length; at += reader.size(at)) {
      const kind = reader.kind(at);
      if (kind === RecordKind.checkpointEnd) counted = reader.version(at);
      else if (kind === RecordKind.group) groups++;
      else records++;
    }
  });
  if (counted === records + groups) return { records, end };
  throw new CorruptionError(`${path}: bad record at offset ${end}; take another snapshot`);
}

async function restoreRefuseUsed(disk: Disk, directory: string): Promise<void> {
  const names = await disk.list(directory);
  const used = names.find(
    (name) => !isOurs(name) || name === formatFileName || parseFileName(name) !== undefined,
  );
  if (used === undefined) return;
  throw new CorruptionError(`directory ${directory} is not empty: it holds ${used}`);
}

async function restoreFile(
  disk: Disk,
  path: string,
  fill: (file: DiskFile) => Promise<void>,
): Promise<void> {
  const file = await disk.open(path + temporarySuffix, "create");
  try {
    await fill(file);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(path + temporarySuffix, path);
}

const copyBytes = 2 ** 20;

async function copy(source: DiskFile, target: DiskFile, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += copyBytes) {
    await target.write([await source.read(at, Math.min(copyBytes, to - at))], at);
  }
}
