/**
 * What a list shows: of which moment, and how much of it. A page that ends early names, in its
 * `continue`, the moment and the key it went to; the next one goes on in that very snapshot.
 *
 * Holds  the revision a page names is the newest at which what it shows is proven (mirror.ts).
 */
import { given } from "#base/given.ts";
import type { Pace } from "#platform/pace.ts";
import type { Place } from "#server/place.ts";
import type { Snapshot } from "#watch/cache-state.ts";
import { namespaceRange } from "#watch/predicate.ts";
import { selectObjects } from "#watch/select.ts";
import { keyOfText, type SharedObject } from "#forms/shared-object.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import type { ListQuery } from "./read-query.ts";

export interface Page {
  readonly items: readonly SharedObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** Returns a page of a list. Undefined: the mirror does not know the requested state; the upstream may know it. */
export async function pageOf(
  resource: Mirrored,
  asked: ListQuery,
  { namespace }: Place,
  pace: Pace,
): Promise<Page | undefined> {
  const prefix = namespaceRange(keyOfText(namespace)).from;
  const { from } = asked.predicate;
  if (asked.continue !== "") {
    const token = decodeContinue(asked.continue);
    const snapshot = token === undefined ? undefined : snapshotAt(resource, token.revision);
    if (token === undefined || snapshot === undefined) return undefined;
    return pageFrom(resource, asked, { snapshot, prefix, start: prefix + token.start }, pace);
  }
  if (asked.version.kind === "exact") {
    const snapshot = snapshotAt(resource, asked.version.revision);
    if (snapshot === undefined) return undefined;
    return pageFrom(resource, asked, { snapshot, prefix, start: from }, pace);
  }
  if (asked.limit === 0) return presentPage(resource, asked, pace);
  return pageFrom(resource, asked, { snapshot: present(resource), prefix, start: from }, pace);
}

/** Returns all selected objects in their current state as one page. */
export async function presentPage(
  resource: Mirrored,
  { predicate }: ListQuery,
  pace: Pace,
): Promise<Page> {
  const { objects, revision } = present(resource);
  const all = { from: predicate.from, limit: 0 };
  const { items } = await selectObjects(objects, predicate, all, pace);
  return { items, metadata: { resourceVersion: String(revision) } };
}

/** Returns the current state under its newest proven revision: the requested revision may be above the newest event's. */
function present({ mirror }: Mirrored): Snapshot {
  return { ...mirror.cache.state.snapshot(), revision: mirror.proven };
}

function snapshotAt(resource: Mirrored, revision: number): Snapshot | undefined {
  const { mirror } = resource;
  if (mirror.refusal(revision) !== undefined) return undefined;
  if (revision <= mirror.revision) return mirror.cache.state.snapshotAt(revision);
  return mirror.proves(revision) ? present(resource) : undefined;
}

/** @param at `prefix`: common prefix of all keys of the list; a `continue` token omits it. */
async function pageFrom(
  resource: Mirrored,
  { predicate, limit, plain }: ListQuery,
  at: { readonly snapshot: Snapshot; readonly prefix: string; readonly start: string },
  pace: Pace,
): Promise<Page> {
  const { revision, objects } = at.snapshot;
  const from = at.start < predicate.from ? predicate.from : at.start;
  // Pinned before the first turn of the loop: a mirror that starts anew after that drops the pin.
  const isPart = limit > 0 && objects.countRange(from, predicate.to) > limit;
  if (isPart) resource.mirror.cache.state.pin(at.snapshot);
  const { items, last, more } = await selectObjects(objects, predicate, { from, limit }, pace);
  const resourceVersion = String(revision);
  if (!more) return { items, metadata: { resourceVersion } };
  const token = encodeContinue({ revision, start: `${last.slice(at.prefix.length)}\0` });
  const left = plain ? objects.countRange(`${last}\0`, predicate.to) : undefined;
  const counted = given({ remainingItemCount: left });
  return { items, metadata: { resourceVersion, continue: token, ...counted } };
}
