/**
 * What a file of the fake disk holds: what is read (`live`), what a power cut leaves for sure
 * (`durable`), and the writes in between, which it may leave sector by sector.
 *
 * After a failed sync what it should have kept is still readable, but a later sync does not keep it
 * either (Linux marks such pages clean; see "Can Applications Recover from fsync Failures?").
 */
import type { FakeRandom } from "./random.ts";

/** Size of a sector. Disks write sectors whole; 512 bytes is the least that a disk guarantees. */
const sectorBytes = 512;

export interface Write {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** Whether a sync of this write failed, so that it survives only by luck. */
  doubtful: boolean;
}

export class Inode {
  live: Uint8Array = new Uint8Array(0);
  size = 0;
  durable: Uint8Array = new Uint8Array(0);
  unsynced: Write[] = [];
  /** Number of syncs that failed so far. */
  failures = 0;
}

/** Effect of a power cut on the writes that were not durable. */
export interface Damage {
  /** Number of unsynced writes that survived whole. */
  kept: number;
  lost: number;
  /** Number of writes of which some sectors were kept and others lost. */
  torn: number;
}

export function writeLive(inode: Inode, offset: number, bytes: Uint8Array): Write {
  const end = offset + bytes.length;
  inode.live = grown(inode.live, end);
  inode.live.set(bytes, offset);
  inode.size = Math.max(inode.size, end);
  const write = { offset, bytes, doubtful: false };
  inode.unsynced.push(write);
  return write;
}

/** Returns the writes that a sync of just `write`'s bytes makes durable: earlier unsynced writes lie beneath it. */
export function overlapping(inode: Inode, write: Write): Write[] {
  const end = write.offset + write.bytes.length;
  return inode.unsynced.filter(
    ({ offset, bytes }) => offset < end && offset + bytes.length > write.offset,
  );
}

export function truncate(inode: Inode, size: number): void {
  inode.size = size;
  inode.live = inode.live.slice(0, size);
  // Bytes that were cut off cannot come back; earlier writes within the new size stay as they are.
  inode.unsynced = inode.unsynced
    .filter(({ offset }) => offset < size)
    .map((write) => ({ ...write, bytes: write.bytes.slice(0, size - write.offset) }));
  inode.durable = inode.durable.slice(0, size);
}

/** Makes the writes that a sync covers durable, except those that an earlier failed sync has made doubtful. */
export function keep(inode: Inode, covered: readonly Write[]): void {
  for (const write of covered) {
    const { doubtful, offset, bytes } = write;
    if (doubtful) continue;
    inode.durable = fitted(inode.durable, offset + bytes.length);
    inode.durable.set(bytes, offset);
    overlay(inode, write);
  }
  inode.unsynced = inode.unsynced.filter((write) => write.doubtful || !covered.includes(write));
}

/** Writes over a page: the page holds the new bytes, and the old ones cannot come back. */
function overlay(inode: Inode, { offset, bytes }: Write): void {
  for (const older of inode.unsynced) {
    if (!older.doubtful) continue;
    const start = Math.max(offset, older.offset);
    const end = Math.min(offset + bytes.length, older.offset + older.bytes.length);
    if (start >= end) continue;
    older.bytes.set(bytes.subarray(start - offset, end - offset), start - older.offset);
  }
}

/** Marks the writes that a failed sync covered as doubtful. */
export function doubt(inode: Inode, covered: readonly Write[]): void {
  for (const write of covered) write.doubtful = true;
  inode.failures++;
}

/** Returns the inode after a power cut. `luck`: probability that an unsynced sector survives. */
export function survivingInode(
  inode: Inode,
  fate: { readonly random: FakeRandom; readonly luck: number; readonly damage: Damage },
): Inode {
  const { random, luck, damage } = fate;
  for (const write of inode.unsynced) {
    const fates = new Set<boolean>();
    applyWrite(inode, write, () => {
      const keeps = random.chance(luck);
      fates.add(keeps);
      return keeps;
    });
    damage[fates.size > 1 ? "torn" : fates.has(true) ? "kept" : "lost"]++;
  }
  const kept = new Inode();
  kept.durable = inode.durable.slice();
  kept.live = inode.durable.slice();
  kept.size = kept.live.length;
  return kept;
}

/** Copies the sectors of a write that `keeps` allows into the durable bytes. */
function applyWrite(inode: Inode, write: Write, keeps: () => boolean): void {
  const { offset, bytes } = write;
  for (let at = offset; at < offset + bytes.length;) {
    const end = Math.min(offset + bytes.length, (Math.floor(at / sectorBytes) + 1) * sectorBytes);
    if (keeps()) {
      inode.durable = fitted(inode.durable, end);
      inode.durable.set(bytes.subarray(at - offset, end - offset), at);
    }
    at = end;
  }
}

/** Returns an array of at least `size` bytes, with room to grow. */
function grown(bytes: Uint8Array, size: number): Uint8Array {
  if (size <= bytes.length) return bytes;
  const made = new Uint8Array(Math.max(size, bytes.length * 2));
  made.set(bytes);
  return made;
}

/** Returns an array of at least `size` bytes, exactly `size` if it must grow. */
function fitted(bytes: Uint8Array, size: number): Uint8Array {
  if (size <= bytes.length) return bytes;
  const made = new Uint8Array(size);
  made.set(bytes);
  return made;
}
