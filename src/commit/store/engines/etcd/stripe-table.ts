/**
 * Maps slots to clusters for a log that is spread over several clusters, its stripes. Pure.
 *
 *   { from: 1,  stripes: [0] }          slots 1 to 40 in the first cluster
 *   { from: 41, stripes: [0, 1] }       slot 41 in cluster 0, 42 in 1, 43 in 0, ...
 *
 * Holds  entries rise, stripes of an entry are distinct; a slot lies in exactly one stripe, whatever is added later.
 * How this changes: when a stripe is added, the holder of the log appends an entry that begins at the first slot that
 *        it will write. It then drops the entries of slots that are no longer kept.
 */
import { must } from "#base/assert.ts";
import { CorruptionError } from "../engine.ts";
import type { ClusterKey } from "./cluster.ts";
import { partEpoch } from "./parts.ts";

/** One sequencer cannot keep more Raft groups busy. */
export const stripesMax = 8;
/**
 * Maximum number of slots that a holder can have put beyond the first missing one: the number of batches on their way.
 * More of them mean that a stripe was restored to an older state.
 */
export const deadSlotsMax = 16;

/** A stripe by its number. Stripe 0, the first, holds the deciding epoch and the pointer. */
interface StripeEntry {
  readonly from: number;
  readonly stripes: readonly number[];
}

export type StripeTable = readonly StripeEntry[];

/** The table of a log with all slots in one cluster. */
export const oneStripe: StripeTable = [{ from: 1, stripes: [0] }];

export function encodeTable(table: StripeTable): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(table));
}

/** Undefined: the key does not exist. Throws CorruptionError. */
export function decodeTable(value: Uint8Array | undefined, key: string): StripeTable {
  if (value === undefined) return oneStripe;
  const text = new TextDecoder().decode(value.subarray(0, 65_536));
  const table = parse(text);
  if (table !== undefined) return table;
  throw new CorruptionError(`${key} is no table of stripes: ${text.slice(0, 200)}`);
}

function parse(text: string): StripeTable | undefined {
  try {
    const table = JSON.parse(text) as unknown;
    return isTable(table) ? table : undefined;
  } catch {
    return undefined;
  }
}

function isTable(table: unknown): table is StripeTable {
  if (!Array.isArray(table) || table.length === 0) return false;
  let last = 0;
  return table.every((entry: Partial<StripeEntry> | null) => {
    const { from = 0, stripes } = entry ?? {};
    const rises = Number.isSafeInteger(from) && from > last;
    last = from;
    return rises && areStripes(stripes);
  });
}

function areStripes(stripes: unknown): boolean {
  if (!Array.isArray(stripes) || stripes.length === 0 || stripes.length > stripesMax) return false;
  const isNumber = (one: unknown): boolean => Number.isSafeInteger(one) && (one as number) >= 0;
  return stripes.every(isNumber) && new Set(stripes).size === stripes.length;
}

/** The stripe that holds a slot. */
export function stripeOf(table: StripeTable, slot: number): number {
  const entry = table.findLast(({ from }) => from <= slot) ?? must(table[0], "a table has entries");
  const { from, stripes } = entry;
  const at = (((slot - from) % stripes.length) + stripes.length) % stripes.length;
  return must(stripes[at], "a stripe of the entry");
}

/** The slot before `slot` in the same stripe; undefined: there is none near enough to be kept. */
export function slotBefore(table: StripeTable, slot: number): number | undefined {
  const stripe = stripeOf(table, slot);
  for (let before = slot - 1; before >= Math.max(1, slot - deadSlotsMax); before--) {
    if (stripeOf(table, before) === stripe) return before;
  }
  return undefined;
}

/** The stripes that hold slots from `from` on, now or later. */
export function stripesFrom(table: StripeTable, from: number): readonly number[] {
  const first = table.findLastIndex((entry) => entry.from <= from);
  return [...new Set(table.slice(Math.max(0, first)).flatMap(({ stripes }) => stripes))];
}

/** Whether all slots lie in the first cluster. */
export function isPlain(table: StripeTable): boolean {
  return table.every(({ stripes }) => stripes.length === 1 && stripes[0] === 0);
}

/** Adds these stripes from slot `from` on, and drops entries of slots before `kept`. */
export function extendTable(
  table: StripeTable,
  added: readonly number[],
  { from, kept }: { readonly from: number; readonly kept: number },
): StripeTable {
  const last = must(table.at(-1), "a table has entries");
  const next = { from, stripes: [...last.stripes, ...added] };
  const entries = [...table.filter((entry) => entry.from < from), next];
  return entries.filter((_, at) => (entries[at + 1]?.from ?? Number.POSITIVE_INFINITY) > kept);
}

/**
 * Returns the unbroken run of slots from `from` on, among the slots that were read from the stripes at several times.
 *
 * A holder writes a slot only after the leftovers of earlier holders behind it were removed everywhere. So a slot that
 * follows one of a later epoch is such a leftover, read before its removal: the run ends there.
 */
export function unbrokenRun(
  table: StripeTable,
  from: number,
  found: ReadonlyMap<number, ReadonlyMap<number, ClusterKey>>,
): readonly ClusterKey[] {
  const run: ClusterKey[] = [];
  let epoch = 0;
  for (let slot = from; ; slot++) {
    const one = found.get(stripeOf(table, slot))?.get(slot);
    if (one === undefined) return run;
    const its = partEpoch(one.value);
    if (its < epoch) return run;
    epoch = its;
    run.push(one);
  }
}
