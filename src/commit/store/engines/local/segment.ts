/**
 * Segments: the file appended to, and the next one, made ready while this one fills.
 *
 * G1  A segment's header goes out in the same write as its first batch, so beginning one costs no
 *     extra sync. A file without a whole header was made ready, but no batch in it was acknowledged.
 * G2  A batch lies wholly in one segment. One that is larger than a segment gets its own.
 * G3  A file has its full length, durably, before a batch goes in; and while batches are small, the
 *     blocks just ahead are filled with zeros in the background: a commit then changes no metadata,
 *     which saves a quarter of its time. Large batches do without: zeros would double the writing.
 */
import type { Disk, DiskFile } from "#platform/disk.ts";
import type { Way } from "./pace.ts";
import { encodeFileHeader, fileHeaderBytes, pathOf } from "./files.ts";
import { removeIfThere } from "./replace-file.ts";

/** Batches up to this size are bound by latency, larger ones by throughput. */
const smallBatchBytes = 32 * 2 ** 10;
const zerosBytes = 256 * 2 ** 10;
const pageBytes = 4096;
/** Fewer are not worth a call. */
const zerosKeptMax = 32 * 2 ** 10;
const zeros = new Uint8Array(zerosBytes);

export interface SegmentPlace {
  readonly disk: Disk;
  readonly directory: string;
  readonly storeId: string;
  readonly segmentBytes: number;
}

/** Facts of a segment that holds records. */
export interface SegmentInfo {
  readonly number: number;
  /** Head revision before its first record. */
  readonly revision: number;
  /** Where its records end. */
  end: number;
}

/** A file made ready: allocated and named, nothing in it. */
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
    // Half a file is in the way of the next try.
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
  /** Undefined: it is on the disk. */
  readonly header: Uint8Array | undefined;
}

/** The segment that batches go to. */
export class OpenSegment {
  readonly info: SegmentInfo;
  readonly file: DiskFile;
  readonly size: number;
  /** On the monotonic clock. */
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

  /** Durable when it resolves. */
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

  /** No batch comes any more: the zeros behind the last one are given back, where there are many. */
  async closeFull(): Promise<void> {
    await this.#zeros.settled();
    if (this.#zeros.end - this.info.end > zerosKeptMax) {
      // What is left of them after a crash reads the same, and is as good.
      await this.file.truncate(this.info.end).catch(() => undefined);
    }
    await this.file.close();
  }
}

/** Keeps up to `zerosBytes` of written zeros ahead of the records. */
class ZerosAhead {
  readonly #file: DiskFile;
  readonly #size: number;
  /** Zeros are durable up to here, or there is no use in trying. */
  end = 0;
  #from = 0;
  #pending: Promise<void> | undefined;

  constructor(file: DiskFile, size: number) {
    this.#file = file;
    this.#size = size;
  }

  /** Records will be written up to `end`: no zeros may land on them. */
  async clear(end: number): Promise<void> {
    if (this.#pending !== undefined && end > this.#from) await this.#pending;
  }

  /** Records end at `recordsEnd`; begins to write zeros when few are left. */
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
      // No loss: the file reads as zeros there anyway. If the disk is bad, the next append tells.
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

/** Makes the next segment ready in the background. */
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

  /** The segment `number` with room for a batch; throws DiskError when it cannot be made. */
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
