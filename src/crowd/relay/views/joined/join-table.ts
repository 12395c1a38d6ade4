/**
 * The rows of a joined view, kept up to date: an object that changes makes those makers dirty that looked at one of its
 * keys, and `settle` makes them anew.
 *
 * In     `put` per object. Out: what `settle` says has changed, by id.
 * Holds  once nothing is dirty, the rows are those of a join of everything from the start, whatever the order in
 *        which objects came and went. Of several rows with one id the first counts, by input and object key.
 * Cost   of a change: the makers that look at the object, their groups, and nothing of the rest of the table.
 * Bounds a maker that joins too many objects or makes too large a row has no rows, and counts in `failures`.
 */
import { JsonPathError } from "#api/json-path/json-path.ts";
import { must } from "#base/assert.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { JoinIndex } from "./join-index.ts";
import {
  type JoinedRow,
  type JoinLimits,
  type JoinPlan,
  type Lookup,
  type Made,
  RowLimitError,
  type Share,
} from "./join-plan.ts";

interface Look {
  readonly input: number;
  readonly index: number;
  readonly key: string;
}

interface Maker {
  readonly input: number;
  /** Sort key of makers: rank of the input, then key of the object. */
  readonly order: string;
  /** Projected value of the object. Undefined: the object was deleted. */
  value: unknown;
  looks: readonly Look[];
  rows: readonly JoinedRow[];
  shares: readonly Share[];
}

/** A maker or a group, which both offer rows. */
type Source = Pick<Maker, "order"> & { rows: readonly JoinedRow[] };

interface Group extends Source {
  readonly name: string;
  readonly shares: Map<Maker, string>;
  /** Makers in their order at the last sorting, which makes the next one almost linear. */
  sorted: readonly Maker[];
}

/** The row shown for an id now, and the one shown before. */
export interface RowChange {
  readonly id: string;
  readonly before: JoinedRow | undefined;
  readonly after: JoinedRow | undefined;
}

const nothing: Made = { rows: [], shares: [] };
/** Number of rows compared per row made in a portion: comparing costs a small part of making. */
const comparedPerMade = 16;

export class JoinTable {
  readonly #plan: JoinPlan;
  readonly #limits: JoinLimits;
  readonly #inputs: readonly JoinIndex<Maker>[];
  readonly #makers = new Map<string, Maker>();
  readonly #groups = new Map<string, Group>();
  readonly #dirty = new Set<Maker>();
  readonly #dirtyGroups = new Set<Group>();
  /** By row id, then by sort key of the source: the offered rows. */
  readonly #offers = new Map<string, Map<string, JoinedRow>>();
  readonly #shown = new Map<string, JoinedRow>();
  readonly #changed = new Set<string>();
  /** By row id: the changes found so far, while settling takes several turns. */
  readonly #changes = new Map<string, RowChange>();
  readonly #rank: ReadonlyMap<number, number>;
  #failures = 0;

  constructor(plan: JoinPlan, limits: JoinLimits) {
    this.#plan = plan;
    this.#limits = limits;
    this.#inputs = plan.inputs.map(({ indexes }) => new JoinIndex<Maker>(indexes));
    this.#rank = new Map(plan.makers.map((input, at) => [input, at]));
    this.#offer({ order: "\xff", rows: [] }, plan.fixed);
  }

  /** Number of objects and groups whose rows could not be made, so far. */
  get failures(): number {
    return this.#failures;
  }

  get isSettled(): boolean {
    return this.#dirty.size + this.#dirtyGroups.size + this.#changed.size === 0;
  }

  /** Number of makers and groups whose rows must be made anew. */
  get dirty(): number {
    return this.#dirty.size + this.#dirtyGroups.size;
  }

  get rows(): ReadonlyMap<string, JoinedRow> {
    return this.#shown;
  }

  /** Puts an object; undefined: it was deleted. `key` is unique in its input and is the object's sort key there. */
  put(input: number, key: string, object: CachedObject | undefined): void {
    const projected = object && must(this.#plan.inputs[input], "an input").project(object);
    this.#inputs[input]?.put(key, projected, (maker) => void this.#dirty.add(maker));
    const rank = this.#rank.get(input);
    if (rank === undefined) return;
    const order = `${rank} ${key}`;
    const known = this.#makers.get(order);
    if (known === undefined && projected === undefined) return;
    const maker = known ?? { input, order, value: undefined, looks: [], rows: [], shares: [] };
    maker.value = projected?.value;
    if (known === undefined) this.#makers.set(order, maker);
    this.#dirty.add(maker);
  }

  /**
   * Makes up to `max` makers and groups anew, and compares a multiple of that. @returns the changes, once nothing is
   * dirty; undefined before. Rows are shown all at once, with the changes.
   */
  settle(max: number): readonly RowChange[] | undefined {
    let left = max;
    for (const maker of this.#dirty) {
      if (left-- <= 0) return undefined;
      this.#dirty.delete(maker);
      this.#makeAnew(maker);
    }
    for (const group of this.#dirtyGroups) {
      if (left-- <= 0) return undefined;
      this.#dirtyGroups.delete(group);
      this.#makeGroup(group);
    }
    return this.#compare(max * comparedPerMade) ? this.#show() : undefined;
  }

  #makeAnew(maker: Maker): void {
    const isGone = maker.value === undefined;
    const looks: Look[] = [];
    const made = isGone ? nothing : this.#made(maker, looks);
    this.#lookAt(maker, looks);
    this.#offer(maker, made.rows);
    this.#share(maker, made.shares);
    if (isGone) this.#makers.delete(maker.order);
  }

