/**
 * Objects as tables whose keys come from outside: `constructor` and `__proto__` are keys like any other.
 * `tools/tidy.ts` refuses other ways to index a literal.
 */

/** Returns the own entry of `table`; properties inherited from Object.prototype do not count. */
export function ownEntry<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Returns a table to fill. It inherits nothing, so `__proto__` can be an entry. */
export function dictionary<T>(): Record<string, T> {
  // A cast from `any`: an object without properties is a valid table.
  return Object.create(null) as Record<string, T>;
}
