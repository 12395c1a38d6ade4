/**
 * Verifies every record and every checkpoint of a store directory, also those that a start would not
 * read. Reports each error with its place, and the revision up to which the data is safe. Changes nothing.
 *
 * Safe is the newest revision whose state can be rebuilt completely: from the log as far as it is unbroken, counted
 * from its beginning or from a whole checkpoint, or from a whole checkpoint alone.
 */
import type { Disk, ReadableFile } from "#platform/disk.ts";
import { CorruptionError } from "./engines/engine.ts";
import { takeDirectory } from "./engines/local/directory.ts";
import { decodeFileHeader, fileHeaderBytes, pathOf, unreadFormat } from "./engines/local/files.ts";
import type { FileHeader, FileName } from "./engines/local/files.ts";
import { openCheckpoint } from "./engines/local/packed.ts";
import { laterBatchExists, readRecords } from "./engines/local/read.ts";
import type { ReadEnd } from "./engines/local/read.ts";
import { loadReadOnly } from "./read-only.ts";
import type { LoadDeps } from "./read-only.ts";
import { RecordKind, RecordReader } from "./record.ts";
import type { Key } from "./store.ts";

const emptyRevision = 1;

interface FileReport {
  readonly file: string;
  readonly bytes: number;
  readonly records: number;
  /** Revision of the last whole record, or of the file's header when it has no record. */
  readonly revision: number;
  /** Torn: a crash cut off the last batch before it was acknowledged. */
  readonly state: "whole" | "torn" | "unused" | "damaged";
}

export interface CheckReport {
  readonly storeId: string;
  readonly files: readonly FileReport[];
  /** One sentence per problem, with file and offset. */
  readonly problems: readonly string[];
  readonly safeRevision: number;
  /** Keys of the whole store; undefined when it does not open. */
  readonly keys: number | undefined;
}

/** `deps.disk` comes from `withDirectory`. */
export async function checkDirectory(deps: LoadDeps, directory: string): Promise<CheckReport> {
  const found = await takeDirectory(deps.disk, directory, () => "");
  const checker = new Checker(deps.disk, directory, found.storeId);
  for (const number of found.checkpoints) await checker.checkpoint(number);
  const last = await checker.lastBegun(found.segments);
  for (const number of found.segments) await checker.segment(number, number >= last);
  const keys = await checkOpens(deps, directory, checker);
  const { files, problems, safeRevision } = checker;
  return { storeId: found.storeId, files, problems, safeRevision, keys };
}

/** Checks what no single file can show: that the files together make a store that opens. */
async function checkOpens(
  deps: LoadDeps,
  directory: string,
  checker: Checker,
): Promise<number | undefined> {
  try {
    const { mvcc } = await loadReadOnly(deps, directory);
    const all = mvcc.range({ start: "" as Key, end: "\u0100" as Key, limit: 0 });
    return all.kind === "ok" ? all.count : undefined;
  } catch (error) {
    if (!(error instanceof CorruptionError)) throw error;
    // Not reported again when a single file already explains it.
    if (checker.problems.length === 0) checker.problems.push(error.message);
    return undefined;
  }
}

class Checker {
  readonly files: FileReport[] = [];
  readonly problems: string[] = [];
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #storeId: string;
  #wholeCheckpoint = 0;
  /** The log is unbroken from a whole checkpoint or its start up to this revision; undefined: it is broken. */
  #reach: number | undefined;
  #previous: { readonly number: number; readonly end: number } | undefined;
  #broken = false;
  #epoch = 0;

  constructor(disk: Disk, directory: string, storeId: string) {
    this.#disk = disk;
    this.#directory = directory;
    this.#storeId = storeId;
  }

  get safeRevision(): number {
    return Math.max(this.#wholeCheckpoint, this.#reach ?? 0);
  }

  async checkpoint(number: number): Promise<void> {
    try {
      const opened = await openCheckpoint(this.#disk, this.#directory, number);
      await this.#closing(opened, () => this.#checkpoint(number, opened));
    } catch (error) {
      if (!(error instanceof CorruptionError)) throw error;
      // Only a packed file throws this; it has no header and no records to report.
      this.problems.push(error.message);
      const file = pathOf(this.#directory, { kind: "packed", number });
      this.#report(file, 0, new Walk(), number, "damaged");
    }
  }

  async #checkpoint(number: number, { file, path }: OpenedFile): Promise<void> {
    const header = await this.#header(file, path, { kind: "checkpoint", number });
    const walk = new Walk();
    const end = await readRecords(file, fileHeaderBytes, (bytes) => walk.see(bytes));
    const whole = header !== undefined && walk.ended && end.rest === "none";
    if (header !== undefined && !whole) this.#problem(path, end.end, "bad record");
    if (whole) this.#wholeCheckpoint = Math.max(this.#wholeCheckpoint, number);
    this.#report(path, await file.size(), walk, number, whole ? "whole" : "damaged");
  }

  /** The last segment with a header; the newest segment may be prepared but empty. */
  async lastBegun(segments: readonly number[]): Promise<number> {
    const newest = segments.at(-1);
    if (newest === undefined) return 0;
    let begun = true;
    await this.#withFile({ kind: "log", number: newest }, async (file) => {
      const header = decodeFileHeader(await file.read(0, fileHeaderBytes));
      begun = header !== undefined || (await laterBatchExists(file, fileHeaderBytes));
    });
    return begun ? newest : (segments.at(-2) ?? newest);
  }

