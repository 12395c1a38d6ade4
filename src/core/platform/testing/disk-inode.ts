/**
 * What a file of the fake disk holds: what is read (`live`), what a power cut leaves for sure
 * (`durable`), and the writes in between, which it may leave sector by sector.
 *
 * After a failed sync what it should have kept is still readable, but a later sync does not keep it
 * either (Linux marks such pages clean; see "Can Applications Recover from fsync Failures?").
 */
import type { FakeRandom } from "./random.ts";

/** Disks write sectors whole; 512 bytes is the least any of them promises. */
const sectorBytes = 512;

export interface Write {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** A sync failed on it: only luck keeps it. */
  doubtful: boolean;
}

export class Inode {
  live: Uint8Array = new Uint8Array(0);
  size = 0;
  durable: Uint8Array = new Uint8Array(0);
  unsynced: Write[] = [];
  /** Syncs that failed so far. */
  failures = 0;
}

/** What a power cut did to the writes that nothing had made durable. */
export interface Damage {
  /** Unsynced writes that survive whole. */
  kept: number;
  lost: number;
  /** Some sectors of one write were kept, others not. */
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

/** What a sync of just `write`'s bytes makes durable: earlier unsynced writes lie beneath it. */
export function overlapping(inode: Inode, write: Write): Write[] {
  const end = write.offset + write.bytes.length;
  return inode.unsynced.filter(
    ({ offset, bytes }) => offset < end && offset + bytes.length > write.offset,
  );
}

export function truncate(inode: Inode, size: number): void {
  inode.size = size;
  inode.live = inode.live.slice(0, size);
  // What was cut off cannot come back; earlier writes within stay as they are.
  inode.unsynced = inode.unsynced
    .filter(({ offset }) => offset < size)
    .map((write) => ({ ...write, bytes: write.bytes.slice(0, size - write.offset) }));
  inode.durable = inode.durable.slice(0, size);
}

/** What a sync has covered is durable, unless one before failed on it. */
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

/** A page that was written over holds the new bytes: what was there before cannot come back. */
function overlay(inode: Inode, { offset, bytes }: Write): void {
  for (const older of inode.unsynced) {
    if (!older.doubtful) continue;
    const start = Math.max(offset, older.offset);
    const end = Math.min(offset + bytes.length, older.offset + older.bytes.length);
    if (start >= end) continue;
    older.bytes.set(bytes.subarray(start - offset, end - offset), start - older.offset);
  }
}

/** A sync failed on these. */
export function doubt(inode: Inode, covered: readonly Write[]): void {
  for (const write of covered) write.doubtful = true;
  inode.failures++;
}

/** The inode after a power cut; `luck`: how likely an unsynced sector survives. */
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

/** Puts the sectors of a write that `keeps` lets through into the durable bytes. */
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

/** At least `size` long, with room to grow. */
function grown(bytes: Uint8Array, size: number): Uint8Array {
  if (size <= bytes.length) return bytes;
  const made = new Uint8Array(Math.max(size, bytes.length * 2));
  made.set(bytes);
  return made;
}

/** At least `size` long, exactly so if it must grow. */
function fitted(bytes: Uint8Array, size: number): Uint8Array {
  if (size <= bytes.length) return bytes;
  const made = new Uint8Array(size);
  made.set(bytes);
  return made;
}
