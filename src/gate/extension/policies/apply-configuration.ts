/**
 * ApplyConfiguration of a mutating policy: merges the fields of an expression into the object as in server-side apply,
 * but without an owner.
 *
 * Holds  an atomic list, map or struct is never written: parts that the expression does not repeat would be lost.
 * Texts as upstream's pkg/admission/plugin/policy/mutating/patch/smd.go.
 */
import { checkValue } from "#api/apply/check.ts";
import { mergeValues } from "#api/apply/merge.ts";
import type { Shape, StructShape } from "#api/apply/shape.ts";
import { fieldShape } from "#api/apply/walk.ts";
import { cloneJson, isJsonObject, type MutableJson } from "#api/json/json-value.ts";
import type { AnyObject } from "#api/object.ts";

/** @throws Error in upstream's words. */
export function applyConfiguration(
  object: AnyObject,
  configuration: AnyObject,
  shape: StructShape,
): AnyObject {
  const { apiVersion = "", kind = "" } = object;
  const applied = cloneJson({ ...configuration, apiVersion, kind });
  const findings = checkValue(applied, shape);
  if (findings.length > 0) {
    throw new Error(
      `error applying patch: failed to convert patch object to typed object: ${list(findings)}`,
    );
  }
  const atomics = listAtomics(applied, shape, "");
  if (atomics.length > 0) {
    const paths = atomics.join(", ");
    throw new Error(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${paths}`,
    );
  }
  return mergeValues(cloneJson(object), applied, shape) as unknown as AnyObject; // an object with fields of an object
}

function list(findings: readonly string[]): string {
  return findings.length === 1 ? (findings[0] ?? "") : `errors:\n  ${findings.join("\n  ")}`;
}

/** Returns the paths of values that would be replaced as a whole. */
function listAtomics(value: MutableJson, shape: Shape, path: string): string[] {
  if (Array.isArray(value)) return listItems(value, shape, path);
  if (!isJsonObject(value)) return [];
  if (shape.kind === "leaf") return [path];
  if (shape.kind !== "struct" && shape.kind !== "map") return [];
  return Object.entries(value).flatMap(([name, member]) =>
    listAtomics(member, fieldShape(shape, name), `${path}.${name}`),
  );
}

function listItems(items: readonly MutableJson[], shape: Shape, path: string): string[] {
  if (shape.kind === "set") return [];
  if (shape.kind !== "list") return [path];
  return items.flatMap((item, at) => listAtomics(item, shape.items, `${path}[${at}]`));
}
