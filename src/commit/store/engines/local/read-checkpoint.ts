/** Reads the newest whole checkpoint of a store directory, record by record. */
import { RecordKind, RecordReader } from "../../record.ts";
import { CorruptionError } from "../engine.ts";
import type { ReplaySink } from "../engine.ts";
import type { StoreDirectory } from "./directory.ts";
import { fileHeaderBytes } from "./files.ts";
import { damagedHeader, type Place, readHeader, remedy } from "./header.ts";
import { openCheckpoint } from "./packed.ts";
import { readRecords } from "./read.ts";

interface CheckpointRead {
  readonly revision: number;
  readonly bytes: number;
}

/** Recovers the newest whole checkpoint. A damaged one is skipped if an older one exists. */
export async function recoverCheckpoint(
  place: Place,
  found: StoreDirectory,
  replay: ReplaySink,
): Promise<CheckpointRead> {
  const newestFirst = found.checkpoints.toReversed();
  for (const [i, revision] of newestFirst.entries()) {
    try {
      return await readCheckpoint(place, found.storeId, revision, replay);
    } catch (error) {
      if (!(error instanceof CorruptionError) || i === newestFirst.length - 1) throw error;
      place.log.error("a checkpoint is damaged; using the one before it", { error: error.message });
    }
  }
  return { revision: 0, bytes: 0 };
}

async function readCheckpoint(
  place: Place,
  storeId: string,
  revision: number,
  replay: ReplaySink,
): Promise<CheckpointRead> {
  const { file, path } = await openCheckpoint(place.disk, place.directory, revision);
  try {
    const expected = { kind: "checkpoint", number: revision, storeId } as const;
    if ((await readHeader(file, path, expected)) === undefined) throw damagedHeader(path);
    replay.checkpoint(revision);
    const end = new CheckpointEnd();
    const { end: stop } = await readRecords(file, fileHeaderBytes, (bytes, offset) => {
      end.see(bytes);
      replay.records(bytes, { kind: "checkpoint", file: path, offset });
    });
    if (!end.whole || stop !== (await file.size())) {
      throw new CorruptionError(`${path}: bad record at offset ${stop}: ${remedy}`);
    }
    return { revision, bytes: stop };
  } finally {
    await file.close();
  }
}

/** Checks that a checkpoint ends with the record that counts the others. */
class CheckpointEnd {
  #count = 0;
  #expected: number | undefined;

  get whole(): boolean {
    return this.#expected === this.#count;
  }

  see(bytes: Uint8Array): void {
    const reader = new RecordReader(bytes);
    for (let at = 0; at < bytes.length; at += reader.size(at)) {
      if (reader.kind(at) === RecordKind.checkpointEnd) this.#expected = reader.version(at);
      else this.#count++;
    }
  }
}
