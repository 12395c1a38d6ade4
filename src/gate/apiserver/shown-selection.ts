/**
 * Selects objects by their labels and fields in the requested version. The store selects by the stored version, in
 * which a custom object may have other labels and fields (conversion, defaults of a changed definition).
 *
 *   store --name and namespace--> page or batch --held, shown--> labels and fields of the version asked for
 *
 * Holds  1. An object is converted before it is compared. 2. A watcher gets ADDED and DELETED for an object that enters
 *        or leaves its selection, in the order of the store. 3. A page has at most `limit` objects, and its token leads
 *        to the first object that was not compared.
 * Cost   every object of the scope is converted once per list and event; built-in kinds never use this file.
 */
import type { FieldRequirement } from "#api/selectors/field-selector.ts";
import { plainFieldValue } from "#api/selectors/selectable-fields.ts";
import { encodeContinue } from "#registry/continue-token.ts";
import type {
  ListOptions,
  ListPage,
  ResourceWatch,
  WatchOptions,
} from "#registry/resource-store.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { compilePredicate } from "#watch/predicate.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import type { ListQuery } from "./list-options.ts";
import type { StoredKind } from "./stored-kind.ts";

/** Selectors that must be evaluated on the object in the request's version. */
interface ShownSelection {
  matches(cached: CachedObject): boolean;
  /** Selectors that the store can still evaluate. */
  readonly stored: Pick<ListQuery, "fields">;
}

type Selectors = Pick<ListQuery, "labels" | "fields">;

const keyFields: ReadonlySet<string> = new Set(["metadata.name", "metadata.namespace"]);

/** @returns undefined when the store can select. `keep`: as in `WatchOptions`, for watches. */
export function shownSelection(
  kind: StoredKind,
  query: Selectors,
  keep: WatchOptions["keep"] = (predicate) => predicate,
): ShownSelection | undefined {
  if (kind.custom === undefined) return undefined;
  const { labels, fields = { requirements: [] } } = query;
  const isOfKey = ({ field }: FieldRequirement): boolean => keyFields.has(field);
  const own = { requirements: fields.requirements.filter((one) => !isOfKey(one)) };
  const hasLabels = (labels?.requirements.length ?? 0) > 0;
  // Only a conversion webhook can change labels.
  if (own.requirements.length === 0 && !(hasLabels && kind.prepared !== undefined)) {
    return undefined;
  }
  const { namespaced } = kind.resource;
  const shown = keep(compilePredicate({ namespace: "", namespaced, labels, fields: own }));
  return {
    stored: { fields: { requirements: fields.requirements.filter(isOfKey) } },
    matches(cached) {
      const object = kind.show(cached);
      const fieldOf = (field: string): string => plainFieldValue(object, field);
      return shown.selects(object.metadata?.labels ?? {}, fieldOf);
    },
  };
}

/** Number of objects that are converted and matched per step. */
const stepObjects = 250;

/** Returns a page from the store, or one of the objects that match in the requested version. */
export async function listPage(
  kind: StoredKind,
  namespace: string,
  query: Selectors,
  options: ListOptions,
): Promise<ListPage> {
  const selection = shownSelection(kind, query);
  if (selection === undefined) return kind.store.list(namespace, options);
  const { labels: _, fields: __, ...rest } = options;
  // The limit is ignored for resourceVersion 0, as in the store.
  const limit = options.resourceVersion === "0" ? 0 : (options.limit ?? 0);
  const found: CachedObject[] = [];
  let asked: ListOptions = { ...rest, ...selection.stored };
  if (limit > 0) asked = { ...asked, limit: Math.max(limit, stepObjects) };
  for (;;) {
    const page = await kind.store.list(namespace, asked);
    const next = await takeMatches(found, kind, selection, page.items, limit, options);
    const { resourceVersion } = page;
    if (next !== undefined) {
      const start = `${namespace === "" && next.namespace !== "" ? `${next.namespace}/` : ""}${next.name}`;
      const token = encodeContinue({ revision: Number(resourceVersion), start });
      return { items: found, resourceVersion, continue: token };
    }
    if (page.continue === undefined) return { items: found, resourceVersion };
    const { resourceVersion: ___, resourceVersionMatch: ____, ...further } = asked;
    asked = { ...further, continue: page.continue };
  }
}

