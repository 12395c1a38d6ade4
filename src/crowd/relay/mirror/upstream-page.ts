/**
 * A page of an upstream's list: its objects in the form the mirror keeps, its revision, and where it goes on.
 *
 * Cost   a few looks at each byte, in turns of the loop: a page may be 128 MiB.
 */
import type { Pace } from "#platform/pace.ts";
import { listItems, members, textOf } from "./json-bytes.ts";
import { type FormedObject, revision as revisionNumber, type ToObject } from "./object-form.ts";

/** Number of bytes decoded in one turn: 3 to 6 ms. */
const turnBytesMax = 1024 * 1024;

export interface UpstreamPage {
  readonly objects: readonly FormedObject[];
  readonly revision: number;
  /** The continue token; "" on the last page. */
  readonly next: string;
}

/** @throws SyntaxError for bytes other than a list of objects with names and resourceVersions. */
export async function decodePage(
  bytes: Uint8Array,
  toObject: ToObject,
  pace: Pace,
): Promise<UpstreamPage> {
  const objects: FormedObject[] = [];
  const items = listItems(bytes);
  let turnEnd = turnBytesMax;
  let step = items.next();
  for (; step.done !== true; step = items.next()) {
    objects.push(toObject(bytes, step.value));
    if (step.value.end < turnEnd) continue;
    await pace.turn();
    turnEnd = step.value.end + turnBytesMax;
  }
  const metadata = step.value.find((member) => member.key === "metadata");
  const meta = metadata === undefined ? [] : members(bytes, metadata.value.start);
  const text = (key: string): string => {
    const found = meta.find((member) => member.key === key);
    return found === undefined ? "" : textOf(bytes, found.value);
  };
  return { objects, revision: revisionNumber(text("resourceVersion")), next: text("continue") };
}
