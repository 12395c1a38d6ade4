/** Deep freezing: data passed between rooms by reference must not change. */

/** Freezes plain data in place and returns it. Parts that are already frozen are skipped. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}
