/**
 * A follower's cursor over the segments of an open log: it reads durable records from disk, in pieces, on
 * demand. No memory is kept for it, so a slow follower costs nothing. It gets `trimmed` once a checkpoint
 * has removed the records it needs next.
 *
 * T1  Only bytes before a segment's `end` are read: those have been acknowledged.
 * T2  Checksums are verified again, so a follower gets exactly what was written.
 */
import { assert } from "#base/assert.ts";
import { DiskError } from "#platform/disk.ts";
import type { Disk, DiskFile } from "#platform/disk.ts";
import { headerBytes, RecordReader } from "../../record.ts";
import { CorruptionError } from "../engine.ts";
import type { Tail, TailRead } from "../engine.ts";
import { fileHeaderBytes, pathOf } from "./files.ts";
import type { SegmentInfo } from "./segment.ts";

interface TailedLog {
  readonly disk: Disk;
  readonly directory: string;
  /** The engine's own list, which changes; the open segment is last. */
  readonly segments: readonly SegmentInfo[];
}

const trimmed = { kind: "trimmed" } as const;

export class LocalTail implements Tail {
  readonly #log: TailedLog;
  readonly #after: number;
  /** Number of the segment to be read next; undefined before the first read. */
  #number: number | undefined;
  #offset = fileHeaderBytes;
  #file: DiskFile | undefined;
  #trimmed = false;

  constructor(log: TailedLog, after: number) {
    this.#log = log;
    this.#after = after;
  }

  async read(bytesMax: number): Promise<TailRead> {
    for (;;) {
      const segment = this.#trimmed ? undefined : this.#segment();
      if (segment === undefined) return this.#end();
      if (this.#offset < segment.end) {
        const bytes = await this.#records(segment, bytesMax);
        if (bytes === undefined) return this.#end();
        if (bytes.length > 0) return { kind: "records", bytes };
      } else if (!(await this.#advance(segment.number))) return { kind: "end" };
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #end(): Promise<TailRead> {
    this.#trimmed = true;
    await this.close();
    return trimmed;
  }

  /** The segment to read from; undefined when it has been removed. */
  #segment(): SegmentInfo | undefined {
    const { segments } = this.#log;
    if (this.#number !== undefined) return segments.find((one) => one.number === this.#number);
    const found = firstSegment(segments, this.#after);
    this.#number = found?.number;
    return found;
  }

  /** @returns whether a segment after `number` exists. */
  async #advance(number: number): Promise<boolean> {
    if (this.#log.segments.at(-1)?.number === number) return false;
    await this.close();
    this.#number = number + 1;
    this.#offset = fileHeaderBytes;
    return true;
  }

  /** The next piece without the records before `after`; undefined when the file has been removed. */
  async #records(segment: SegmentInfo, bytesMax: number): Promise<Uint8Array | undefined> {
    const file = await this.#open(segment.number);
    if (file === undefined) return undefined;
    const wanted = Math.min(Math.max(bytesMax, headerBytes), segment.end - this.#offset);
    let reader = new RecordReader(await file.read(this.#offset, wanted));
    const first = reader.plausibleSize(0);
    if (first > wanted && first <= segment.end - this.#offset) {
      reader = new RecordReader(await file.read(this.#offset, first));
    }
    const { start, end } = wholeRecords(reader, this.#after);
    if (end === 0) throw this.#damaged(segment.number);
    this.#offset += end;
    return reader.bytes.slice(start, end);
  }

  async #open(number: number): Promise<DiskFile | undefined> {
    const { disk } = this.#log;
    try {
      this.#file ??= await disk.open(this.#path(number), "read");
    } catch (error) {
      // The file was removed between reading the list and now.
      if (!(error instanceof DiskError) || error.code !== "ENOENT") throw error;
    }
    return this.#file;
  }

  #path(number: number): string {
    return pathOf(this.#log.directory, { kind: "log", number });
  }

  #damaged(number: number): CorruptionError {
    return new CorruptionError(
      `${this.#path(number)}: bad record at offset ${this.#offset}, which was durable: restore the directory from a backup`,
    );
  }
}

/**
 * Returns the segment to start at. Several segments may begin at `after` itself, since leases take no revision: the
 * one before the first of them may hold some. Undefined when that one is no longer there.
 */
function firstSegment(segments: readonly SegmentInfo[], after: number): SegmentInfo | undefined {
  assert(segments.length > 0, "tail of a log that was never opened");
  const later = segments.findIndex((segment) => segment.revision >= after);
  if (later > 0) return segments[later - 1];
  if (later === -1) return segments.at(-1);
  const first = segments[0];
  return first?.number === 1 ? first : undefined;
}

/** [start, end): whole records with right checksums, from the first one at or above `after` on. */
function wholeRecords(reader: RecordReader, after: number): { start: number; end: number } {
  let start = 0;
  let end = 0;
  for (let size = reader.validSize(0); size > 0; size = reader.validSize(end)) {
    if (start === end && reader.revision(end) < after) start += size;
    end += size;
  }
  return { start, end };
}
