/**
 * Rules for items of sets and keyed lists: owned as wholes, never null, with keys that are always present.
 *
 * After  apiextensions-apiserver pkg/apis/apiextensions/validation (hasNonAtomicSetType,
 *        validateMapListKeysMapSet).
 */
import type { FieldError } from "../status.ts";
import { child, forbiddenField, key, required } from "./errors.ts";
import type { Fields } from "./fields.ts";
import { flag, has, maybe, maybeText, part, text, texts } from "./fields.ts";

/** Whether the parts of an item have separate owners. */
export function isSplit(item: Fields): boolean {
  const type = text(item, "type");
  if (type === "array") return (maybeText(item, "x-kubernetes-list-type") ?? "atomic") !== "atomic";
  return type === "object" && maybeText(item, "x-kubernetes-map-type") !== "atomic";
}

/** Items of sets and keys of keyed lists must not be nullable. */
export function keyErrors(schema: Fields, path: string): FieldError[] {
  const out: FieldError[] = [];
  const listType = maybeText(schema, "x-kubernetes-list-type");
  const below = maybe(schema, "items");
  if (below === undefined || (listType !== "set" && listType !== "map")) return out;
  const at = child(path, "items");
  if (flag(below, "nullable")) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    out.push(forbiddenField(child(at, "nullable"), detail));
  }
  if (listType === "set") return out;
  const needed = new Set(texts(below, "required"));
  for (const name of texts(schema, "x-kubernetes-list-map-keys")) {
    const property = maybe(part(below, "properties"), name);
    if (property === undefined) continue;
    const here = key(child(at, "properties"), name);
    if (!needed.has(name) && !has(property, "default")) {
      const detail =
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
      out.push(required(child(here, "default"), detail));
    }
    if (flag(property, "nullable")) {
      const detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
      out.push(forbiddenField(child(here, "nullable"), detail));
    }
  }
  return out;
}
