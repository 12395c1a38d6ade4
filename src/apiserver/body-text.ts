/** Text of a body to plain data, bounded, with repeated fields found. */
import type { JsonScan } from "#wire/json-scan.ts";
import { decodeUtf8, parseJson, parseJsonNotingDuplicates } from "#wire/json.ts";
import { parseYaml, type YamlResult } from "#wire/yaml.ts";

export type BodyFormat = "json" | "yaml";

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

/** Nesting a body may have; Go's decoder stops at the same depth. */
const depthMax = 10_000;
/** Uses of YAML anchors; more is an attack, not a manifest. */
const aliasMax = 100;

export function parseBody(bytes: Uint8Array, format: BodyFormat, noting: boolean): YamlResult {
  const limits = { bytesMax: Math.max(bytes.length, 1), depthMax };
  const text = decodeUtf8(bytes);
  if (format === "yaml") return parseYaml(text, { ...limits, aliasMax });
  return noting ? parseJsonNotingDuplicates(text, limits) : parseJson(text, limits);
}