  async segment(number: number, last: boolean): Promise<void> {
    const name = { kind: "log", number } as const;
    await this.#withFile(name, async (file, path) => {
      const begun = !last || (await laterBatchExists(file, fileHeaderBytes));
      const header = await this.#header(file, path, name, begun);
      const walk = new Walk();
      if (header === undefined && !begun) {
        return this.#report(path, await file.size(), walk, 0, "unused");
      }
      const end = await readRecords(file, fileHeaderBytes, (bytes) => walk.see(bytes));
      const state = await this.#segmentState(file, path, end, last);
      this.#join(path, header, walk, end.end);
      if (state === "damaged" || header === undefined) this.#broken = true;
      const size = await file.size();
      this.#report(
        path,
        size,
        walk,
        header?.revision ?? 0,
        header === undefined ? "damaged" : state,
      );
    });
  }

  /** Checks that this segment continues the previous one, and extends `#reach`. */
  #join(path: string, header: FileHeader | undefined, walk: Walk, end: number): void {
    if (header === undefined) return;
    const before = this.#previous;
    this.#previous = { number: header.number, end };
    if (before === undefined) {
      const fromStart = header.number === 1 && header.revision <= emptyRevision;
      if (fromStart || header.revision <= this.#wholeCheckpoint) this.#reach = header.revision;
      else
        this.#problem(
          path,
          0,
          `log begins after revision ${header.revision}, and no whole checkpoint covers what is before`,
        );
    } else if (header.number !== before.number + 1) {
      this.#problem(path, 0, `segment ${before.number + 1} is missing`);
      this.#broken = true;
    } else if (header.previousEnd !== before.end) {
      this.#problem(
        path,
        0,
        `the segment before ends at ${before.end}, and should at ${header.previousEnd}`,
      );
      this.#broken = true;
    }
    if (walk.epochFell || walk.epochFirst < this.#epoch) this.#problem(path, 0, "an epoch falls");
    this.#epoch = Math.max(this.#epoch, walk.epoch);
    if (!this.#broken && this.#reach !== undefined) {
      this.#reach = Math.max(this.#reach, header.revision, walk.revision);
    }
  }

  async #segmentState(
    file: ReadableFile,
    path: string,
    { end, rest }: ReadEnd,
    last: boolean,
  ): Promise<FileReport["state"]> {
    if (rest !== "other") return "whole";
    if (last && !(await laterBatchExists(file, end))) return "torn";
    this.#problem(path, end, "bad record");
    return "damaged";
  }

  async #header(
    file: ReadableFile,
    path: string,
    name: FileName,
    required: boolean = true,
  ): Promise<FileHeader | undefined> {
    const header = decodeFileHeader(await file.read(0, fileHeaderBytes));
    if (header === undefined) {
      if (required) this.#problem(path, 0, "bad header");
      return undefined;
    }
    const unread = unreadFormat(header.format);
    if (unread !== undefined) this.problems.push(`${path}: ${unread}`);
    else if (header.storeId !== this.#storeId)
      this.#problem(path, 16, `belongs to store ${header.storeId}`);
    else if (header.kind !== name.kind || header.number !== name.number) {
      this.#problem(path, 0, `is ${header.kind} ${header.number} under a wrong name`);
    } else return header;
    return undefined;
  }

  #problem(path: string, offset: number, what: string): void {
    this.problems.push(`${path}: ${what} at offset ${offset}`);
  }

  #report(
    file: string,
    bytes: number,
    walk: Walk,
    revision: number,
    state: FileReport["state"],
  ): void {
    const { records } = walk;
    this.files.push({ file, bytes, records, revision: Math.max(walk.revision, revision), state });
  }

  async #withFile(
    name: FileName,
    f: (file: ReadableFile, path: string) => Promise<void>,
  ): Promise<void> {
    const path = pathOf(this.#directory, name);
    const file = await this.#disk.open(path, "read");
    await this.#closing({ file, path }, () => f(file, path));
  }

  async #closing({ file }: OpenedFile, f: () => Promise<void>): Promise<void> {
    try {
      await f();
    } finally {
      await file.close();
    }
  }
}

interface OpenedFile {
  readonly file: ReadableFile;
  readonly path: string;
}

/** Totals over the whole records of one file. */
class Walk {
  records = 0;
  revision = 0;
  epoch = 0;
  epochFirst = Number.POSITIVE_INFINITY;
  epochFell = false;
  /** Whether the last record was a checkpoint's end record with the right count. */
  ended = false;

  see(bytes: Uint8Array): void {
    const reader = new RecordReader(bytes);
    for (let at = 0; at < bytes.length; at += reader.size(at)) {
      const epoch = reader.epoch(at);
      if (epoch < this.epoch) this.epochFell = true;
      this.epoch = epoch;
      this.epochFirst = Math.min(this.epochFirst, epoch);
      this.revision = Math.max(this.revision, reader.revision(at));
      this.ended =
        reader.kind(at) === RecordKind.checkpointEnd && reader.version(at) === this.records;
      this.records++;
    }
  }
}
