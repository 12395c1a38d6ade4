/**
 * Lists that are made for one answer: tables, YAML, indented JSON. Encoded entry by entry, in turns of the
 * loop, to the very bytes that the whole list would be encoded to.
 */
import { bodyOf, yamlOptions } from "#forms/body.ts";
import { concatBytes } from "#base/bytes.ts";
import { indentJson } from "#wire/indent-json.ts";
import type { Holding } from "#platform/ledger.ts";
import type { Pace } from "#platform/pace.ts";
import { stringify } from "yaml";
import { charge } from "./charges.ts";
import type { Negotiated } from "#forms/negotiate.ts";

/** Weighed by what an entry takes: some 10 µs as JSON, 150 as YAML. */
const entriesPerTurn = { json: 256, yaml: 32 } as const;
/** Some take much longer: a row of a definition with many columns some milliseconds. No further one begins then. */
const turnMsMax = 5;
/** Beyond it an entry is the last of its turn: some 2 ms. */
const charactersPerTurn = 128 * 1024;
/** Items of half a megabyte, as they are rare, come in small numbers. */
const looksMax = 16;
const encoder = new TextEncoder();
/** Of entries in an indented list. */
const entryLevel = 2;
const firstEntry = encoder.encode("\n    ");
const nextEntry = encoder.encode(",\n    ");
/** A turn of smaller entries is one piece: a copy costs less than hundreds of pieces do on their way. */
const joinedBytesMax = 256 * 1024;

interface Entries {
  readonly count: number;
  /** See `isLongList`. */
  readonly isLong: boolean;
  entry(index: number): object;
  /** Its compact JSON, where that is kept for all readers: indented lists are made of it. */
  readonly json?: (index: number) => Uint8Array;
}

/**
 * `head` with the entries in its last field, `field`, which is an empty list there.
 * Charged as it grows: it is nobody else's. @throws ApiError as `entry` does, and 429 or 413.
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
  // Large ones that are asked for together begin one after the other.
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

/** What a turn made, up to `at`. */
interface Made {
  readonly chunks: readonly Uint8Array[];
  readonly at: number;
}

/** Chunks of the entries before `at`. */
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

/** Nothing but the answer is made: no object, and no text of it. */
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

/** Whether to make a list of these takes longer than a request should hold the loop. Looks at the sizes of a few of them. */
export function isLongList(items: readonly { readonly bytes: number }[]): boolean {
  const bytes = items.slice(0, looksMax).reduce((sum, { bytes: one }) => sum + one, 0);
  return bytes >= charactersPerTurn;
}

function around(
  head: object,
  field: string,
  form: Negotiated,
): { readonly before: string; readonly after: string } {
  // Not a name of the lists that are made here; as an entry it marks where entries stand.
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

/** A list below a field is not indented. */
function yamlEntry(entry: object): string {
  return stringify([entry], yamlOptions);
}
