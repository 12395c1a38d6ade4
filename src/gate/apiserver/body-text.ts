/** Parses the text of a body into plain data, within limits, and finds repeated fields. */
import { objectLimits } from "#api/json/object-limits.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import { decodeUtf8, jsonFault, parseJson, parseJsonNotingDuplicates } from "#wire/json.ts";
import type { YamlReader, YamlReading } from "#wire/yaml-reader.ts";

export type BodyFormat = "json" | "yaml";

/** The YAML reader of bodies and the maximum size of a body. */
export interface Bodies {
  readonly bytesMax: number;
  readonly yaml: YamlReader;
}

/** Facts about a text that its parsed value does not show: repeated keys, a number out of range. */
export interface Repeats {
  readonly duplicates?: JsonScan;
  /** Repeated keys of a YAML text: `line 3: key "a" already set in map`. */
  readonly repeatedKeys?: readonly string[];
  /** Findings about a patch itself, reported before those about the object. */
  readonly patchFindings?: readonly string[];
  /** A number out of any type's range: `1e400`. The document is refused, at the latest when its kind is checked. */
  readonly overflow?: string;
}

/** A decoded document. A document of a direct caller has no repeats. */
export interface Document extends Repeats {
  readonly value: unknown;
  /** The encoded bytes, for messages that show them. */
  readonly source?: Uint8Array;
}

/** Maximum number of uses of YAML anchors; values and texts have limits of their own. */
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
  // A text that nests too deep is not scanned for the fault.
  const fault = parsed.message === tooDeep ? undefined : jsonFault(bytes);
  return fault === undefined ? parsed : { kind: "error", message: fault };
}

const tooDeep = "exceeded max depth";

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}
