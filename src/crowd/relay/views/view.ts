/**
 * A view: the objects of a selection of one resource, as rows with their digest, for clients that poll.
 *
 * In     the items of its own watch on the mirror. Out: content (all, or one zone's) with an ETag in O(1),
 *        and a notification to every waiting poll on a change.
 * Zones  content is narrowed to a zone only when the zone has at least `minimum` rows; otherwise, and for
 *        unknown zones, it is the whole view.
 * Holds  a change of an object that does not change its row gives no new ETag and wakes no poll.
 * Turns  the state it begins with, and batches of many changes, are taken one per turn of the loop that no other
 *        view takes; until then its content is of an earlier moment, or none (`isUpToDate`).
 * Cost   per change one row, O(log n), and one hash, also while no client polls the view.
 */
import { findValues, type JsonPath, JsonPathError } from "#api/json-path/json-path.ts";
import type { Clock } from "#platform/clock.ts";
import { onNextTurn } from "#platform/pace.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import type { Cursor } from "#watch/cursor.ts";
import type { Predicate } from "#watch/predicate.ts";
import type { WatchItem, WatchSink } from "#watch/watch-item.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { Row } from "./row-blocks.ts";
import { ViewContent } from "./view-content.ts";
import type { PolledView } from "./polled-view.ts";
import { placeOf, type ViewForm } from "./view-form.ts";

export interface ZoneRule {
  /** Path to the zones of an object: every text there is one. */
  readonly path: JsonPath;
  readonly minimum: number;
}

export interface ViewSpec {
  readonly predicate: Predicate;
  readonly form: ViewForm;
  readonly zone: ZoneRule | undefined;
}

export interface ViewDeps {
  readonly clock: Clock;
  readonly mirror: Mirror;
}

interface Member {
  readonly row: Row;
  readonly zones: readonly string[];
}

type ChangeBody = readonly Uint8Array[] | Error;

const noZones: readonly string[] = [];

export class View implements PolledView, WatchSink {
  readonly spec: ViewSpec;
  readonly #deps: ViewDeps;
  readonly #zonesMax: number;
  readonly #cursor: Cursor;
  readonly #members = new Map<string, Member>();
  readonly #all: ViewContent;
  readonly #zones = new Map<string, ViewContent>();
  readonly #touched = new Set<ViewContent>();
  readonly #changes = new Map<number, Promise<ChangeBody>>();
  #revision: number;
  #failures = 0;
  #zonesRefused = 0;
  #ended = false;
  /** Whether the view has its initial state. */
  #isFilled = false;
  #turn: "none" | "awaited" | "own" = "none";
  /** Callbacks of polls that wait until the view is up to date. */
  #awaiting: (() => void)[] = [];

  constructor(deps: ViewDeps, spec: ViewSpec, options: { zonesMax: number }) {
    this.#deps = deps;
    this.spec = spec;
    this.#zonesMax = options.zonesMax;
    this.#revision = deps.mirror.revision;
    this.#all = new ViewContent(spec.form.frame, deps.clock.nowMs());
    const { predicate } = spec;
    this.#cursor = deps.mirror.cache.watch({ predicate, bookmarks: true, start: "state" }, this);
  }

  /** Whether the view has everything that the mirror has dispatched. */
  get isUpToDate(): boolean {
    return this.#isFilled && this.#turn !== "awaited";
  }

