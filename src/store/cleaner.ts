/**
 * Keeps memory near what is live: when compaction has left slabs half empty, the records still
 * named in the emptiest ones are copied to the newest slab, and the old slabs are dropped.
 *
 * Cost   one pass over the version table (about 3 ns a row) and at most `moveBytesMax` copied; the
 *        caller gives the loop its turn between passes.
 */
import type { Mvcc } from "./mvcc.ts";
import type { Slab } from "./slabs.ts";
import type { Row } from "./versions.ts";

/** Held memory may exceed live by this factor plus `slackBytes` before cleaning starts. */
const heldFactor = 1.15;
const slackBytes = 8 * 2 ** 20;
/** A slab fuller than this is not worth its copying. */
const fractionMax = 0.9;
const moveBytesMax = 16 * 2 ** 20;

/** One pass. @returns whether nothing is left to do. */
export function cleanSlabs(mvcc: Mvcc): boolean {
  const { slabs } = mvcc;
  const excess = slabs.heldBytes - slabs.liveBytes * heldFactor - slackBytes;
  if (excess <= 0) return true;
  const victims = chooseVictims(slabs.sparse(fractionMax), excess);
  if (victims.size === 0) return true;
  for (let row: Row = 1; row < mvcc.versions.end; row++) moveIfIn(mvcc, row, victims);
  return false;
}

function chooseVictims(sparse: readonly Slab[], excess: number): Set<number> {
  const victims = new Set<number>();
  let freed = 0;
  let moved = 0;
  for (const slab of sparse) {
    if (freed >= excess || moved >= moveBytesMax) break;
    victims.add(slab.id);
    freed += slab.bytes.length - slab.live;
    moved += slab.live;
  }
  return victims;
}

function moveIfIn(mvcc: Mvcc, row: Row, victims: ReadonlySet<number>): void {
  const { versions, slabs } = mvcc;
  if (!versions.inUse(row) || versions.isTombstone(row)) return;
  const from = versions.slab(row);
  if (!victims.has(from)) return;
  const record = mvcc.record(row);
  const slab = slabs.room(record.length);
  const offset = slab.used;
  slab.bytes.set(record, offset);
  slab.used += record.length;
  slabs.retain(slab, record.length);
  slabs.release(from, record.length);
  versions.move(row, slab.id, offset);
}
