/** Completion indexes as the status writes them: `1,3-5,7`. Pure. */

/** Parses what `formatIndexes` made; parts that are not numbers below `completions` are dropped. */
export function parseIndexes(text: string | undefined, completions: number): Set<number> {
  const indexes = new Set<number>();
  for (const part of (text ?? "").split(",")) {
    const [first = "", last = first] = part.split("-");
    if (!/^\d+$/.test(first) || !/^\d+$/.test(last)) continue;
    for (let index = Number(first); index <= Math.min(Number(last), completions - 1); index++)
      indexes.add(index);
  }
  return indexes;
}

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const sorted = [...indexes].toSorted((a, b) => a - b);
  const parts: string[] = [];
  for (let at = 0; at < sorted.length;) {
    let end = at;
    while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end++;
    const [first, last] = [sorted[at], sorted[end]];
    // Two neighbours read better apart, as upstream writes them.
    if (end === at) parts.push(`${first}`);
    else if (end === at + 1) parts.push(`${first}`, `${last}`);
    else parts.push(`${first}-${last}`);
    at = end + 1;
  }
  return parts.join(",");
}
