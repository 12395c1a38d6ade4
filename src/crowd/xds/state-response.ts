/**
 * What a response with the state of the world holds. Of clusters and listeners, and for who follows
 * everything, it is the whole set; of other types what changed.
 *
 * Holds  the version is the sum of the digests of all that the client is to have: a client of everything
 *        that comes back with the version of the same set, at any replica, is not sent it again.
 */
import { concatBytes } from "#base/bytes.ts";
import type { ResourceTable } from "./resource-table.ts";
import { addDigests, type Content, contentFor, versionText } from "./resource.ts";
import { notSent, type Subscription } from "./subscription.ts";
import { isWholeSet } from "./type-urls.ts";

/** Zone of the client. */
interface Zoned {
  readonly zone: string;
}

export interface StateParts {
  readonly version: string;
  readonly fields: readonly Uint8Array[];
}

export function sendsWholeSet(of: Subscription): boolean {
  return of.followsAll || isWholeSet(of.table.typeUrl);
}

/** Version of the set that the client should have. */
export function currentVersion(of: Subscription, viewer: Zoned): string {
  return wholeSet(of, viewer, false).version;
}

/**
 * With additions, what is gone is sent as it was, where that is known; with removals it is left out.
 * Undefined: the client has that set, and asked for nothing new.
 */
export function takeWholeSet(
  of: Subscription,
  viewer: Zoned,
  kind: "additions" | "removals",
): StateParts | undefined {
  const parts = wholeSet(of, viewer, kind === "additions");
  const isAsked =
    of.isInitial || of.additions.values().some((name) => of.names.get(name) === notSent);
  of.skipInitial();
  of.additions.clear();
  if (kind === "removals") of.removals.clear();
  for (const name of of.names.keys()) {
    if (!of.removals.has(name)) of.sent(name, of.contentOf(name));
  }
  return isAsked || parts.version !== of.version ? parts : undefined;
}

/** @returns undefined when nothing changed. This response cannot report removals. */
export function takeChanged(of: Subscription, viewer: Zoned): StateParts | undefined {
  const fields: Uint8Array[] = [];
  for (const name of of.additions) {
    const content = of.contentOf(name);
    if (content === undefined || content.version === of.names.get(name)) continue;
    fields.push(content.stateField);
    of.sent(name, content);
  }
  of.additions.clear();
  if (fields.length === 0) return undefined;
  return { version: currentVersion(of, viewer), fields };
}

interface ListedSet {
  readonly sequence: number;
  readonly digest: bigint;
  readonly bytes: Uint8Array;
}

function wholeSet(of: Subscription, viewer: Zoned, withFormer: boolean): StateParts {
  const listed = of.followsAll ? listedSet(of.table, viewer.zone) : undefined;
  const fields = listed === undefined ? [] : [listed.bytes];
  let digest = listed?.digest ?? 0n;
  const add = (content: Content | undefined): void => {
    if (content === undefined) return;
    fields.push(content.stateField);
    digest = addDigests(digest, content.digest);
  };
  for (const name of of.names.keys()) {
    const isListed = listed !== undefined && of.table.get(name)?.isListed === true;
    if (!isListed) add(of.contentOf(name));
  }
  if (withFormer) for (const name of of.removals) add(of.table.former(name));
  return { version: versionText(digest), fields };
}

/** Encoded sets for all clients of everything, until the table changes. Sets that differ by zone are not kept. */
const listedSets = new WeakMap<ResourceTable, ListedSet>();

function listedSet(table: ResourceTable, zone: string): ListedSet {
  const kept = listedSets.get(table);
  if (kept?.sequence === table.sequence) return kept;
  const fields: Uint8Array[] = [];
  let digest = 0n;
  let isSame = true;
  for (const resource of table.listed()) {
    const content = contentFor(resource, zone);
    isSame &&= resource.contentIn === undefined;
    fields.push(content.stateField);
    digest = addDigests(digest, content.digest);
  }
  const made = { sequence: table.sequence, digest, bytes: concatBytes(fields) };
  if (isSame) listedSets.set(table, made);
  return made;
}
