/**
 * Recovery of a store directory: the newest whole checkpoint, then every segment after it, in order.
 *
 * Damage is never skipped over: a record that is wrong where a later batch is right, a segment that
 * is missing, or records that do not reach as far as the next segment says, is a CorruptionError
 * that names file and offset. Only the torn end of the last batch is cut off, with a log line.
 */
import type { Disk, DiskFile } from "#platform/disk.ts";
import type { Log } from "#platform/log.ts";
import { RecordKind, RecordReader } from "../record.ts";
import { CorruptionError } from "./engine.ts";
import type { ReplaySink } from "./engine.ts";
import type { StoreDirectory } from "./local-directory.ts";
import {
  decodeFileHeader,
  fileHeaderBytes,
  fileName,
  newestFileName,
  unreadFormat,
} from "./local-files.ts";
import type { FileHeader, FileName } from "./local-files.ts";
import { laterBatchExists, readRecords } from "./local-read.ts";
import type { SegmentInfo } from "./local-segment.ts";

const remedy = "restore the directory from a backup";

export interface Place {
  readonly disk: Disk;
  readonly log: Log;
  readonly directory: string;
}

export interface Recovered {
  /** 0 when there is none. */
  readonly checkpointRevision: number;
  readonly checkpointBytes: number;
  /** All that hold records, ascending. */
  readonly segments: SegmentInfo[];
  /** The last one, open for writing, when it may be appended to. */
  readonly tail: { readonly file: DiskFile; readonly size: number } | undefined;
  readonly epoch: number;
  readonly headRevision: number;
}

interface CheckpointRead {
  readonly revision: number;
  readonly bytes: number;
}

export async function recover(
  place: Place,
  found: StoreDirectory,
  replay: ReplaySink,
): Promise<Recovered> {
  const checkpoint = await recoverCheckpoint(place, found, replay);
  const reader = new SegmentsReader(place, found, replay);
  checkContiguous(place, found.segments);
  const begun = await reader.headers();
  checkNewest(place, begun, found.newest);
  checkBegins(place, begun[0], checkpoint.revision);
  const needed = neededFrom(begun, checkpoint.revision);
  for (let i = needed; i < begun.length; i++) {
    await reader.read(begun[i] as FileHeader, begun[i + 1]);
  }
  await checkReaches(place, begun.at(-1), reader, checkpoint.revision);
  return {
    checkpointRevision: checkpoint.revision,
    checkpointBytes: checkpoint.bytes,
    segments: [...skipped(begun.slice(0, needed), begun), ...reader.segments],
    tail: reader.tail,
    epoch: reader.epoch,
    headRevision: Math.max(reader.headRevision, checkpoint.revision),
  };
}

/** The newest checkpoint that is whole. A damaged one is passed over if an older one is there. */
async function recoverCheckpoint(
  place: Place,
  found: StoreDirectory,
  replay: ReplaySink,
): Promise<CheckpointRead> {
  const newestFirst = found.checkpoints.toReversed();
  for (const [i, revision] of newestFirst.entries()) {
    try {
      return await readCheckpoint(place, found.storeId, revision, replay);
    } catch (error) {
      if (!(error instanceof CorruptionError) || i === newestFirst.length - 1) throw error;
      place.log.error("a checkpoint is damaged; using the one before it", { error: error.message });
    }
  }
  return { revision: 0, bytes: 0 };
}

async function readCheckpoint(
  place: Place,
  storeId: string,
  revision: number,
  replay: ReplaySink,
): Promise<CheckpointRead> {
  const path = pathOf(place, { kind: "checkpoint", number: revision });
  const file = await place.disk.open(path, "read");
  try {
    await readHeader(file, path, { kind: "checkpoint", number: revision, storeId }, true);
    replay.checkpoint(revision);
    const end = new CheckpointEnd();
    const { end: stop } = await readRecords(file, fileHeaderBytes, (bytes, offset) => {
      end.see(bytes);
      replay.records(bytes, { kind: "checkpoint", file: path, offset });
    });
    if (!end.whole || stop !== (await file.size())) {
      throw new CorruptionError(`${path}: bad record at offset ${stop}: ${remedy}`);
    }
    return { revision, bytes: stop };
  } finally {
    await file.close();
  }
}

/** Follows a checkpoint's records to see that it ends with the record that counts them. */
class CheckpointEnd {
  #count = 0;
  #expected: number | undefined;

