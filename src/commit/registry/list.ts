/**
 * List: chooses the snapshot, and returns one page of it.
 *
 *   match        | version unset | "0"                    | N
 *   (none)       | most recent   | any; limit ignored     | at least N
 *   (none) limit | most recent   | any; limit ignored     | exactly N (legacy)
 *   NotOlderThan | 422           | any; limit ignored     | at least N
 *   Exact        | 422           | 422                    | exactly N, 410 when it is gone
 *
 * In one process the cache is the most recent state, so "any" and "most recent" are the same read.
 * A page that does not end the list pins its snapshot. The next page finds it by the token's
 * revision; otherwise the cache undoes its newer events, or the store reads that revision again.
 * Cost: the keys visited, in turns of the loop; objects are parsed only for selectors.
 */
import type { FieldError } from "#api/status.ts";
import { badRequest, expiredError, invalid } from "#api/status.ts";
import { must } from "#base/assert.ts";
import type { Pace } from "#platform/pace.ts";
import type { Key, Revision } from "#store/store.ts";
import type { Snapshot } from "#watch/cache-state.ts";
import type { Predicate } from "#watch/predicate.ts";
import { compilePredicate, namespaceRange } from "#watch/predicate.ts";
import { keyOfText, type SharedObject } from "#forms/shared-object.ts";
import { selectObjects } from "#watch/select.ts";
import { SortedSet } from "#watch/sorted-set.ts";
import type { ResourceStorage } from "./resource-storage.ts";
import { decodeContinue, encodeContinue, latestRevision } from "./continue-token.ts";
import { sharedObject } from "./cacher.ts";
import { resourceRange } from "./keys.ts";
import type { AskedVersion } from "./resource-version.ts";
import { isVersionError, parseVersion } from "./resource-version.ts";
import type { ListOptions, ListPage } from "./resource-store.ts";

const listTooOld = "The resourceVersion for the provided list is too old.";
const continueTooOld =
  "The provided continue parameter is too old to display a consistent list result. You can start " +
  "a new list without the continue parameter, or use the continue token in this response to " +
  "retrieve the remainder of the results. Continuing with the provided token results in an " +
  "inconsistent list - objects that were created, modified, or deleted between the time the first " +
  "chunk was returned and now may show up in the list.";

/** What to read for a list: the start key, the snapshot, and the number of keys. */
interface Plan {
  readonly predicate: Predicate;
  /** Without a selector the remaining items can be counted. */
  readonly countable: boolean;
  /** First key to return, within the resource. */
  readonly from: string;
  /** Common prefix of the listed keys, which continue tokens omit. */
  readonly prefix: string;
  readonly limit: number;
  /** Undefined: the current state. */
  readonly at: number | undefined;
  /** "latest": everything that any writer has committed so far. */
  readonly atLeast: number | "latest";
  /** The error for a revision that is gone (410). */
  readonly gone: () => Error;
}

export async function storeList(
  context: ResourceStorage,
  namespace: string,
  options: ListOptions,
): Promise<ListPage> {
  const plan = planList(context, namespace, options);
  await reached(context, plan);
  const { cache } = context.core;
  cache.advance(context.freshness.revision);
  const cached = cachedSnapshot(context, plan);
  const snapshot = cached ?? (await snapshotFromStore(context, plan, options.pace));
  const made = await page(plan, snapshot, options.pace, (pinned) => cache.state.pin(pinned));
  return cached === undefined ? { ...made, isFromStore: true } : made;
}

async function reached({ freshness, store }: ResourceStorage, plan: Plan): Promise<void> {
  const least = plan.at ?? plan.atLeast;
  if (least === "latest") await freshness.latest(store);
  else await freshness.atLeast(least);
}

async function page(
  plan: Plan,
  snapshot: Snapshot,
  pace: Pace | undefined,
  pin: (snapshot: Snapshot) => void,
): Promise<ListPage> {
  const { predicate, from, limit } = plan;
  const { objects } = snapshot;
  // Pinned before the first turn; a compaction in between releases it again.
  if (limit > 0 && objects.countRange(from, predicate.to) > limit) pin(snapshot);
  const { items, last, more } = await selectObjects(objects, predicate, plan, pace);
  const resourceVersion = String(snapshot.revision);
  if (!more) return { items, resourceVersion };
  const start = `${last.slice(plan.prefix.length)}\0`;
  const token = encodeContinue({ revision: snapshot.revision, start });
  if (!plan.countable) return { items, resourceVersion, continue: token };
  const remainingItemCount = objects.countRange(`${last}\0`, predicate.to);
  return { items, resourceVersion, continue: token, remainingItemCount };
}

