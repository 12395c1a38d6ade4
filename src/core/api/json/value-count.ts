/** Measures plain data, visiting no more of it than needed. */

/** Whether `value` has at least `count` members and elements; visits at most about as many. */
export function hasValues(value: unknown, count: number): boolean {
  const rest: unknown[] = [value];
  let seen = 0;
  while (rest.length > 0) {
    const item = rest.pop();
    if (typeof item !== "object" || item === null) continue;
    const members: readonly unknown[] = Array.isArray(item) ? item : Object.values(item);
    seen += members.length;
    if (seen >= count) return true;
    for (const member of members) if (typeof member === "object") rest.push(member);
  }
  return false;
}
