/**
 * What changed in a view since a position: the newest state of every object that did, and the names of
 * what is gone. Costs what changed, not what there is.
 */
import type { WatchItem } from "#watch/watch-item.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { View } from "../views/view.ts";
import { identity, placeOf, relayApiVersion, type ViewForm } from "../views/view-form.ts";

const encoder = new TextEncoder();
const comma = encoder.encode(",");
const tail = encoder.encode("]}\n");

/** `etag` of the content the changes lead to. An Error: the position is too old. */
export function changeList(
  mirror: Mirror,
  view: View,
  since: number,
  etag: string,
): Uint8Array | Error {
  const changed = mirror.refusal(since) ?? changesAfter(mirror, view, since);
  if (changed instanceof Error) return changed;
  const { apiVersion, kind } = mirror.kind;
  const head = JSON.stringify({
    kind: "ChangeList",
    apiVersion: relayApiVersion,
    of: { apiVersion, kind },
    since: String(since),
    resourceVersion: String(mirror.revision),
    etag,
    deleted: changed.deleted,
  });
  const body: Uint8Array[] = [encoder.encode(`${head.slice(0, -1)},"items":[`)];
  changed.items.forEach((item, at) => body.push(...(at > 0 ? [comma, item] : [item])));
  return Buffer.concat([...body, tail]);
}

interface Changes {
  readonly items: readonly Uint8Array[];
  readonly deleted: readonly object[];
}

/** A watch from `since` to now, read to its end at once: order kept, states merged per object. */
function changesAfter(mirror: Mirror, view: View, since: number): Changes | Error {
  const latest = new Map<string, WatchItem>();
  let error: Error | undefined;
  const { predicate, form } = view.spec;
  const sink = {
    deliver(items: readonly WatchItem[]) {
      for (const item of items) {
        if (item.object !== undefined) latest.set(placeOf(item.object), item);
      }
      return true;
    },
    end: (why?: Error) => void (error ??= why),
  };
  mirror.cache.watch({ predicate, bookmarks: false, start: { after: since } }, sink).close();
  return error ?? split(form, latest.values());
}

/** An object without a row in this view is as good as gone. */
function split(form: ViewForm, latest: Iterable<WatchItem>): Changes {
  const items: Uint8Array[] = [];
  const deleted: object[] = [];
  for (const { type, object } of latest) {
    if (object === undefined) continue;
    const change = type === "DELETED" ? undefined : form.change(object);
    if (change === undefined) deleted.push(identity(object));
    else items.push(change);
  }
  return { items, deleted };
}
