/**
 * What leads from the state held to a list: a few events in place of a flood. Each change stands no
 * earlier than it can have been, at its object's own revision; what is gone, at the list's.
 */
import { wholeRevision } from "#watch/cache-event.ts";
import type { Change, KnownState } from "#watch/cache-state.ts";
import type { SharedObject } from "#watch/shared-object.ts";

/** Changes of one resource by revision, in no order. */
type Timeline = ReadonlyMap<number, readonly Change[]>;

/**
 * From `held` to `listed`, a whole list at `revision`, in key order.
 *
 * Cost   one walk through both, 0.2 µs an object; with a lookup for each key it was five times that.
 */
export function diffStates(
  held: KnownState,
  listed: readonly SharedObject[],
  revision: number,
): Timeline {
  const timeline = new Map<number, Change[]>();
  const from = wholeRevision(held.revision);
  const put = (at: number, change: Change): void => {
    const position = Math.max(at, from);
    const known = timeline.get(position);
    if (known === undefined) timeline.set(position, [change]);
    else known.push(change);
  };
  const take = (next: SharedObject, known: SharedObject | undefined): void => {
    const { key } = next;
    if (known?.revision === next.revision) return;
    if (known !== undefined && isAnother(known, next)) {
      put(next.revision - 1, { key, next: undefined });
    }
    put(next.revision, { key, next });
  };
  let at = 0;
  held.scan("", "\xff", (known) => {
    const { key } = known;
    let isListed = false;
    for (; at < listed.length; at++) {
      const next = listed[at] as SharedObject; // within the list
      if (next.key > key) break;
      isListed ||= next.key === key;
      take(next, next.key === key ? known : undefined);
    }
    if (!isListed) put(revision, { key, next: undefined });
    return true;
  });
  for (; at < listed.length; at++) take(listed[at] as SharedObject, undefined);
  return timeline;
}

/** The objects held that are not in `listed`, in key order. */
export function findMissing(
  held: KnownState,
  listed: readonly { readonly key: string }[],
): readonly SharedObject[] {
  const keys = new Set(listed.map(({ key }) => key));
  const objects: SharedObject[] = [];
  held.scan("", "\xff", (object) => {
    if (!keys.has(object.key)) objects.push(object);
    return true;
  });
  return objects;
}

/** The same name, deleted and made anew between two looks. */
function isAnother(a: SharedObject, b: SharedObject): boolean {
  return a.object.metadata?.uid !== b.object.metadata?.uid;
}