  /** Resolves when the view is up to date, or has ended. */
  whenUpToDate(): Promise<void> {
    return new Promise((resolve) => void this.#awaiting.push(resolve));
  }

  /** Returns the content of a zone; "": all rows. */
  content(zone: string): ViewContent {
    const content = zone === "" ? undefined : this.#zones.get(zone);
    const { minimum = 0 } = this.spec.zone ?? {};
    return content === undefined || content.count < minimum ? this.#all : content;
  }

  /** Revision from which the changes after this content can be requested. */
  get revision(): number {
    return this.#revision;
  }

  get position(): string {
    return String(this.#revision);
  }

  get contentType(): string {
    return this.spec.form.contentType;
  }

  /** Whether the view has ended because the mirror started anew. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Number of objects whose template or zone could not be evaluated; such a row, or zone, is left out. */
  get failures(): number {
    return this.#failures;
  }

  get zones(): number {
    return this.#zones.size;
  }

  /** Number of rows in zones beyond `zonesMax`: clients in those zones get all rows. */
  get zonesRefused(): number {
    return this.#zonesRefused;
  }

  get waiting(): number {
    let sum = this.#all.waiting;
    for (const content of this.#zones.values()) sum += content.waiting;
    return sum;
  }

  /** Returns the list of changes since a position; it is made once per state for all pollers. */
  changes(since: number, make: () => Promise<ChangeBody>): Promise<ChangeBody> {
    const known = this.#changes.get(since);
    if (known !== undefined) return known;
    const made = make();
    if (this.#changes.size < changesMax) {
      this.#changes.set(since, made);
      made.catch(() => this.#changes.get(since) === made && this.#changes.delete(since));
    }
    return made;
  }

  close(): void {
    this.#cursor.close();
    this.end();
  }

  deliver(items: readonly WatchItem[]): boolean {
    if (items.length > smallItemsMax && this.#turn !== "own") return this.#awaitTurn();
    this.#turn = "none";
    this.#changes.clear();
    for (const item of items) {
      this.#take(item);
      if (item.initialEventsEnd === true) this.#isFilled = true;
      const position = Number(item.resourceVersion);
      if (position > this.#revision) this.#revision = position;
    }
    this.#tell();
    return true;
  }

  end(): void {
    this.#ended = true;
    this.#goOn();
    this.#wakeAll();
  }

  /** Takes the batch in a later turn. @returns false: the batch is not taken now. */
  #awaitTurn(): false {
    if (this.#turn === "awaited") return false;
    this.#turn = "awaited";
    onNextTurn(this.#deps.clock, () => this.#takeTurn());
    return false;
  }

  #takeTurn(): void {
    this.#turn = "own";
    this.#cursor.resume();
    if (this.#turn === "own") this.#turn = "none";
    if (this.isUpToDate) this.#goOn();
  }

  #goOn(): void {
    const awaiting = this.#awaiting;
    this.#awaiting = [];
    for (const resolve of awaiting) resolve();
  }

  #take({ type, object }: WatchItem): void {
    if (object === undefined) return;
    const key = placeOf(object);
    const before = this.#members.get(key);
    const after = type === "DELETED" ? undefined : this.#member(object);
    if (after === undefined) this.#members.delete(key);
    else this.#members.set(key, after);
    if (isSame(before, after)) return;
    this.#put(this.#all, before?.row, after?.row);
    this.#putZones(before, after);
  }

  #member(object: CachedObject): Member | undefined {
    try {
      const row = this.spec.form.row(object);
      return row === undefined ? undefined : { row, zones: this.#zonesOf(object) };
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      this.#failures++;
      return undefined;
    }
  }

  #zonesOf(object: CachedObject): readonly string[] {
    const { zone } = this.spec;
    if (zone === undefined) return noZones;
    try {
      const texts = findValues(zone.path, object.object).filter((v) => typeof v === "string");
      return [...new Set(texts)].sort();
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error;
      this.#failures++;
      return noZones;
    }
  }

  #putZones(before: Member | undefined, after: Member | undefined): void {
    const zones = new Set([...(before?.zones ?? noZones), ...(after?.zones ?? noZones)]);
    for (const zone of zones) {
      const content = this.#zone(zone);
      if (content === undefined) continue;
      const was = before?.zones.includes(zone) === true ? before.row : undefined;
      const is = after?.zones.includes(zone) === true ? after.row : undefined;
      this.#put(content, was, is);
      if (content.count === 0) this.#zones.delete(zone);
    }
  }

  #zone(zone: string): ViewContent | undefined {
    const known = this.#zones.get(zone);
    if (known !== undefined) return known;
    // Rows of a refused zone are not collected, so it must never be served as if it were complete.
    if (this.#zones.size >= this.#zonesMax || this.#zonesRefused > 0) {
      this.#zonesRefused++;
      return undefined;
    }
    const content = new ViewContent(this.spec.form.frame, this.#deps.clock.nowMs());
    this.#zones.set(zone, content);
    return content;
  }

  #put(content: ViewContent, before: Row | undefined, after: Row | undefined): void {
    content.put(before, after);
    this.#touched.add(content);
  }

  #tell(): void {
    if (this.#touched.size === 0) return;
    const nowMs = this.#deps.clock.nowMs();
    for (const content of this.#touched) content.changed(nowMs);
    this.#touched.clear();
  }

  #wakeAll(): void {
    this.#all.wake();
    for (const content of this.#zones.values()) content.wake();
  }
}

/** Maximum number of changes taken at once, without a turn of their own. */
const smallItemsMax = 8;
/** Maximum number of lists of changes kept until the next change: clients resume from few positions. */
const changesMax = 64;

function isSame(a: Member | undefined, b: Member | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.row.hash !== b.row.hash || a.row.place !== b.row.place) return false;
  return a.zones.length === b.zones.length && a.zones.every((zone, at) => zone === b.zones[at]);
}