  get whole(): boolean {
    return this.#expected === this.#count;
  }

  see(bytes: Uint8Array): void {
    const reader = new RecordReader(bytes);
    for (let at = 0; at < bytes.length; at += reader.size(at)) {
      if (reader.kind(at) === RecordKind.checkpointEnd) this.#expected = reader.version(at);
      else this.#count++;
    }
  }
}

class SegmentsReader {
  readonly segments: SegmentInfo[] = [];
  tail: { readonly file: DiskFile; readonly size: number } | undefined;
  epoch = 0;
  headRevision = 0;
  readonly #place: Place;
  readonly #found: StoreDirectory;
  readonly #replay: ReplaySink;
  /** Where the batch of the last record seen begins in its segment. */
  #lastBatch = 0;

  constructor(place: Place, found: StoreDirectory, replay: ReplaySink) {
    this.#place = place;
    this.#found = found;
    this.#replay = replay;
  }

  /** Headers of the segments that were begun. One made ready but not begun may be the last. */
  async headers(): Promise<FileHeader[]> {
    const headers: FileHeader[] = [];
    for (const number of this.#found.segments) {
      const last = number === this.#found.segments.at(-1);
      const header = await this.#header(number, last);
      if (header !== undefined) headers.push(header);
    }
    this.epoch = Math.max(0, ...headers.map((header) => header.epoch));
    return headers;
  }

  async read(header: FileHeader, next: FileHeader | undefined): Promise<void> {
    const { disk } = this.#place;
    const path = pathOf(this.#place, header);
    const file = await disk.open(path, next === undefined ? "write" : "read");
    let keepOpen = false;
    this.#lastBatch = 0;
    try {
      const { end, rest } = await readRecords(file, fileHeaderBytes, (bytes, offset) => {
        this.#replay.records(bytes, { kind: "log", file: path, offset });
        this.#see(bytes, offset);
      });
      this.segments.push({ number: header.number, revision: header.revision, end });
      if (next === undefined) keepOpen = await this.#finishTail(file, path, end, rest);
      else if (end !== next.previousEnd) {
        throw new CorruptionError(
          `${path}: bad record at offset ${end}, where records should reach to ${next.previousEnd}: ${remedy}`,
        );
      }
    } finally {
      if (!keepOpen) await file.close();
    }
  }

  async #header(number: number, last: boolean): Promise<FileHeader | undefined> {
    const { disk, log } = this.#place;
    const path = pathOf(this.#place, { kind: "log", number });
    const file = await disk.open(path, "read");
    try {
      const expected = { kind: "log", number, storeId: this.#found.storeId } as const;
      const header = await readHeader(file, path, expected, !last);
      if (header !== undefined) return header;
      if (await laterBatchExists(file, fileHeaderBytes)) throw damagedHeader(path);
      log.debug("a segment was made ready, but never begun", { file: path });
    } finally {
      await file.close();
    }
    await disk.remove(path);
    return undefined;
  }

  /** @returns whether the last segment can be appended to, and so stays open. */
  async #finishTail(
    file: DiskFile,
    path: string,
    end: number,
    rest: "none" | "zeros" | "other",
  ): Promise<boolean> {
    if (rest === "other") {
      if (await laterBatchExists(file, end)) {
        throw new CorruptionError(
          `${path}: bad record at offset ${end}, and later ones are whole: ${remedy}`,
        );
      }
      const bytes = (await file.size()) - end;
      this.#place.log.warn("the end of the log was torn by a crash; it was never acknowledged", {
        file: path,
        offset: end,
        bytes,
      });
      await file.truncate(end);
    }
    await this.#secureLastBatch(file, end);
    if (rest !== "zeros") return false;
    this.tail = { file, size: await file.size() };
    return true;
  }

  /**
   * The last batch may be in the page cache only: its process died before the sync, or the sync
   * failed - then the host may hold the pages for clean, and no further sync writes them. So it is
   * written again before anybody sees it; what is before it was acknowledged, and is durable.
   */
  async #secureLastBatch(file: DiskFile, end: number): Promise<void> {
    const start = this.#lastBatch <= fileHeaderBytes ? 0 : this.#lastBatch;
    await file.writeDurably([await file.read(start, end - start)], start);
    await file.sync();
  }

  /** `offset`: of the first byte in its segment. */
  #see(bytes: Uint8Array, offset: number): void {
    const reader = new RecordReader(bytes);
    for (let at = 0; at < bytes.length; at += reader.size(at)) {
      this.epoch = Math.max(this.epoch, reader.epoch(at));
      this.headRevision = Math.max(this.headRevision, reader.revision(at));
      this.#lastBatch = offset + at - reader.batchOffset(at);
    }
  }
}

