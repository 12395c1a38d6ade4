/**
 * Reads the segments of a store directory, record by record, in order. The torn end of the last segment is
 * cut off with a log line, and its last batch is written again.
 *
 * Holds  every segment except the last reaches exactly as far as the header of the next one says.
 */
import type { DiskFile } from "#platform/disk.ts";
import { RecordReader } from "../../record.ts";
import { CorruptionError } from "../engine.ts";
import type { ReplaySink } from "../engine.ts";
import type { StoreDirectory } from "./directory.ts";
import { fileHeaderBytes, pathOf } from "./files.ts";
import type { FileHeader } from "./files.ts";
import { damagedHeader, type Place, readHeader, remedy } from "./header.ts";
import { laterBatchExists, readRecords } from "./read.ts";
import type { SegmentInfo } from "./segment.ts";

export class SegmentsReader {
  readonly segments: SegmentInfo[] = [];
  tail: { readonly file: DiskFile; readonly size: number } | undefined;
  epoch = 0;
  headRevision = 0;
  readonly #place: Place;
  readonly #found: StoreDirectory;
  readonly #replay: ReplaySink;
  /** Offset of the batch that contains the last record seen. */
  #lastBatch = 0;

  constructor(place: Place, found: StoreDirectory, replay: ReplaySink) {
    this.#place = place;
    this.#found = found;
    this.#replay = replay;
  }

  /** Headers of the segments that were begun. The last file may be prepared without a header. */
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
    const path = pathOf(this.#place.directory, header);
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
    const path = pathOf(this.#place.directory, { kind: "log", number });
    const file = await disk.open(path, "read");
    try {
      const expected = { kind: "log", number, storeId: this.#found.storeId } as const;
      const header = await readHeader(file, path, expected);
      if (header !== undefined) return header;
      if (!last || (await laterBatchExists(file, fileHeaderBytes))) throw damagedHeader(path);
      log.debug("a segment was made ready, but never begun", { file: path });
    } finally {
      await file.close();
    }
    await disk.remove(path);
    return undefined;
  }

  /** @returns whether the last segment can be appended to and therefore stays open. */
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
   * failed. In the latter case the host may consider the pages clean, so that no further sync writes them. The batch is
   * therefore written again before it is served. The batches before it were acknowledged, and are durable.
   */
  async #secureLastBatch(file: DiskFile, end: number): Promise<void> {
    const start = this.#lastBatch <= fileHeaderBytes ? 0 : this.#lastBatch;
    await file.writeDurably([await file.read(start, end - start)], start);
    await file.sync();
  }

  /** `offset`: position of the first byte in its segment. */
  #see(bytes: Uint8Array, offset: number): void {
    const reader = new RecordReader(bytes);
    for (let at = 0; at < bytes.length; at += reader.size(at)) {
      this.epoch = Math.max(this.epoch, reader.epoch(at));
      this.headRevision = Math.max(this.headRevision, reader.revision(at));
      this.#lastBatch = offset + at - reader.batchOffset(at);
    }
  }
}
