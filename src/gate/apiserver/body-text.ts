/** Text of a body to plain data, bounded, with repeated fields found. */
import { objectLimits } from "#api/json/object-limits.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import { decodeUtf8, jsonFault, parseJson, parseJsonNotingDuplicates } from "#wire/json.ts";
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
  /** Of a patch: findings about itself, told before those of the object. */
  readonly patchFindings?: readonly string[];
  /** A number that nothing can hold: `1e400`. The document is refused, at the latest once its kind is checked. */
  readonly overflow?: string;
}

/** A decoded document; from direct callers without any repeats. */
export interface Document extends Repeats {
  readonly value: unknown;
  /** What it was read from, for messages that show it. */
  readonly source?: Uint8Array;
}

/** Uses of YAML anchors; values and texts are bounded besides. */
const aliasMax = 10_000;

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
  const parsed = noting ? parseJsonNotingDuplicates(text, limits) : parseJson(text, limits);
  if (parsed.kind !== "error" || isAscii(text)) return parsed;
  // A text that nests too deep is not scanned.
  const fault = parsed.message === tooDeep ? undefined : jsonFault(bytes);
  return fault === undefined ? parsed : { kind: "error", message: fault };
}

const tooDeep = "exceeded max depth";

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}
