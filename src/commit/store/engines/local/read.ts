/**
 * Reads files of records in large blocks, believing nothing that its checksum does not vouch for, and
 * tells a torn tail from damage.
 *
 * A batch begins only once the one before it is durable. So what is wrong at offset X is the torn
 * end of the last, never acknowledged batch - unless some later record is whole and its batch began
 * after X: then X was durable once, and is damaged.
 */
import type { ReadableFile } from "#platform/disk.ts";
import { headerBytes, recordAlign, RecordReader } from "../../record.ts";

/** Large enough that reads cost nothing against checksums; small enough to be a slab. */
const blockBytes = 2 ** 20;
/** A block less full than this is copied, so as not to keep its empty part in memory. */
const fullEnough = 0.9;

export interface ReadEnd {
  /** Where the last whole record ends. */
  readonly end: number;
  /** What follows: the end of the file, zeros to the end of the file, or something else. */
  readonly rest: "none" | "zeros" | "other";
}

/** Hands all whole records from `start` on to `take`, block by block, until one is not whole. */
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
    // Either no record begins here, or one that is larger than a block, or one cut off.
    if (next <= wanted || position + next > size) break;
    wanted = next;
    ahead = file.read(position, wanted);
  }
  // A read ahead past the break is not needed, but must not be left unobserved.
  await ahead.catch(() => undefined);
  return { end: position, rest: await whatFollows(file, position, size) };
}

/** Whether a batch that began after `offset` left a whole record behind it. */
export async function laterBatchExists(file: ReadableFile, offset: number): Promise<boolean> {
  const size = await file.size();
  // Overlapping by a header's worth is not enough for a record: read in one piece, it is a segment.
  const start = Math.floor(offset / recordAlign) * recordAlign;
  // A segment that its process did not live to give its length, or to write anything to.
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

/** Where the records end that by their frames lie wholly in the block. */
function framedEnd(reader: RecordReader): number {
  let at = 0;
  for (;;) {
    const size = reader.plausibleSize(at);
    if (size === 0 || at + size > reader.bytes.length) return at;
    at += size;
  }
}

/** Where, up to `framed`, the records end whose checksums are right. */
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
  // Read buffers are fresh, so their offset is aligned; were it not, the constructor would throw.
  const wide = new Float64Array(bytes.buffer, bytes.byteOffset, words);
  for (let i = 0; i < words; i++) {
    // Not !== 0: that holds for -0, whose bits are not all zero.
    if (!Object.is(wide[i], 0)) return false;
  }
  for (let i = words << 3; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