  #made(maker: Maker, looks: Look[]): Made {
    try {
      const made = this.#plan.make(maker.input, maker.value, this.#lookup(looks));
      for (const row of made.rows) this.#check(row);
      return made;
    } catch (error) {
      if (!(error instanceof JsonPathError || error instanceof RowLimitError)) throw error;
      this.#failures++;
      return nothing;
    }
  }

  #check({ text, change, zones }: JoinedRow): void {
    const { rowLengthMax } = this.#limits;
    let length = text.length + change.length;
    for (const one of zones?.values() ?? []) length += one.length;
    if (length > rowLengthMax) throw new RowLimitError(`a row is longer than ${rowLengthMax}`);
  }

  /** Lookups are recorded even when they exceed the limit, so that the row is made again when the objects become fewer. */
  #lookup(looks: Look[]): Lookup {
    let left = this.#limits.joinedWeightMax;
    return {
      find: (input, index, key) => {
        looks.push({ input, index, key });
        // A lookup without a result costs 1 as well.
        const { values, weight } = must(this.#inputs[input], "an input").find(index, key, --left);
        left -= weight;
        return values;
      },
    };
  }

  #lookAt(maker: Maker, looks: readonly Look[]): void {
    if (isSameLooks(maker.looks, looks)) return;
    for (const { input, index, key } of maker.looks) {
      this.#inputs[input]?.looksNoMore(index, key, maker);
    }
    for (const { input, index, key } of looks) this.#inputs[input]?.looks(index, key, maker);
    maker.looks = looks;
  }

  #share(maker: Maker, shares: readonly Share[]): void {
    if (isSameShares(maker.shares, shares)) return;
    for (const { group } of maker.shares) {
      const known = this.#groups.get(group);
      if (known?.shares.delete(maker) === true) this.#dirtyGroups.add(known);
    }
    for (const { group, value } of shares) {
      const order = `${this.#rank.size} ${group}`;
      const known = this.#groups.get(group) ?? newGroup(group, order);
      this.#groups.set(group, known);
      known.shares.set(maker, value);
      this.#dirtyGroups.add(known);
    }
    maker.shares = shares;
  }

  #makeGroup(group: Group): void {
    if (group.shares.size === 0) this.#groups.delete(group.name);
    this.#offer(group, this.#groupRows(group));
  }

  #groupRows(group: Group): readonly JoinedRow[] {
    const { name, shares } = group;
    if (shares.size === 0) return [];
    if (shares.size > this.#limits.joinedWeightMax) {
      this.#failures++;
      return [];
    }
    group.sorted = sortedMakers(group);
    return this.#plan.group(
      name,
      group.sorted.map((maker) => shares.get(maker) ?? ""),
    );
  }

  /** Replaces the rows that the source offered before. */
  #offer(source: Source, rows: readonly JoinedRow[]): void {
    const { order } = source;
    for (const { id } of source.rows) {
      const offers = this.#offers.get(id);
      if (offers?.delete(order) === true && offers.size === 0) this.#offers.delete(id);
      this.#changed.add(id);
    }
    for (const row of rows) {
      const offers = this.#offers.get(row.id);
      if (offers === undefined) this.#offers.set(row.id, new Map([[order, row]]));
      else if (!offers.has(order)) offers.set(order, row);
      this.#changed.add(row.id);
    }
    source.rows = rows;
  }

  /** Compares up to `max` newly offered rows. @returns whether all of them are compared. */
  #compare(max: number): boolean {
    let left = max;
    for (const id of this.#changed) {
      if (left-- <= 0) return false;
      this.#changed.delete(id);
      const before = this.#shown.get(id);
      const after = firstOf(this.#offers.get(id));
      if (before === after || (before && after && isSameRow(before, after))) {
        this.#changes.delete(id);
      } else this.#changes.set(id, { id, before, after });
    }
    return true;
  }

  #show(): readonly RowChange[] {
    const changes = [...this.#changes.values()];
    this.#changes.clear();
    for (const { id, after } of changes) {
      if (after === undefined) this.#shown.delete(id);
      else this.#shown.set(id, after);
    }
    return changes;
  }
}

function newGroup(name: string, order: string): Group {
  return { name, order, shares: new Map(), sorted: [], rows: [] };
}

/** Sorts the makers: earlier ones in their last order, new ones appended, so that sorting is almost linear. */
function sortedMakers({ sorted, shares }: Group): readonly Maker[] {
  const makers = new Set<Maker>();
  for (const maker of sorted) if (shares.has(maker)) makers.add(maker);
  for (const maker of shares.keys()) makers.add(maker);
  return [...makers].sort((a, b) => (a.order < b.order ? -1 : 1));
}

function firstOf(offers: ReadonlyMap<string, JoinedRow> | undefined): JoinedRow | undefined {
  let first: string | undefined;
  for (const order of offers?.keys() ?? []) if (first === undefined || order < first) first = order;
  return first === undefined ? undefined : offers?.get(first);
}

function isSameShares(a: readonly Share[], b: readonly Share[]): boolean {
  if (a.length !== b.length) return false;
  return a.every(({ group, value }, at) => group === b[at]?.group && value === b[at].value);
}

function isSameLooks(a: readonly Look[], b: readonly Look[]): boolean {
  if (a.length !== b.length) return false;
  return a.every((look, at) => {
    const other = b[at];
    return look.key === other?.key && look.input === other.input && look.index === other.index;
  });
}

function isSameRow(a: JoinedRow, b: JoinedRow): boolean {
  if (a.text !== b.text || a.place !== b.place || a.change !== b.change) return false;
  const [zonesA, zonesB] = [a.zones ?? noZones, b.zones ?? noZones];
  return (
    zonesA.size === zonesB.size && [...zonesA].every(([zone, text]) => zonesB.get(zone) === text)
  );
}

const noZones: ReadonlyMap<string, string> = new Map();
