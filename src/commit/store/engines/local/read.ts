/**
 * Reads files of records in large blocks, trusts only bytes with a valid checksum, and
 * distinguishes a torn tail from damage.
 *
 * A batch begins only once the one before it is durable. So an error at offset X is the torn
 * end of the last, never acknowledged batch, unless some later record is whole and its batch began
 * after X: then X was durable once, and is damaged.
 */
import type { ReadableFile } from "#platform/disk.ts";
import { headerBytes, recordAlign, RecordReader } from "../../record.ts";

/** Large enough that reading costs little compared with checksums; small enough to become a slab. */
const blockBytes = 2 ** 20;
/** A block with a smaller filled share is copied, so that its unused part does not stay in memory. */
const fullEnough = 0.9;

export interface ReadEnd {
  /** End of the last whole record. */
  readonly end: number;
  /** What follows the records: nothing, only zeros, or something else. */
  readonly rest: "none" | "zeros" | "other";
}

/** Passes all whole records from `start` on to `take`, block by block, up to the first one that is not whole. */
export async function readRecords(
  file: ReadableFile,
  start: number,
  take: (bytes: Uint8Array, offset: number) => void,
): Promise<ReadEnd> {
  const size = await file.size();
  let position = start;
  let wanted = blockBytes;
  let ahead = file.read(position, wanted);
  while (position < size) {
    const bytes = await ahead;
    const reader = new RecordReader(bytes);
    const framed = framedEnd(reader);
    if (framed > 0) ahead = file.read(position + framed, blockBytes);
    const end = validEnd(reader, framed);
    if (end > 0) take(compact(bytes, end), position);
    position += end;
    if (end < framed) break;
    if (framed > 0) {
      wanted = blockBytes;
      continue;
    }
    const next = reader.plausibleSize(0);
    // No record begins here, or it is larger than a block, or it is cut off.
    if (next <= wanted || position + next > size) break;
    wanted = next;
    ahead = file.read(position, wanted);
  }
  // The read-ahead past the break is not needed, but its rejection must be handled.
  await ahead.catch(() => undefined);
  return { end: position, rest: await whatFollows(file, position, size) };
}

/** Whether a batch that began after `offset` left a whole record. */
export async function laterBatchExists(file: ReadableFile, offset: number): Promise<boolean> {
  const size = await file.size();
  // Blocks that overlap only by a header could miss a record, so the rest of the segment is read in one piece.
  const start = Math.floor(offset / recordAlign) * recordAlign;
  // The process ended before it set the segment's length or wrote to it.
  if (start >= size || (await whatFollows(file, start, size)) !== "other") return false;
  const bytes = await file.read(start, size - start);
  const reader = new RecordReader(bytes);
  for (let at = 0; at + headerBytes <= bytes.length; at += recordAlign) {
    if (reader.plausibleSize(at) === 0) continue;
    if (start + at - reader.batchOffset(at) <= offset) continue;
    if (reader.validSize(at) > 0) return true;
  }
  return false;
}

/** End of the last record that, judged by its length fields, lies wholly in the block. */
function framedEnd(reader: RecordReader): number {
  let at = 0;
  for (;;) {
    const size = reader.plausibleSize(at);
    if (size === 0 || at + size > reader.bytes.length) return at;
    at += size;
  }
}

/** End, at most `framed`, of the last record with a right checksum. */
function validEnd(reader: RecordReader, framed: number): number {
  let at = 0;
  while (at < framed) {
    const size = reader.validSize(at);
    if (size === 0) return at;
    at += size;
  }
  return at;
}

function compact(bytes: Uint8Array, end: number): Uint8Array {
  return end < bytes.length * fullEnough ? bytes.slice(0, end) : bytes.subarray(0, end);
}

async function whatFollows(
  file: ReadableFile,
  start: number,
  size: number,
): Promise<ReadEnd["rest"]> {
  if (start >= size) return "none";
  for (let at = start; at < size; at += blockBytes) {
    const bytes = await file.read(at, Math.min(blockBytes, size - at));
    if (!allZero(bytes)) return "other";
  }
  return "zeros";
}

function allZero(bytes: Uint8Array): boolean {
  const words = bytes.length >> 3;
  // Read buffers are new and therefore aligned; otherwise the constructor would throw.
  const wide = new Float64Array(bytes.buffer, bytes.byteOffset, words);
  for (let i = 0; i < words; i++) {
    // `!== 0` would accept -0, whose bits are not all zero.
    if (!Object.is(wide[i], 0)) return false;
  }
  for (let i = words << 3; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
