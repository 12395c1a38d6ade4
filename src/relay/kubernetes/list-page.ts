/**
 * What a list shows: of which moment, and how much of it. A page that ends early names, in its
 * `continue`, the moment and the key it went to; the next one goes on in that very snapshot.
 *
 * Holds  the revision a page names is the newest at which what it shows is proven (mirror.ts).
 */
import type { Place } from "#server/place.ts";
import type { Snapshot } from "#watch/cache-state.ts";
import { namespaceRange } from "#watch/predicate.ts";
import { keyOfText, type SharedObject } from "#watch/shared-object.ts";
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

/** Undefined: of a moment the mirror does not know; the upstream may. */
export function pageOf(
  resource: Mirrored,
  asked: ListQuery,
  { namespace }: Place,
): Page | undefined {
  const prefix = namespaceRange(keyOfText(namespace)).from;
  const { from } = asked.predicate;
  if (asked.continue !== "") {
    const token = decodeContinue(asked.continue);
    const snapshot = token === undefined ? undefined : snapshotAt(resource, token.revision);
    if (token === undefined || snapshot === undefined) return undefined;
    return pageFrom(resource, asked, { snapshot, prefix, start: prefix + token.start });
  }
  if (asked.version.kind === "exact") {
    const snapshot = snapshotAt(resource, asked.version.revision);
    if (snapshot === undefined) return undefined;
    return pageFrom(resource, asked, { snapshot, prefix, start: from });
  }
  if (asked.limit === 0) return presentPage(resource, asked);
  return pageFrom(resource, asked, { snapshot: present(resource), prefix, start: from });
}

/** All of it, as it is now. */
export function presentPage({ mirror }: Mirrored, { predicate }: ListQuery): Page {
  const items: SharedObject[] = [];
  mirror.cache.state.scan(predicate.from, predicate.to, (object) => {
    if (predicate.matches(object)) items.push(object);
    return true;
  });
  return { items, metadata: { resourceVersion: String(mirror.proven) } };
}

/** By the newest name it has: what was asked for may be newer than the newest event. */
function present({ mirror }: Mirrored): Snapshot {
  return { ...mirror.cache.state.snapshot(), revision: mirror.proven };
}

function snapshotAt(resource: Mirrored, revision: number): Snapshot | undefined {
  const { mirror } = resource;
  if (mirror.refusal(revision) !== undefined) return undefined;
  if (revision <= mirror.revision) return mirror.cache.state.snapshotAt(revision);
  return mirror.proves(revision) ? present(resource) : undefined;
}

/** `prefix`: what all keys of the list begin with, and a `continue` leaves out. */
function pageFrom(
  resource: Mirrored,
  { predicate, limit, plain }: ListQuery,
  at: { readonly snapshot: Snapshot; readonly prefix: string; readonly start: string },
): Page {
  const { revision, objects } = at.snapshot;
  const start = at.start < predicate.from ? predicate.from : at.start;
  const items: SharedObject[] = [];
  let last = "";
  let more = false;
  objects.scan(start, predicate.to, (object) => {
    if (limit > 0 && items.length >= limit) return !(more = true);
    if (predicate.matches(object)) items.push(object);
    last = object.key;
    return true;
  });
  const resourceVersion = String(revision);
  if (!more) return { items, metadata: { resourceVersion } };
  resource.mirror.cache.state.pin(at.snapshot);
  const token = encodeContinue({ revision, start: `${last.slice(at.prefix.length)}\0` });
  const left = plain ? objects.countRange(`${last}\0`, predicate.to) : undefined;
  const counted = left === undefined ? {} : { remainingItemCount: left };
  return { items, metadata: { resourceVersion, continue: token, ...counted } };
}
