/**
 * A new store directory from a snapshot: the bytes of a checkpoint file, as `FullStore.snapshot`
 * returns them. The format file is written last, so an interrupted restore leaves no store behind.
 */
import type { Disk, DiskFile } from "#platform/disk.ts";
import type { Random } from "#platform/random.ts";
import { CorruptionError } from "./engines/engine.ts";
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
import { RecordKind, RecordReader } from "./record.ts";

interface Restored {
  readonly revision: number;
  /** Leases and keys. */
  readonly records: number;
}

/** Throws CorruptionError when the snapshot is none, or not whole; then nothing was made. */
export async function restoreSnapshot(
  deps: { readonly disk: Disk; readonly random: Random },
  snapshot: { readonly file: DiskFile; readonly path: string },
  directory: string,
): Promise<Restored> {
  const { disk } = deps;
  const header = decodeFileHeader(await snapshot.file.read(0, fileHeaderBytes));
  if (header?.kind !== "checkpoint") {
    const hint = "to bring over the keys of an etcd, use `etcdctl make-mirror`";
    throw new CorruptionError(`${snapshot.path}: not a snapshot of this product; ${hint}`);
  }
  const unread = unreadFormat(header.format);
  if (unread !== undefined) throw new CorruptionError(`${snapshot.path}: ${unread}`);
  const { revision } = header;
  const { records, end } = await restoreProve(snapshot);
  await disk.makeDirectory(directory);
  const lock = await disk.lock(directory);
  try {
    await restoreRefuseUsed(disk, directory);
    const storeId = deps.random.uuid();
    const fields = { storeId, revision, previousEnd: 0, epoch: 0 };
    const checkpoint = { kind: "checkpoint", number: revision, ...fields } as const;
    await restoreFile(disk, pathOf(directory, checkpoint), async (file) => {
      await file.write([encodeFileHeader(checkpoint)], 0);
      await copy(snapshot.file, file, fileHeaderBytes, end);
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
  return { revision, records };
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
