/**
 * Encodes lists that are made for one answer: tables, YAML, indented JSON. They are encoded entry by entry, in turns of
 * the event loop. The bytes are the same as those of the whole list encoded at once.
 */
import { bodyOf, yamlOptions } from "#forms/body.ts";
import { concatBytes } from "#base/bytes.ts";
import { indentJson } from "#wire/indent-json.ts";
import type { Holding } from "#platform/ledger.ts";
import type { Pace } from "#platform/pace.ts";
import { stringify } from "yaml";
import { charge } from "./charges.ts";
import type { Negotiated } from "#forms/negotiate.ts";

/** Number of entries per turn, by their cost: about 10 µs each as JSON, 150 as YAML. */
const entriesPerTurn = { json: 256, yaml: 32 } as const;
/** Time after which no further entry begins in a turn: a row with many columns may take some milliseconds. */
const turnMsMax = 5;
/** Number of characters after which a turn ends, about 2 ms. */
const charactersPerTurn = 128 * 1024;
/** Number of items whose size is checked. Lists with items of half a megabyte are rare and short. */
const looksMax = 16;
const encoder = new TextEncoder();
/** Indentation level of entries in an indented list. */
const entryLevel = 2;
const firstEntry = encoder.encode("\n    ");
const nextEntry = encoder.encode(",\n    ");
/** Entries of a turn below this size are joined: one copy costs less than sending hundreds of pieces. */
const joinedBytesMax = 256 * 1024;

interface Entries {
  readonly count: number;
  /** Whether the list is long: see `isLongList`. */
  readonly isLong: boolean;
  entry(index: number): object;
  /** Compact JSON of an entry, if that is kept for all readers; indented lists are made from it. */
  readonly json?: (index: number) => Uint8Array;
}

/**
 * Returns `head` with the entries in its last field, `field`, which is an empty list there. The list is charged as it
 * grows, because no cache shares it. @throws ApiError as `entry` does, and 429 or 413.
 */
export async function wholeList(
  head: object,
  field: string,
  entries: Entries,
  form: Negotiated,
  pace: Pace,
  holding: Holding,
): Promise<readonly Uint8Array[]> {
  if (entries.count === 0) return [bodyOf({ ...head, [field]: [] }, form)];
  const { mediaType, isPretty } = form;
  const { json } = entries;
  const isIndented = isPretty && mediaType === "application/json" && json !== undefined;
  const make = isIndented ? indentedTurn(json) : textTurn(entries, form);
  const perTurn = entriesPerTurn[mediaType === "application/yaml" ? "yaml" : "json"];
  const { before, after } = around(head, field, form);
  const chunks: Uint8Array[] = [encoder.encode(before)];
  // Long lists requested at the same time start one after the other.
  if (entries.isLong) await pace.turn();
  for (let at = 0; at < entries.count;) {
    const end = Math.min(at + perTurn, entries.count);
    const endMs = pace.clock.monotonicMs() + turnMsMax;
    const isOver = (next: number, size: number): boolean =>
      next >= end || size >= charactersPerTurn || pace.clock.monotonicMs() >= endMs;
    const turn = make(at, isOver);
    at = turn.at;
    charge(holding, "answer", sizeOf(turn.chunks));
    chunks.push(...turn.chunks);
    if (at < entries.count) await pace.turn();
  }
  chunks.push(encoder.encode(after));
  return chunks.length <= 3 ? [concatBytes(chunks)] : chunks;
}

/** Product of a turn: the entries before `at`. */
interface Made {
  readonly chunks: readonly Uint8Array[];
  readonly at: number;
}

/** Makes the chunks of one turn, beginning with entry `at`. */
type MakeTurn = (at: number, isOver: (next: number, size: number) => boolean) => Made;

function textTurn(entries: Entries, { mediaType, isPretty }: Negotiated): MakeTurn {
  const write = mediaType === "application/yaml" ? yamlEntry : isPretty ? prettyEntry : plainEntry;
  return (from, isOver) => {
    let at = from;
    let text = "";
    do text += write(entries.entry(at), at++);
    while (!isOver(at, text.length));
    return { chunks: [encoder.encode(text)], at };
  };
}

/** Indents the kept JSON directly, without an object or a text in between. */
function indentedTurn(json: (index: number) => Uint8Array): MakeTurn {
  return (from, isOver) => {
    let at = from;
    let size = 0;
    const chunks: Uint8Array[] = [];
    do {
      const entry = indentJson(json(at), entryLevel);
      chunks.push(at === 0 ? firstEntry : nextEntry, entry);
      size += entry.length;
      at++;
    } while (!isOver(at, size));
    return { chunks: size < joinedBytesMax ? [concatBytes(chunks)] : chunks, at };
  };
}

function sizeOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

/** Whether making the list blocks the loop too long for one request. Checks the sizes of a few items. */
export function isLongList(items: readonly { readonly bytes: number }[]): boolean {
  const bytes = items.slice(0, looksMax).reduce((sum, { bytes: one }) => sum + one, 0);
  return bytes >= charactersPerTurn;
}

function around(
  head: object,
  field: string,
  form: Negotiated,
): { readonly before: string; readonly after: string } {
  // Marks the position of the entries; no name in such a list has this value.
  const mark = "mark-of-entries";
  const text = new TextDecoder().decode(bodyOf({ ...head, [field]: [mark] }, form));
  const marked = form.mediaType === "application/yaml" ? `- ${mark}\n` : `"${mark}"`;
  const at = text.lastIndexOf(marked);
  const before = text.slice(0, at).replace(/\n {4}$/, "");
  return { before, after: text.slice(at + marked.length) };
}

function plainEntry(entry: object, at: number): string {
  return at === 0 ? JSON.stringify(entry) : `,${JSON.stringify(entry)}`;
}

function prettyEntry(entry: object, at: number): string {
  const text = JSON.stringify(entry, undefined, 2).replaceAll("\n", "\n    ");
  return at === 0 ? `\n    ${text}` : `,\n    ${text}`;
}

/** Entry of a YAML list; a list below a field is not indented. */
function yamlEntry(entry: object): string {
  return stringify([entry], yamlOptions);
}
