/**
 * Objects as tables whose keys come from outside: `constructor` and `__proto__` are keys like any other.
 * `tools/tidy.ts` refuses other ways to index a literal.
 */

/** The entry of `table` itself: what Object.prototype holds is none. */
export function ownEntry<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** A table to be filled: it inherits nothing, so `__proto__` can be put into it. */
export function dictionary<T>(): Record<string, T> {
  // The type's own name for an object without properties.
  return Object.create(null) as Record<string, T>;
}
