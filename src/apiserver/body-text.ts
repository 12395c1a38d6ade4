/** Text of a body to plain data, bounded, with repeated fields found. */
import { objectLimits } from "#api/object-limits.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import { decodeUtf8, parseJson, parseJsonNotingDuplicates } from "#wire/json.ts";
import type { YamlReader, YamlReading } from "#wire/yaml-reader.ts";

export type BodyFormat = "json" | "yaml";

/** How bodies are read, and what one may hold. */
export interface Bodies {
  readonly bytesMax: number;
  readonly yaml: YamlReader;
}

/** What a text had that its value does not tell: keys that stood twice, a number beyond all. */
export interface Repeats {
  readonly duplicates?: JsonScan;
  /** Of YAML: `line 3: key "a" already set in map`. */
  readonly repeatedKeys?: readonly string[];
  /** A number that nothing can hold: `1e400`. The document is refused, at the latest once its kind is checked. */
  readonly overflow?: string;
}

/** A decoded document; from direct callers without any repeats. */
export interface Document extends Repeats {
  readonly value: unknown;
  /** What it was read from, for messages that show it. */
  readonly source?: Uint8Array;
}

/** Uses of YAML anchors; more is an attack, not a manifest. */
const aliasMax = 100;

export async function parseBody(
  bytes: Uint8Array,
  format: BodyFormat,
  noting: boolean,
  bodies: Bodies,
): Promise<YamlReading> {
  const { depthMax, partsMax, keysMax } = objectLimits;
  const limits = { depthMax, partsMax, keysMax, bytesMax: Math.max(bytes.length, 1) };
  if (format === "yaml") return bodies.yaml(bytes, { ...limits, aliasMax });
  const text = decodeUtf8(bytes);
  return noting ? parseJsonNotingDuplicates(text, limits) : parseJson(text, limits);
}
