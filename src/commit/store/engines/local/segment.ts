/**
 * Segments: the file that is appended to, and the next one, which is prepared while this one fills.
 *
 * G1  A segment's header is written together with its first batch, so a new segment costs no
 *     extra sync. A file without a whole header was prepared, but no batch in it was acknowledged.
 * G2  A batch lies wholly in one segment. A batch larger than a segment gets a segment of its own.
 * G3  A file has its full length, durably, before a batch is written to it. While batches are small, the
 *     blocks just ahead are filled with zeros in the background: a commit then changes no metadata,
 *     which saves a quarter of its time. Large batches do without: zeros would double the writing.
 */
import type { Disk, DiskFile } from "#platform/disk.ts";
import type { Way } from "./pace.ts";
import { encodeFileHeader, fileHeaderBytes, pathOf } from "./files.ts";
import { removeIfThere } from "./replace-file.ts";

/** Batches up to this size are limited by latency, larger ones by throughput. */
const smallBatchBytes = 32 * 2 ** 10;
const zerosBytes = 256 * 2 ** 10;
const pageBytes = 4096;
/** Up to this many zeros stay in a full segment, because truncating them is not worth a call. */
const zerosKeptMax = 32 * 2 ** 10;
const zeros = new Uint8Array(zerosBytes);

export interface SegmentPlace {
  readonly disk: Disk;
  readonly directory: string;
  readonly storeId: string;
  readonly segmentBytes: number;
}

/** Facts about a segment with records. */
export interface SegmentInfo {
  readonly number: number;
  /** Head revision before its first record. */
  readonly revision: number;
  /** End of its records. */
  end: number;
}

/** A prepared segment: allocated and named, still empty. */
interface ReadySegment {
  readonly number: number;
  readonly file: DiskFile;
  readonly size: number;
}

async function makeSegment(
  place: SegmentPlace,
  number: number,
  batchBytes: number,
): Promise<ReadySegment> {
  const path = pathOf(place.directory, { kind: "log", number });
  const size = Math.max(place.segmentBytes, fileHeaderBytes + batchBytes);
  const file = await place.disk.open(path, "create");
  try {
    await file.extend(size);
    await file.sync();
    await place.disk.syncDirectory(place.directory);
  } catch (error) {
    await file.close();
    // A partly made file would be in the way of the next attempt.
    await removeIfThere(place.disk, path).catch(() => undefined);
    throw error;
  }
  return { number, file, size };
}

interface SegmentParts {
  readonly info: SegmentInfo;
  readonly file: DiskFile;
  readonly size: number;
  readonly openedMs: number;
  /** Undefined: the header is on the disk. */
  readonly header: Uint8Array | undefined;
}

/** The segment to which batches are appended. */
export class OpenSegment {
  readonly info: SegmentInfo;
  readonly file: DiskFile;
  readonly size: number;
  /** Time of opening on the monotonic clock. */
  readonly openedMs: number;
  readonly #zeros: ZerosAhead;
  #header: Uint8Array | undefined;

  constructor({ info, file, size, openedMs, header }: SegmentParts) {
    this.info = info;
    this.file = file;
    this.size = size;
    this.openedMs = openedMs;
    this.#header = header;
    this.#zeros = new ZerosAhead(file, size);
  }

  /** Whether its header is on the disk. */
  get begun(): boolean {
    return this.#header === undefined;
  }

  get bytesLeft(): number {
    return this.size - this.info.end;
  }

  /** The batch is durable when the promise resolves. */
  async append(buffers: readonly Uint8Array[], bytes: number, way: Way): Promise<void> {
    const header = this.#header;
    const position = this.info.end;
    const end = position + bytes;
    await this.#zeros.clear(end);
    if (header === undefined && way === "at once") {
      await this.file.writeDurablyAtOnce(buffers, position);
    } else if (header === undefined) await this.file.writeDurably(buffers, position);
    else await this.file.writeDurably([header, ...buffers], 0);
    this.#header = undefined;
    this.info.end = end;
    if (bytes <= smallBatchBytes) this.#zeros.extend(end);
  }

  async close(): Promise<void> {
    await this.#zeros.settled();
    await this.file.close();
  }

  /** Closes a segment after its last batch, and truncates the zeros after it if there are many. */
  async closeFull(): Promise<void> {
    await this.#zeros.settled();
    if (this.#zeros.end - this.info.end > zerosKeptMax) {
      // After a crash the remaining zeros are read correctly, so a failure is harmless.
      await this.file.truncate(this.info.end).catch(() => undefined);
    }
    await this.file.close();
  }
}

/** Keeps up to `zerosBytes` of written zeros ahead of the records. */
class ZerosAhead {
  readonly #file: DiskFile;
  readonly #size: number;
  /** Zeros are durable up to this offset, or writing them makes no sense. */
  end = 0;
  #from = 0;
  #pending: Promise<void> | undefined;

  constructor(file: DiskFile, size: number) {
    this.#file = file;
    this.#size = size;
  }

  /** Waits until no zeros can be written below `end`, because records follow there. */
  async clear(end: number): Promise<void> {
    if (this.#pending !== undefined && end > this.#from) await this.#pending;
  }

  /** Starts writing zeros when few are left after `recordsEnd`. */
  extend(recordsEnd: number): void {
    const from = Math.max(this.end, Math.ceil(recordsEnd / pageBytes) * pageBytes);
    const to = Math.min(this.#size, from + zerosBytes);
    if (this.#pending !== undefined || from - recordsEnd > zerosBytes / 2 || from >= to) return;
    this.#from = from;
    this.#pending = this.#write(from, to);
  }

  async settled(): Promise<void> {
    await this.#pending;
  }

  async #write(from: number, to: number): Promise<void> {
    try {
      await this.#file.write([zeros.subarray(0, to - from)], from);
      await this.#file.sync();
      this.end = to;
    } catch {
      // Harmless: the file reads as zeros there anyway, and the next append reports a bad disk.
      this.end = this.#size;
    }
    this.#pending = undefined;
  }
}

export function beginSegment(
  ready: ReadySegment,
  fields: {
    readonly storeId: string;
    readonly revision: number;
    readonly previousEnd: number;
    readonly epoch: number;
  },
  openedMs: number,
): OpenSegment {
  const header = encodeFileHeader({ kind: "log", number: ready.number, ...fields });
  const info = { number: ready.number, revision: fields.revision, end: fileHeaderBytes };
  return new OpenSegment({ info, file: ready.file, size: ready.size, openedMs, header });
}

/** Prepares the next segment in the background. */
export class SegmentAhead {
  readonly #place: SegmentPlace;
  #pending: Promise<ReadySegment | undefined> | undefined;

  constructor(place: SegmentPlace) {
    this.#place = place;
  }

  prepare(number: number): void {
    // `take` retries after a failure here, and reports it.
    this.#pending ??= makeSegment(this.#place, number, 0).catch(() => undefined);
  }

  /** Returns segment `number` with room for a batch; throws DiskError when it cannot be made. */
  async take(number: number, batchBytes: number): Promise<ReadySegment> {
    const ready = await this.#pending;
    this.#pending = undefined;
    if (ready !== undefined) {
      if (fileHeaderBytes + batchBytes <= ready.size) return ready;
      await ready.file.close();
      await this.#place.disk.remove(
        pathOf(this.#place.directory, { kind: "log", number: ready.number }),
      );
    }
    return makeSegment(this.#place, number, batchBytes);
  }

  async close(): Promise<void> {
    const ready = await this.#pending;
    await ready?.file.close();
  }
}
