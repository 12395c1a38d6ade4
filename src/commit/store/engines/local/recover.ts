/**
 * Recovery of a store directory: the newest whole checkpoint, then every segment after it, in order.
 *
 * Damage is never skipped. A CorruptionError that names file and offset is thrown for a record that is wrong before a
 * later right batch, for a missing segment, and for records that do not reach as far as the next segment says.
 * Only the torn end of the last batch is cut off, with a log line.
 */
import type { DiskFile } from "#platform/disk.ts";
import type { ReplaySink } from "../engine.ts";
import type { StoreDirectory } from "./directory.ts";
import type { FileHeader } from "./files.ts";
import type { Place } from "./header.ts";
import { checkBegins, checkContiguous, checkNewest, checkReaches } from "./missing.ts";
import { recoverCheckpoint } from "./read-checkpoint.ts";
import { SegmentsReader } from "./read-segments.ts";
import type { SegmentInfo } from "./segment.ts";

export interface Recovered {
  /** 0: there is no checkpoint. */
  readonly checkpointRevision: number;
  readonly checkpointBytes: number;
  /** All segments with records, ascending. */
  readonly segments: SegmentInfo[];
  /** The last segment, open for writing, if it may be appended to. */
  readonly tail: { readonly file: DiskFile; readonly size: number } | undefined;
  readonly epoch: number;
  readonly headRevision: number;
}

export async function recover(
  place: Place,
  found: StoreDirectory,
  replay: ReplaySink,
): Promise<Recovered> {
  const checkpoint = await recoverCheckpoint(place, found, replay);
  const reader = new SegmentsReader(place, found, replay);
  checkContiguous(place, found.segments);
  const begun = await reader.headers();
  checkNewest(place, begun, found.newest);
  checkBegins(place, begun[0], checkpoint.revision);
  const needed = neededFrom(begun, checkpoint.revision);
  for (let i = needed; i < begun.length; i++) {
    await reader.read(begun[i] as FileHeader, begun[i + 1]);
  }
  try {
    checkReaches(place, begun.at(-1), reader.headRevision, checkpoint.revision);
  } catch (error) {
    await reader.tail?.file.close();
    throw error;
  }
  return {
    checkpointRevision: checkpoint.revision,
    checkpointBytes: checkpoint.bytes,
    segments: [...skipped(begun.slice(0, needed), begun), ...reader.segments],
    tail: reader.tail,
    epoch: reader.epoch,
    headRevision: Math.max(reader.headRevision, checkpoint.revision),
  };
}

/**
 * Index of the first segment that may hold a record made after the checkpoint: grants and ends of
 * leases take no revision, so several segments may begin at the checkpoint's own.
 */
function neededFrom(begun: readonly FileHeader[], checkpointRevision: number): number {
  const later = begun.findIndex((header) => header.revision >= checkpointRevision);
  if (later === 0 || begun.length === 0) return 0;
  return (later === -1 ? begun.length : later) - 1;
}

/** Segments covered by the checkpoint that are kept for the older checkpoint. */
function skipped(headers: readonly FileHeader[], begun: readonly FileHeader[]): SegmentInfo[] {
  return headers.map(({ number, revision }, i) => {
    const end = (begun[i + 1] as FileHeader).previousEnd;
    return { number, revision, end };
  });
}
