/**
 * Segments: the file appended to, and the next one, made ready while this one fills.
 *
 * G1  A segment's header goes out in the same write as its first batch, so beginning one costs no
 *     extra sync. A file without a whole header was made ready, but no batch in it was acknowledged.
 * G2  A batch lies wholly in one segment. One that is larger than a segment gets its own.
 * G3  Files are as long as they will get, zero-filled, and named durably before a batch goes in: a
 *     commit changes no metadata, which halves the cost of its sync.
 */
import { DiskError } from "#platform/disk.ts";
import type { Disk, DiskFile } from "#platform/disk.ts";
import { removeIfThere } from "./local-directory.ts";
import { encodeFileHeader, fileHeaderBytes, fileName } from "./local-files.ts";

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
export interface ReadySegment {
  readonly number: number;
  readonly file: DiskFile;
  readonly size: number;
}

export function segmentPath(place: SegmentPlace, number: number): string {
  return `${place.directory}/${fileName({ kind: "log", number })}`;
}

export async function makeSegment(
  place: SegmentPlace,
  number: number,
  batchBytes: number,
): Promise<ReadySegment> {
  const path = segmentPath(place, number);
  const size = Math.max(place.segmentBytes, fileHeaderBytes + batchBytes);
  const file = await place.disk.open(path, "create");
  try {
    await file.allocate(size);
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

/** The segment that batches go to. */
export class OpenSegment {
  readonly info: SegmentInfo;
  readonly file: DiskFile;
  readonly size: number;
  #header: Uint8Array | undefined;

  constructor(info: SegmentInfo, file: DiskFile, size: number, header: Uint8Array | undefined) {
    this.info = info;
    this.file = file;
    this.size = size;
    this.#header = header;
  }

  get bytesLeft(): number {
    return this.size - this.info.end;
  }

  /** Durable when it resolves. */
  async append(buffers: readonly Uint8Array[], bytes: number): Promise<void> {
    const header = this.#header;
    const position = this.info.end;
    if (header === undefined) await this.file.write(buffers, position);
    else await this.file.write([header, ...buffers], 0);
    await this.file.sync();
    this.#header = undefined;
    this.info.end = position + bytes;
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
): OpenSegment {
  const header = encodeFileHeader({ kind: "log", number: ready.number, ...fields });
  const info = { number: ready.number, revision: fields.revision, end: fileHeaderBytes };
  return new OpenSegment(info, ready.file, ready.size, header);
}

/** Makes the next segment ready in the background, and remembers when there is no room for it. */
export class SegmentAhead {
  readonly #place: SegmentPlace;
  #pending: Promise<ReadySegment | undefined> | undefined;
  #failure: DiskError | undefined;

  constructor(place: SegmentPlace) {
    this.#place = place;
  }

  /** Set while the last try failed: writes go on as far as the open segment reaches. */
  get failure(): DiskError | undefined {
    return this.#failure;
  }

  prepare(number: number): void {
    this.#pending ??= makeSegment(this.#place, number, 0).then(
      (ready) => {
        this.#failure = undefined;
        return ready;
      },
      (error: unknown) => {
        this.#failure = asDiskError(error);
        this.#pending = undefined;
        return undefined;
      },
    );
  }

  /** The segment `number` with room for a batch; throws DiskError when it cannot be made. */
  async take(number: number, batchBytes: number): Promise<ReadySegment> {
    const ready = await this.#pending;
    this.#pending = undefined;
    if (ready !== undefined) {
      if (fileHeaderBytes + batchBytes <= ready.size) return ready;
      await ready.file.close();
      await this.#place.disk.remove(segmentPath(this.#place, ready.number));
    }
    return makeSegment(this.#place, number, batchBytes);
  }

  async close(): Promise<void> {
    const ready = await this.#pending;
    await ready?.file.close();
  }
}

function asDiskError(error: unknown): DiskError {
  if (error instanceof DiskError) return error;
  throw error;
}
