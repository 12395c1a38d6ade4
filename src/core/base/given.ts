/** Selects the fields that are present, so that the result can be spread into another object. */

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/**
 * `{ name, ...given({ uid, labels }) }` has no key `uid` when uid is undefined (a key that is there and undefined is
 * another thing: `exactOptionalPropertyTypes`). It takes 0.1 us a field longer than `x === undefined ? {} : { x }`: not for what is done per event or record.
 */
export function given<T extends object>(fields: T): Given<T> {
  const out: Given<T> = {};
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined) out[key] = value as Exclude<T[typeof key], undefined>;
  }
  return out;
}
