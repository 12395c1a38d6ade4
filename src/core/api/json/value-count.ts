/** How large plain data is, found out no further than needed. */

/** Whether `value` holds at least `count` members and elements; looks at about as many at most. */
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
