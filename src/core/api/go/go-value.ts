/** Plain data as Go prints it with %v: `map[a:1 b:[x y]]`. */
export function goValue(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goValue).join(" ")}]`;
  if (typeof value === "string") return value;
  if (typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, inner]) => `${key}:${goValue(inner)}`).join(" ")}]`;
}

/** The same with %#v: `map[string]interface {}{"a":1}`. */
export function goSyntax(value: unknown): string {
  if (value === null || value === undefined) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const members = entries.map(([key, inner]) => `${JSON.stringify(key)}:${goSyntax(inner)}`);
  return `map[string]interface {}{${members.join(", ")}}`;
}

/** The type as %T prints it, for values other than numbers. */
export function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "object") return "map[string]interface {}";
  return typeof value === "boolean" ? "bool" : "string";
}
