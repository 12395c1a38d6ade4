/**
 * What changed in a view since a position: the newest state of every object that did, and the names of
 * what is gone. Costs what changed, not what there is, in turns of the loop: a ring holds 100,000 events.
 *
 * Holds  it leads to the state at which it began, whatever is applied between its turns. When the ring loses what is
 *        still to be read, or the mirror starts anew, the position is too old.
 */
import { expiredError } from "#api/status.ts";
import { concatBytes } from "#base/bytes.ts";
import type { Pace } from "#platform/pace.ts";
import type { CacheEvent } from "#watch/cache-event.ts";
import type { Predicate } from "#watch/predicate.ts";
import type { WatchItem } from "#watch/watch-item.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { View } from "../views/view.ts";
import { identity, placeOf, relayApiVersion, type ViewForm } from "../views/view-form.ts";

const encoder = new TextEncoder();
const comma = encoder.encode(",");
const tail = encoder.encode("]}\n");
/** Maximum number of bytes written in one turn: one to two milliseconds. */
const turnBytesMax = 256 * 1024;
const itemBytesMin = 256;

/** @returns the list; an Error when the position is too old. `etag` is that of the content after the changes. */
export async function changeList(
  mirror: Mirror,
  view: View,
  { since, etag }: { readonly since: number; readonly etag: string },
  pace: Pace,
): Promise<readonly Uint8Array[] | Error> {
  const { apiVersion, kind } = mirror.kind;
  const head = JSON.stringify({
    kind: "ChangeList",
    apiVersion: relayApiVersion,
    of: { apiVersion, kind },
    since: String(since),
    resourceVersion: String(mirror.revision),
    etag,
  });
  const latest = mirror.refusal(since) ?? (await latestAfter(mirror, view, since, pace));
  if (latest instanceof Error) return latest;
  const { items, deleted } = await split(view.spec.form, latest.values(), pace);
  const open = encoder.encode(`${head.slice(0, -1)},"deleted":[`);
  return [open, ...deleted, encoder.encode('],"items":['), ...items, tail];
}

/** Returns the events of the ring from `since` to now: in their order, only the newest state of each object. */
async function latestAfter(
  mirror: Mirror,
  view: View,
  since: number,
  pace: Pace,
): Promise<ReadonlyMap<string, WatchItem> | Error> {
  const latest = new Map<string, WatchItem>();
  const { state } = mirror.cache;
  const { predicate } = view.spec;
  const now = state.revision;
  for (let at = since; at < now;) {
    if (view.ended || at < state.floor) return expiredError(`too old resource version: ${since}`);
    const events = state.ringAfter(at, now, false);
    const last = events.at(-1);
    if (last === undefined) break;
    for (const event of events) take(latest, event, predicate);
    at = last.revision;
    if (at < now) await pace.turn();
  }
  return latest;
}

function take(latest: Map<string, WatchItem>, event: CacheEvent, predicate: Predicate): void {
  if (event.key < predicate.from || event.key >= predicate.to) return;
  const item = predicate.selective ? event.itemFor(predicate) : event.plainItem();
  if (item?.object !== undefined) latest.set(placeOf(item.object), item);
}

interface Changes {
  readonly items: readonly Uint8Array[];
  readonly deleted: readonly Uint8Array[];
}

/** Splits the changes into blocks of comma-separated texts. An object without a row in this view counts as deleted. */
async function split(form: ViewForm, latest: Iterable<WatchItem>, pace: Pace): Promise<Changes> {
  const items = new Blocks();
  const deleted = new Blocks();
  for (const { type, object } of latest) {
    if (object === undefined) continue;
    const change = type === "DELETED" ? undefined : form.change(object);
    if (change === undefined) deleted.add(encoder.encode(JSON.stringify(identity(object))));
    else items.add(change);
    if (items.openCost + deleted.openCost < turnBytesMax) continue;
    items.close();
    deleted.close();
    await pace.turn();
  }
  items.close();
  deleted.close();
  return { items: items.closed, deleted: deleted.closed };
}

/** Joins texts with commas into blocks, so that a socket does not get one piece for each text. */
class Blocks {
  readonly closed: Uint8Array[] = [];
  openCost = 0;
  #open: Uint8Array[] = [];
  #isFirst = true;

  add(text: Uint8Array): void {
    if (!this.#isFirst) this.#open.push(comma);
    this.#isFirst = false;
    this.#open.push(text);
    this.openCost += Math.max(itemBytesMin, text.length);
  }

  close(): void {
    if (this.#open.length > 0) this.closed.push(concatBytes(this.#open));
    this.#open = [];
    this.openCost = 0;
  }
}
