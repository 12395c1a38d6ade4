/**
 * A checkpoint in an etcd cluster: first the chunks, then one transaction that makes it count, then the slots it
 * covers and the chunks of other checkpoints are removed. After an interruption at any step, the old checkpoint or the
 * new one is whole.
 */
import { concatBytes, equalBytes } from "#base/bytes.ts";
import type { CheckpointSource } from "../engine.ts";
import { FencedError } from "../engine.ts";
import type { Calls } from "./calls.ts";
import { encodePointer, type LogLayout, type Pointer } from "./layout.ts";
import type { Stripes } from "./stripes.ts";
import type { Writer } from "./writer.ts";

/** Slots removed per transaction; etcd applies no other request during it. */
const trimSlots = 512;

interface CheckpointDeps {
  readonly calls: Calls;
  readonly layout: LogLayout;
  readonly writer: Writer;
  readonly stripes: Stripes;
}

/** Puts all records under the id. @returns the number of keys and bytes. */
export async function putChunks(
  { layout, writer }: CheckpointDeps,
  id: string,
  source: CheckpointSource,
): Promise<{ readonly chunks: number; readonly bytes: number }> {
  let chunks = 0;
  let bytes = 0;
  for (const held of piecesOf(source, () => writer.partBytes)) {
    const batch = { buffers: [held], bytes: held.length, lastRevision: source.revision };
    const first = chunks;
    const keyOf = (index: number): string => layout.chunk(id, first + index);
    const afterOf = (index: number): string | undefined =>
      index === 0 ? undefined : keyOf(index - 1);
    chunks += await writer.putParts(batch, { keyOf, afterOf });
    bytes += held.length;
  }
  return { chunks, bytes };
}

/** Makes the checkpoint the current one in place of `from`. `from` undefined: there was no pointer. */
export async function switchPointer(
  { calls, layout, writer }: CheckpointDeps,
  from: Pointer | undefined,
  to: Pointer,
): Promise<void> {
  const key = layout.pointer;
  const value = encodePointer(to);
  const before = from === undefined ? undefined : encodePointer(from);
  // The condition prevents a delayed attempt from switching back to an older checkpoint.
  const answer = await writer.change([{ kind: "put", key, value }], [{ key, value: before }]);
  if (answer === "changed") return;
  const found = await calls.get(key);
  if (found !== undefined && equalBytes(found, value)) return;
  await writer.checkHeld();
  throw new FencedError(`${key} was changed by another`);
}

/**
 * Removes everything older than `pointer`. After an interruption the next call continues. Neither slots nor ids are
 * used twice, so a late deletion cannot remove parts of a newer checkpoint.
 */
export async function trim(deps: CheckpointDeps, { first, id }: Pointer): Promise<void> {
  const { layout, writer, stripes } = deps;
  const until = stripes.keptFrom(first);
  await Promise.all(stripes.all.map((calls) => trimStripe(deps, calls, until)));
  await writer.change([{ kind: "delete", ...layout.olderChunks(id) }]);
}

async function trimStripe(
  { layout, writer }: CheckpointDeps,
  calls: Calls,
  first: number,
): Promise<void> {
  const [lowest] = await calls.read([layout.slots(0, 1)]);
  const key = lowest?.[0]?.key;
  const from = key === undefined ? first : layout.slotNumber(key);
  for (let slot = from; slot < first; slot += trimSlots) {
    const until = Math.min(first, slot + trimSlots);
    const operation = {
      kind: "delete",
      start: layout.slot(slot),
      end: layout.slot(until),
    } as const;
    await writer.change([operation], [], calls);
  }
}

/** Groups the records of `source` into pieces about as large as one request allows. */
function* piecesOf(source: CheckpointSource, bytesMax: () => number): Generator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for (let chunk = source.next(); chunk !== undefined; chunk = source.next()) {
    if (bytes > 0 && bytes + chunk.length > bytesMax()) {
      yield concatBytes(held);
      held = [];
      bytes = 0;
    }
    // Copied, because the chunk is only borrowed until the next one is requested.
    held.push(chunk.slice());
    bytes += chunk.length;
  }
  if (bytes > 0) yield concatBytes(held);
}
