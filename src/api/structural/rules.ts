/** Where a schema has CEL rules; evaluating them is another room's. */
import { isRecord } from "../json-value.ts";
import type { JsonObject } from "../object.ts";
import { items } from "../validation/fields.ts";
import type { Structural } from "./structural.ts";

interface RulePlace {
  /** From the root: names of properties; `*` for all items of a list, all values of a map. */
  readonly path: readonly string[];
  readonly structural: Structural;
  /** `x-kubernetes-validations` as written. */
  readonly rules: readonly JsonObject[];
}

const known = new WeakMap<Structural, readonly RulePlace[]>();

/** Parents before children, properties by name. Kept with the schema: asking again costs nothing. */
export function listRules(structural: Structural): readonly RulePlace[] {
  const found = known.get(structural);
  if (found !== undefined) return found;
  const places: RulePlace[] = [];
  if (mentionsRules(structural.schema)) collect(structural, [], places);
  known.set(structural, places);
  return places;
}

/** Without making a node per field, of which most schemas have no rules. */
function mentionsRules(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  if (items(schema, "x-kubernetes-validations").length > 0) return true;
  if (mentionsRules(schema["items"]) || mentionsRules(schema["additionalProperties"])) return true;
  const properties = schema["properties"];
  return isRecord(properties) && Object.values(properties).some(mentionsRules);
}

function collect(node: Structural, path: readonly string[], places: RulePlace[]): void {
  const rules = items(node.schema, "x-kubernetes-validations") as readonly JsonObject[]; // JSON
  if (rules.length > 0) places.push({ path, structural: node, rules });
  for (const name of node.propertyNames) {
    const property = node.property(name);
    if (property !== undefined && mentionsRules(property.schema)) {
      collect(property, [...path, name], places);
    }
  }
  const { items: below, additional } = node;
  if (below !== undefined) collect(below, [...path, "*"], places);
  if (typeof additional === "object") collect(additional, [...path, "*"], places);
}
