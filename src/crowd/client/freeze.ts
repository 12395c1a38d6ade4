/** Deep freezing: what crosses from one room to another by reference must not change afterwards. */

/** Freezes plain data in place and returns it. Already frozen parts are taken as whole and skipped. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) deepFreeze(part);
  return value;
}
