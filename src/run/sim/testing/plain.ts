/** Returns messages as text for comparison: bytes as latin1, int64 with an n, headers by their revision. */
export function plain(value: unknown): string {
  return JSON.stringify(reduced(value)) ?? "nothing";
}

function reduced(value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  if (Array.isArray(value)) return value.map(reduced);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const sorted = fields.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    sorted.map(([name, field]) => [name, name === "header" ? revisionOf(field) : reduced(field)]),
  );
}

function revisionOf(header: unknown): number {
  return (header as { readonly revision: number }).revision;
}
