/**
 * Reads the field selector of an access review: the restriction of a list. The node authorizer lets a node list pods,
 * slices and certificate requests only with a selector that names the node. Without the selector, a review would deny
 * what the server allows.
 *
 * As in upstream, unreadable parts are left out: the question becomes broader, never narrower.
 */
import {
  type FieldRequirement,
  type FieldSelector,
  parseFieldSelector,
} from "#api/selectors/field-selector.ts";
import type { Fields } from "#api/validation/fields.ts";
import { items, maybe, text, texts } from "#api/validation/fields.ts";

const operators: ReadonlyMap<string, FieldRequirement["operator"]> = new Map([
  ["In", "="],
  ["NotIn", "!="],
]);

export function reviewSelector(resourceAttributes: Fields): FieldSelector | undefined {
  const given = maybe(resourceAttributes, "fieldSelector");
  if (given === undefined) return undefined;
  const requirements = items(given, "requirements").flatMap(requirementOf);
  if (requirements.length > 0) return { requirements };
  return parsed(text(given, "rawSelector"));
}

function requirementOf(given: Fields): readonly FieldRequirement[] {
  const operator = operators.get(text(given, "operator"));
  const [value, ...more] = texts(given, "values");
  if (operator === undefined || value === undefined || more.length > 0) return [];
  return [{ field: text(given, "key"), operator, value }];
}

function parsed(raw: string): FieldSelector | undefined {
  if (raw === "") return undefined;
  try {
    return parseFieldSelector(raw);
  } catch {
    return undefined;
  }
}