async function readHeader(
  file: DiskFile,
  path: string,
  expected: { readonly kind: FileName["kind"]; readonly number: number; readonly storeId: string },
  required: boolean,
): Promise<FileHeader | undefined> {
  const header = decodeFileHeader(await file.read(0, fileHeaderBytes));
  if (header === undefined) {
    if (required) throw damagedHeader(path);
    return undefined;
  }
  const unread = unreadFormat(header.format);
  if (unread !== undefined) throw new CorruptionError(`${path}: ${unread}`);
  if (header.storeId !== expected.storeId) {
    throw new CorruptionError(
      `${path}: belongs to store ${header.storeId}, this is ${expected.storeId}: ${remedy}`,
    );
  }
  if (header.kind !== expected.kind || header.number !== expected.number) {
    throw new CorruptionError(
      `${path}: is ${header.kind} ${header.number} under a wrong name: ${remedy}`,
    );
  }
  return header;
}

function damagedHeader(path: string): CorruptionError {
  return new CorruptionError(`${path}: bad header at offset 0: ${remedy}`);
}

/** One that was only made ready counts: the one before it had been begun, and was durable. */
function checkContiguous(place: Place, numbers: readonly number[]): void {
  for (let i = 1; i < numbers.length; i++) {
    const wanted = (numbers[i - 1] as number) + 1;
    if (numbers[i] !== wanted) throw missing(place, wanted, `segment ${numbers[i]} is there`);
  }
}

function checkBegins(
  place: Place,
  first: FileHeader | undefined,
  checkpointRevision: number,
): void {
  if (first === undefined) {
    if (checkpointRevision > 0) throw missing(place, undefined, "there is a checkpoint");
    return;
  }
  const reaches =
    checkpointRevision > 0 ? first.revision <= checkpointRevision : first.number === 1;
  if (!reaches) throw missing(place, first.number - 1, `segment ${first.number} is there`);
}

/** A segment that once held something is removed only after a newer one was begun. */
function checkNewest(place: Place, begun: readonly FileHeader[], newest: number): void {
  const last = begun.at(-1)?.number ?? 0;
  if (last >= newest) return;
  const but = `${newestFileName} names segment ${newest}`;
  throw missing(place, last + 1, but, `or remove ${newestFileName} to go on without it`);
}

/** A checkpoint is of what was durable in the log: one that ends before it has lost its end. */
async function checkReaches(
  place: Place,
  last: FileHeader | undefined,
  reader: SegmentsReader,
  checkpointRevision: number,
): Promise<void> {
  if (last === undefined || Math.max(last.revision, reader.headRevision) >= checkpointRevision) {
    return;
  }
  await reader.tail?.file.close();
  throw missing(place, last.number + 1, `there is a checkpoint of revision ${checkpointRevision}`);
}

function missing(
  place: Place,
  number: number | undefined,
  but: string,
  otherwise?: string,
): CorruptionError {
  const which = number === undefined ? "every log segment" : `log segment ${number}`;
  const path = number === undefined ? place.directory : pathOf(place, { kind: "log", number });
  const advice = otherwise === undefined ? remedy : `${remedy}, ${otherwise}`;
  return new CorruptionError(`${path}: ${which} is missing, but ${but}: ${advice}`);
}

/**
 * Index of the first segment that may hold a record made after the checkpoint: grants and ends of
 * leases take no revision, so several segments may begin at the checkpoint's own.
 */
function neededFrom(begun: readonly FileHeader[], checkpointRevision: number): number {
  const later = begun.findIndex((header) => header.revision >= checkpointRevision);
  if (later === 0 || begun.length === 0) return 0;
  return (later === -1 ? begun.length : later) - 1;
}

/** Segments the checkpoint covers, kept for the older checkpoint's sake. */
function skipped(headers: readonly FileHeader[], begun: readonly FileHeader[]): SegmentInfo[] {
  return headers.map(({ number, revision }, i) => {
    const end = (begun[i + 1] as FileHeader).previousEnd;
    return { number, revision, end };
  });
}

export function pathOf(place: { readonly directory: string }, name: FileName): string {
  return `${place.directory}/${fileName({ kind: name.kind, number: name.number })}`;
}
