/**
 * The objects of one input: by their own key, by the keys they are found by, and which makers looked where. The last is
 * the reverse index: a change of an object costs the makers that looked at one of its keys, before or after.
 *
 * Cost   `put` O(keys of the object + makers that looked); `find` O(found log found). A key that nobody looked at and
 *        nothing has takes no memory.
 */
import { RowLimitError, type Projected } from "./join-plan.ts";

interface Found {
  readonly values: readonly unknown[];
  readonly weight: number;
}

export class JoinIndex<Maker> {
  readonly #objects = new Map<string, Projected>();
  readonly #byKey: readonly Map<string, Map<string, Projected>>[];
  readonly #lookers: readonly Map<string, Set<Maker>>[];

  constructor(indexes: number) {
    this.#byKey = Array.from({ length: indexes }, () => new Map<string, Map<string, Projected>>());
    this.#lookers = Array.from({ length: indexes }, () => new Map<string, Set<Maker>>());
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Puts an object; undefined: it was deleted. Calls `touch` for every maker that looked up one of its old or new keys. */
  put(key: string, after: Projected | undefined, touch: (maker: Maker) => void): void {
    const before = this.#objects.get(key);
    if (after === undefined) this.#objects.delete(key);
    else this.#objects.set(key, after);
    for (const [at, byKey] of this.#byKey.entries()) {
      const was = before?.keys[at] ?? none;
      const is = after?.keys[at] ?? none;
      for (const one of was) if (!is.includes(one)) remove(byKey, one, key);
      for (const one of is) if (after !== undefined) add(byKey, one, key, after);
      for (const one of new Set([...was, ...is])) this.#lookers[at]?.get(one)?.forEach(touch);
    }
  }

  /** Returns the found values in the order of their objects' keys. Throws RowLimitError when their weight exceeds `max`. */
  find(index: number, key: string, max: number): Found {
    const found = this.#byKey[index]?.get(key);
    if (found === undefined) return nothing;
    let weight = 0;
    for (const one of found.values()) if ((weight += one.weight) > max) throw tooMany();
    if (found.size === 1) return { values: Array.from(found.values(), valueOf), weight };
    const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
    return { values: sorted.map(([, { value }]) => value), weight };
  }

  looks(index: number, key: string, maker: Maker): void {
    const lookers = this.#lookers[index];
    const known = lookers?.get(key);
    if (known === undefined) lookers?.set(key, new Set([maker]));
    else known.add(maker);
  }

  looksNoMore(index: number, key: string, maker: Maker): void {
    const lookers = this.#lookers[index];
    const known = lookers?.get(key);
    if (known?.delete(maker) === true && known.size === 0) lookers?.delete(key);
  }
}

const none: readonly never[] = [];
const nothing: Found = { values: none, weight: 0 };

function tooMany(): RowLimitError {
  return new RowLimitError("a row joins too many objects");
}

function valueOf({ value }: Projected): unknown {
  return value;
}

function add(
  byKey: Map<string, Map<string, Projected>>,
  key: string,
  object: string,
  value: Projected,
): void {
  const known = byKey.get(key);
  if (known === undefined) byKey.set(key, new Map([[object, value]]));
  else known.set(object, value);
}

function remove(byKey: Map<string, Map<string, Projected>>, key: string, object: string): void {
  const known = byKey.get(key);
  if (known?.delete(object) === true && known.size === 0) byKey.delete(key);
}
