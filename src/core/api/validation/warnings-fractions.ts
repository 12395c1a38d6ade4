/** Warnings about fractional amounts of bytes. */
import { isFractionalBytes } from "./resources.ts";
import type { Fields } from "./fields.ts";
import { part, text } from "./fields.ts";
import { child, key } from "./errors.ts";

const byteResources = ["memory", "ephemeral-storage"];

/** Warns about a map of amounts, or about its maps of these names: by resource first, as upstream. */
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

/** Warnings about the spec of a volume claim. */
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
