/**
 * The rows of a joined view as all readers see them, and as each zone does where that differs.
 *
 * Holds  a zone's content has every row: its own text where the row has one for the zone, else everybody's. A zone
 *        that no row has a text for is everybody's content. Zones beyond `zonesMax` are as well, and counted.
 * Cost   a change: once for all, and once per zone. A zone that comes up: once per row.
 */
import type { Row } from "../row-blocks.ts";
import { type Frame, ViewContent } from "../view-content.ts";
import { textRow } from "../view-form.ts";
import type { JoinedRow } from "./join-plan.ts";
import type { RowChange } from "./join-table.ts";

interface Shown {
  readonly row: Row;
  readonly zones: ReadonlyMap<string, Row> | undefined;
}

interface Zone {
  readonly content: ViewContent;
  /** Number of rows with a different text in this zone. */
  own: number;
}

export class ZonedContent {
  readonly all: ViewContent;
  readonly #frame: Frame;
  readonly #zonesMax: number;
  readonly #shown = new Map<string, Shown>();
  readonly #zones = new Map<string, Zone>();
  #refused = 0;
  #hasChanged = false;

  constructor(frame: Frame, nowMs: number, options: { readonly zonesMax: number }) {
    this.#frame = frame;
    this.#zonesMax = options.zonesMax;
    this.all = new ViewContent(frame, nowMs);
  }

  get zones(): number {
    return this.#zones.size;
  }

  get zonesRefused(): number {
    return this.#refused;
  }

  get waiting(): number {
    let sum = this.all.waiting;
    for (const { content } of this.#zones.values()) sum += content.waiting;
    return sum;
  }

  /** Returns the content of a zone; "": the content for clients without a zone. */
  of(zone: string): ViewContent {
    return this.#zones.get(zone)?.content ?? this.all;
  }

  /** Changes the rows; `tell` then wakes the readers, once for all changes. */
  *apply(changes: readonly RowChange[], nowMs: number): Generator<void> {
    for (const { after } of changes) {
      for (const zone of after?.zones?.keys() ?? []) yield* this.#begin(zone, nowMs);
    }
    for (const change of changes) {
      this.#put(change);
      yield;
    }
    this.#forget();
  }

  tell(nowMs: number): void {
    if (!this.#hasChanged) return;
    this.#hasChanged = false;
    this.all.changed(nowMs);
    for (const { content } of this.#zones.values()) content.changed(nowMs);
  }

  wake(): void {
    this.all.wake();
    for (const { content } of this.#zones.values()) content.wake();
  }

  *#begin(zone: string, nowMs: number): Generator<void> {
    if (this.#zones.has(zone)) return;
    if (this.#zones.size >= this.#zonesMax) {
      this.#refused++;
      return;
    }
    const content = new ViewContent(this.#frame, nowMs);
    this.#zones.set(zone, { content, own: 0 });
    for (const { row } of this.#shown.values()) {
      content.put(undefined, row);
      yield;
    }
  }

  #put({ id, after }: RowChange): void {
    const before = this.#shown.get(id);
    const shown = after && shownOf(after);
    if (shown === undefined) this.#shown.delete(id);
    else this.#shown.set(id, shown);
    this.#hasChanged = true;
    this.all.put(before?.row, shown?.row);
    for (const [name, zone] of this.#zones) {
      const [was, is] = [before?.zones?.get(name), shown?.zones?.get(name)];
      zone.content.put(was ?? before?.row, is ?? shown?.row);
      zone.own += Number(is !== undefined) - Number(was !== undefined);
    }
  }

  #forget(): void {
    for (const [name, { content, own }] of this.#zones) {
      if (own > 0) continue;
      this.#zones.delete(name);
      content.wake();
    }
  }
}

function shownOf({ place, text, zones }: JoinedRow): Shown {
  const own = zones && new Map([...zones].map(([zone, one]) => [zone, textRow(place, one)]));
  return { row: textRow(place, text), zones: own };
}
