/**
 * The place of checkpoint chunks outside etcd: a directory that all replicas share, or a bucket. This file
 * opens nothing: `src/commit/etcd` implements both, tests use a model.
 *
 * Holds  once `put` has resolved, the whole chunk is readable for every replica. A name may be put more than once,
 *        always with the same bytes. Chunks count only once the pointer in etcd names them, so late chunks of a deposed
 *        opening are never read. Ids grow, so its late removal takes nothing that counts.
 */
import type { CheckpointSource } from "../engine.ts";
import { CorruptionError } from "../engine.ts";
import type { Pointer } from "./layout.ts";
import { encodePart, Joiner } from "./parts.ts";

export interface ChunkStore {
  /** `place` identifies a log, `id` a checkpoint. A rejected put may still have happened. */
  put(chunk: ChunkName, bytes: Uint8Array): Promise<void>;
  /** Undefined: it does not exist. */
  get(chunk: ChunkName): Promise<Uint8Array | undefined>;
  /** Removes the chunks of all checkpoints with smaller ids. */
  removeBefore(place: string, id: string): Promise<void>;
}

export interface ChunkName {
  readonly place: string;
  readonly id: string;
  readonly number: number;
}

/** Minimum size of a piece except the last: larger than etcd's request limit, so fewer requests. */
const pieceBytesMin = 4 * 2 ** 20;

/** Puts all records under the id. @returns the number of chunks and bytes. */
export async function putOutside(
  store: ChunkStore,
  { place, id }: Omit<ChunkName, "number">,
  source: CheckpointSource,
): Promise<{ readonly chunks: number; readonly bytes: number }> {
  let chunks = 0;
  let bytes = 0;
  for (const pieces of gathered(source)) {
    const size = pieces.reduce((sum, { length }) => sum + length, 0);
    const header = { epoch: 0, index: 0, isLast: true, lastRevision: source.revision };
    await store.put({ place, id, number: chunks++ }, encodePart(header, pieces, 0, size));
    bytes += size;
  }
  return { chunks, bytes };
}

/** Calls `take` with whole records and the name of their chunk. Rejects with CorruptionError. */
export async function readOutside(
  store: ChunkStore | undefined,
  { id, chunks, place = "" }: Pointer,
  take: (bytes: Uint8Array, name: string) => void,
): Promise<void> {
  if (store === undefined) {
    throw new Error("the log's checkpoint lies outside of etcd: say where with --checkpoints");
  }
  const joiner = new Joiner();
  for (let number = 0; number < chunks; number++) {
    const name = `${place}/${id}/${number}`;
    const found = await store.get({ place, id, number });
    if (found === undefined)
      throw new CorruptionError(`${name} is missing: the checkpoint is not whole`);
    const joined = joiner.take(name, found);
    if (joined === undefined) throw new CorruptionError(`${name} is not a whole chunk`);
    take(joined.bytes, name);
  }
}

function* gathered(source: CheckpointSource): Generator<readonly Uint8Array[]> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for (let chunk = source.next(); chunk !== undefined; chunk = source.next()) {
    // Copied, because the chunk is only borrowed until the next one is requested.
    held.push(chunk.slice());
    bytes += chunk.length;
    if (bytes < pieceBytesMin) continue;
    yield held;
    held = [];
    bytes = 0;
  }
  if (bytes > 0) yield held;
}