/** Undefined: only the store still has this revision. */
function cachedSnapshot(
  { core, store }: ResourceStorage,
  { at, gone }: Plan,
): Snapshot | undefined {
  const { state } = core.cache;
  if (at === undefined) return state.snapshot();
  if (at < store.compactRevision) throw gone();
  return state.snapshotAt(at);
}

/** Keys per turn: a few milliseconds, because each page also counts the keys after it. */
const storePageKeys = 2_048;

/**
 * Reads a snapshot that is older than the ring and younger than compaction, which may overtake it between two turns of
 * the loop. It reads the whole resource, because the snapshot may be pinned.
 */
async function snapshotFromStore(
  context: ResourceStorage,
  plan: Plan,
  pace: Pace | undefined,
): Promise<Snapshot> {
  const revision = must(plan.at, "the present is in the cache");
  const { prefix, source } = context.core;
  const { end, ...range } = resourceRange(prefix);
  const at = revision as Revision; // of a token or a request: checked against what is compacted
  const objects: SharedObject[] = [];
  for (let start: Key | undefined = range.start; start !== undefined;) {
    const found = context.store.range({ start, end, at, limit: storePageKeys });
    if (found.kind !== "ok") throw plan.gone();
    for (const kv of found.kvs) objects.push(sharedObject(source, prefix, kv));
    const last = found.kvs.at(-1);
    start = found.more && last !== undefined ? (`${last.key}\0` as Key) : undefined;
    if (start !== undefined) await pace?.turn();
  }
  return { revision, objects: SortedSet.from(objects) };
}

function planList(context: ResourceStorage, namespace: string, options: ListOptions): Plan {
  refuseListOptions(options);
  const { labels, fields } = options;
  const { namespaced } = context.info;
  const predicate = compilePredicate({ namespace, namespaced, labels, fields });
  const scope = {
    predicate,
    prefix: namespaceRange(keyOfText(namespace)).from,
    countable: (labels?.requirements.length ?? 0) + (fields?.requirements.length ?? 0) === 0,
  };
  const asked = parseListVersion(options);
  if (options.continue !== undefined && options.continue !== "") {
    return planContinue(scope, options, options.continue, asked);
  }
  return {
    ...scope,
    ...planVersion(options, asked),
    from: predicate.from,
    gone: () => expiredError(listTooOld),
  };
}

type PlanScope = Pick<Plan, "predicate" | "prefix" | "countable">;

function planVersion(
  options: ListOptions,
  asked: AskedVersion,
): Pick<Plan, "limit" | "at" | "atLeast"> {
  const limit = options.limit ?? 0;
  if (asked.kind === "unset") return { limit, at: undefined, atLeast: "latest" };
  if (asked.kind === "any") return { limit: 0, at: undefined, atLeast: 0 };
  const match = options.resourceVersionMatch ?? "";
  const exact = match === "Exact" || (match === "" && limit > 0);
  return exact
    ? { limit, at: asked.revision, atLeast: 0 }
    : { limit, at: undefined, atLeast: asked.revision };
}

function planContinue(
  scope: PlanScope,
  options: ListOptions,
  continueToken: string,
  asked: AskedVersion,
): Plan {
  const token = decodeContinue(continueToken);
  if (asked.kind === "revision") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  const latest = encodeContinue({ revision: latestRevision, start: token.start });
  const from = scope.prefix + token.start;
  return {
    ...scope,
    from: from < scope.predicate.from ? scope.predicate.from : from,
    limit: options.limit ?? 0,
    at: token.revision === latestRevision ? undefined : token.revision,
    atLeast: token.revision === latestRevision ? "latest" : 0,
    gone: () => expiredError(continueTooOld, latest),
  };
}

function parseListVersion(options: ListOptions): AskedVersion {
  const asked = parseVersion(options.resourceVersion);
  if (!isVersionError(asked)) return asked;
  throw badRequest(`invalid resource version: ${asked.field}: ${asked.message}`);
}

/** 422 with upstream's texts for combinations of options without meaning. */
function refuseListOptions(options: ListOptions): void {
  const { resourceVersionMatch: match = "", resourceVersion = "" } = options;
  if (match === "") return;
  const texts: string[] = [];
  if (resourceVersion === "") {
    texts.push("resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if ((options.continue ?? "") !== "") {
    texts.push("resourceVersionMatch is forbidden when continue is provided");
  }
  if (match === "Exact" && resourceVersion === "0") {
    texts.push('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  if (texts.length === 0) return;
  const errors = texts.map((text) => matchError(text));
  throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
}

function matchError(text: string): FieldError {
  return {
    reason: "FieldValueForbidden",
    field: "resourceVersionMatch",
    message: `Forbidden: ${text}`,
  };
}
