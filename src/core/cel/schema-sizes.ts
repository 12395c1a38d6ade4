/** The sizes declared by a schema, for cost estimates. */
import type { EstimateSize } from "./libraries/call-estimate.ts";
import type { SchemaNode } from "./schema-types.ts";

const sized: ReadonlySet<string> = new Set([
  "bytes",
  "date",
  "duration",
  "dyn",
  "int-or-string",
  "list",
  "map",
  "string",
  "timestamp",
]);

/** The first name of a path is that of a variable, and both variables have the type of `self`. */
export function schemaSizes(self: SchemaNode): EstimateSize {
  return ({ path = [] }) => {
    if (path.length === 0) return undefined;
    let node = self;
    for (const [at, name] of path.entries()) {
      if (at === 0) continue;
      // Upstream gives keys no size.
      if (name === "@keys" && node.form === "map") {
        return at === path.length - 1 ? { min: 0, max: 0 } : undefined;
      }
      // Nor does upstream find a field with a keyword as its name here.
      const isElement = name === "@items" || name === "@values";
      const next = isElement ? node.element : node.fields.get(name)?.node;
      if (next === undefined) return undefined;
      node = next;
    }
    return { min: 0, max: sized.has(node.form) ? node.maxSize : 0 };
  };
}
