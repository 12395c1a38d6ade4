/** Names for templates: short, stable, fit for label values and object names. */
import type { PodTemplateSpec } from "#api/gen/types.ts";

/**
 * A short name for a template: FNV-1a over its canonical JSON and the collision count, in the
 * vowel-less alphabet. Any stable hash serves: equality of templates decides, not of hashes.
 */
export function templateHash(template: PodTemplateSpec, collisionCount: number): string {
  let hash = 0x811c9dc5;
  for (const char of `${canonical(template)}${collisionCount}`) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  const alphabet = "bcdfghjklmnpqrstvwxz2456789";
  return String(hash)
    .split("")
    .map((digit) => alphabet[digit.charCodeAt(0) % alphabet.length])
    .join("");
}

function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, inner]) => `${JSON.stringify(key)}:${canonical(inner)}`).join(",")}}`;
}