/** @returns the first matching object beyond the limit, if any. */
async function takeMatches(
  found: CachedObject[],
  kind: StoredKind,
  selection: ShownSelection,
  items: readonly CachedObject[],
  limit: number,
  { pace }: ListOptions,
): Promise<CachedObject | undefined> {
  for (let at = 0; at < items.length; at += stepObjects) {
    const step = items.slice(at, at + stepObjects);
    using _held = await kind.prepared?.hold(step);
    for (const cached of step) {
      if (!selection.matches(cached)) continue;
      if (limit > 0 && found.length >= limit) return cached;
      found.push(cached);
    }
    await pace?.turn();
  }
  return undefined;
}

/** A sink between the store's watch of the scope and a stream with selectors. */
export class ShownSelectionSink implements WatchSink {
  /** True, because each object is converted. */
  readonly isMaking = true;
  readonly #kind: StoredKind;
  readonly #selection: ShownSelection;
  readonly #stream: WatchSink;
  #source: ResourceWatch | undefined;
  #state: "flowing" | "converting" | "ended" = "flowing";
  #held: Disposable | undefined;

  constructor(kind: StoredKind, selection: ShownSelection, stream: WatchSink) {
    this.#kind = kind;
    this.#selection = selection;
    this.#stream = stream;
  }

  /** Attaches the store's watch that fills this sink. Closing the result closes both. */
  async attach(opening: Promise<ResourceWatch>): Promise<ResourceWatch> {
    const source = await opening;
    this.#source = source;
    return {
      resume: () => source.resume(),
      bookmark: () => source.bookmark(),
      close: () => {
        this.#close();
        source.close();
      },
    };
  }

  deliver(items: readonly WatchItem[]): boolean {
    if (this.#state === "ended") return true;
    if (this.#state === "converting" || this.#awaits(items)) return false;
    const selected = items.flatMap((item) => this.#select(item) ?? []);
    if (selected.length > 0 && !this.#stream.deliver(selected)) return false;
    this.#drop();
    return true;
  }

  end(error?: Error): void {
    this.#close();
    this.#stream.end(error);
  }

  #close(): void {
    this.#state = "ended";
    this.#drop();
  }

  /** @returns whether the batch must wait for its objects; it is requested again when they are ready. */
  #awaits(items: readonly WatchItem[]): boolean {
    const { prepared } = this.#kind;
    if (prepared === undefined) return false;
    const objects = items.flatMap(({ object, change }) =>
      [object, change?.previous].filter((one) => one !== undefined),
    );
    if (objects.every((one) => prepared.isReady(one))) return false;
    this.#state = "converting";
    prepared.hold(objects).then(
      (held) => this.#converted(held),
      (error: Error) => {
        if (this.#state !== "ended") this.end(error);
      },
    );
    return true;
  }

  #converted(held: Disposable): void {
    this.#drop();
    if (this.#state === "ended") return held[Symbol.dispose]();
    this.#held = held;
    this.#state = "flowing";
    this.#source?.resume();
  }

  #drop(): void {
    this.#held?.[Symbol.dispose]();
    this.#held = undefined;
  }

  #select(item: WatchItem): WatchItem | undefined {
    const { object, change } = item;
    const selection = this.#selection;
    // The checksum of the scope does not hold for the selection, so it is removed.
    if (object === undefined) return item.view === undefined ? item : { ...item, view: undefined };
    const sees = selection.matches(object);
    if (change === undefined || item.type !== "MODIFIED") return sees ? item : undefined;
    const saw = change.previous !== undefined && selection.matches(change.previous);
    if (sees) return saw ? item : change.added();
    return saw ? change.deleted() : undefined;
  }
}
