/** Warnings about amounts of bytes that are no integers, wherever amounts stand. */
import { isFractionalBytes } from "./resources.ts";
import type { Fields } from "./fields.ts";
import { part, text } from "./fields.ts";
import { child, key } from "./errors.ts";

const byteResources = ["memory", "ephemeral-storage"];

/** Of a map of amounts, or of the maps of these names in it: by resource first, as upstream goes. */
export function fractionWarnings(
  amounts: Fields,
  path: string,
  ...maps: readonly string[]
): readonly string[] {
  return byteResources.flatMap((resource) =>
    maps.length === 0
      ? fractionOf(amounts, resource, path)
      : maps.flatMap((map) => fractionOf(part(amounts, map), resource, child(path, map))),
  );
}

/** Of the spec of a volume claim. */
export function claimSpecWarnings(spec: Fields, path: string): readonly string[] {
  const resources = part(spec, "resources");
  return ["requests", "limits"].flatMap((map) =>
    fractionOf(part(resources, map), "storage", child(path, "resources", map)),
  );
}

function fractionOf(amounts: Fields, resource: string, path: string): readonly string[] {
  if (!isFractionalBytes(resource, amounts[resource])) return [];
  const shown = JSON.stringify(text(amounts, resource));
  return [`${key(path, resource)}: fractional byte value ${shown} is invalid, must be an integer`];
}
