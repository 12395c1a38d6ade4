/** Text of a body to plain data, bounded, with repeated fields found. */
import type { JsonScan } from "#wire/json-scan.ts";
import { decodeUtf8, parseJson, parseJsonNotingDuplicates } from "#wire/json.ts";
import type { YamlReader, YamlReading } from "#wire/yaml-reader.ts";

export type BodyFormat = "json" | "yaml";

/** How bodies are read, and what one may hold. */
export interface Bodies {
  readonly bytesMax: number;
  readonly yaml: YamlReader;
}

/** What stood twice in a text. */
export interface Repeats {
  readonly duplicates?: JsonScan;
  /** Of YAML: `line 3: key "a" already set in map`. */
  readonly repeatedKeys?: readonly string[];
}

/** A decoded document; from direct callers without any repeats. */
export interface Document extends Repeats {
  readonly value: unknown;
}

/**
 * What one object is built of, at most. Bytes alone bound nothing: 3 MiB of `[],` are a million values,
 * and each costs time in every step of a write. The largest known definitions of custom resources
 * (1 MB of schema) have some 30,000 values and 3,000 different keys. docs/contract.md.
 */
export const objectLimits = {
  /** Nesting: of what follows, patches and comparisons are recursive. Go's decoder stops at 10,000. */
  depthMax: 500,
  partsMax: 65_536,
  keysMax: 8_192,
} as const;

/** Uses of YAML anchors; more is an attack, not a manifest. */
const aliasMax = 100;

export async function parseBody(
  bytes: Uint8Array,
  format: BodyFormat,
  noting: boolean,
  bodies: Bodies,
): Promise<YamlReading> {
  const limits = { ...objectLimits, bytesMax: Math.max(bytes.length, 1) };
  if (format === "yaml") return bodies.yaml(bytes, { ...limits, aliasMax });
  const text = decodeUtf8(bytes);
  return noting ? parseJsonNotingDuplicates(text, limits) : parseJson(text, limits);
}
