/**
 * YAML from outside, to the JSON value that sigs.k8s.io/yaml makes of it: YAML 1.1 as go-yaml v2
 * reads it, keys made strings, one document.
 *
 * Holds  the value is plain JSON data nested no deeper than `depthMax`; aliases may expand it to no
 *        more than `aliasMax` uses of anchors.
 * Rules  yes/no/on/off/y/n are booleans, 0777 is octal, 1_000 is 1000, dates stay strings, `<<`
 *        merges. A key that stands twice keeps its last value and is reported by line.
 * Cost   about 50 times JSON.parse; a text that is JSON already (kubectl's apply patches are) never
 *        gets here: see `parseYaml`'s first lines.
 */
import {
  LineCounter,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  parseAllDocuments,
  visit,
  type Document,
  type Node,
  type Pair,
  type ScalarTag,
  type YAMLMap,
} from "yaml";
import { exactInteger } from "#base/exact-json.ts";
import { tryJson, type JsonLimits } from "./json.ts";
import type { JsonScan } from "./json-scan.ts";

export interface YamlLimits extends JsonLimits {
  /** How often anchored nodes may be used again, counting nested uses. */
  readonly aliasMax: number;
}

export type YamlResult =
  | {
      readonly kind: "ok";
      readonly value: unknown;
      /** The text was JSON, and a key stands twice in one object. */
      readonly duplicates?: JsonScan;
      /** The text was YAML: `line 3: key "a" already set in map`, in order of lines. */
      readonly repeatedKeys?: readonly string[];
    }
  | { readonly kind: "error"; readonly message: string }
  /** Of a text that is JSON: as of `parseJson`. */
  | { readonly kind: "too-many"; readonly message: string };

/** Messages begin with `yaml: ` as upstream's do. */
export function parseYaml(text: string, limits: YamlLimits): YamlResult {
  return parseYamlThatIsJson(text, limits) ?? parseYamlDocument(text, limits);
}

/** The fast way; undefined for a text that is no JSON: flow YAML may look like it. */
export function parseYamlThatIsJson(text: string, limits: YamlLimits): YamlResult | undefined {
  if (text.length > limits.bytesMax) {
    return failed(`the text exceeds the limit of ${limits.bytesMax}`);
  }
  return /^\s*[{[]/.test(text) ? tryJson(text, limits) : undefined;
}

/** What one `error converting YAML to JSON` says of all repeated keys. */
export function repeatedKeysMessage(repeatedKeys: readonly string[]): string {
  return `yaml: unmarshal errors:\n${repeatedKeys.map((line) => `  ${line}`).join("\n")}`;
}

/** The slow way, of any text. */
export function parseYamlDocument(text: string, limits: YamlLimits): YamlResult {
  const lines = new LineCounter();
  let documents: readonly Document.Parsed[];
  try {
    documents = [
      ...parseAllDocuments(text, {
        schema: "failsafe",
        version: "1.1",
        customTags: [...scalarTags],
        merge: true,
        uniqueKeys: false,
        prettyErrors: false,
        logLevel: "error",
        lineCounter: lines,
      }),
    ];
  } catch (error) {
    // Its parser is recursive, and stops where the host's stack ends.
    if (error instanceof RangeError) return failed("exceeded max depth");
    return failed(error instanceof Error ? error.message : String(error));
  }
  const [document] = documents;
  if (document === undefined) return { kind: "ok", value: null };
  if (documents.length > 1) return failed("expected a single document in the stream");
  return convertDocument(document, lines, limits);
}

function convertDocument(
  document: Document.Parsed,
  lines: LineCounter,
  limits: YamlLimits,
): YamlResult {
  const [fault] = document.errors;
  if (fault !== undefined) {
    return failed(`line ${lines.linePos(fault.pos[0]).line}: ${fault.message}`);
  }
  const conversion: Conversion = { document, limits, aliasUses: 0 };
  try {
    const value = convert(document.contents, conversion, 0);
    // After the conversion, which bounds the depth that this walk recurses to.
    const repeatedKeys = findRepeatedKeys(document, lines);
    return { kind: "ok", value, ...(repeatedKeys.length > 0 ? { repeatedKeys } : {}) };
  } catch (error) {
    if (error instanceof ConversionFault) return failed(error.message);
    throw error;
  }
}

class ConversionFault extends Error {}

interface Conversion {
  readonly document: Document;
  readonly limits: YamlLimits;
  aliasUses: number;
}

function convert(node: Node | null | undefined, conversion: Conversion, depth: number): unknown {
  if (depth > conversion.limits.depthMax) throw new ConversionFault("exceeded max depth");
  if (isAlias(node)) {
    if (++conversion.aliasUses > conversion.limits.aliasMax) {
      throw new ConversionFault("document contains excessive aliasing");
    }
    const target = node.resolve(conversion.document);
    if (target === undefined)
      throw new ConversionFault(`unknown anchor '${node.source}' referenced`);
    return convert(target, conversion, depth + 1);
  }
  if (isMap(node)) return convertMap(node, conversion, depth);
  if (isSeq(node)) {
    return node.items.map((item) => convert(asNode(item), conversion, depth + 1));
  }
  return isScalar(node) ? convertScalar(node.value) : null;
}

function convertScalar(value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new ConversionFault(`unsupported value: ${value}`);
  }
  return value ?? null;
}

function convertMap(map: YAMLMap, conversion: Conversion, depth: number): object {
  const fields = new Map<string, unknown>();
  const merged = new Map<string, unknown>();
  for (const pair of map.items) {
    const value = convert(asNode(pair.value), conversion, depth + 1);
    if (isMergeKey(pair)) mergeFields(merged, value);
    else fields.set(keyText(pair.key), value);
  }
  for (const [key, value] of merged) if (!fields.has(key)) fields.set(key, value);
  // fromEntries defines own properties, so `__proto__` is a key like any other.
  return Object.fromEntries(fields);
}

/** `<<` takes a map or a list of maps, the earlier of which win. */
function mergeFields(merged: Map<string, unknown>, value: unknown): void {
  for (const source of Array.isArray(value) ? value : [value]) {
    if (typeof source !== "object" || source === null || Array.isArray(source)) {
      throw new ConversionFault("map merge requires map or sequence of maps as the value");
    }
    for (const [key, member] of Object.entries(source)) {
      if (!merged.has(key)) merged.set(key, member);
    }
  }
}

function isMergeKey(pair: Pair): boolean {
  return isScalar(pair.key) && pair.key.source === "<<" && pair.key.type === "PLAIN";
}

/** JSON's keys are strings: numbers and booleans are written out, nothing else can be a key. */
function keyText(key: unknown): string {
  const value = isScalar(key) ? key.value : undefined;
  if (typeof value === "string") return value;
  if (["number", "bigint", "boolean"].includes(typeof value)) return String(value);
  throw new ConversionFault("unsupported map key: a key must be a string, a number or a boolean");
}

function findRepeatedKeys(document: Document, lines: LineCounter): readonly string[] {
  const found: { line: number; text: string }[] = [];
  visit(document, {
    Map(_key, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        const line = lines.linePos(key.range?.[0] ?? 0).line;
        if (seen.has(name)) {
          found.push({
            line,
            text: `line ${line}: key ${JSON.stringify(name)} already set in map`,
          });
        }
        seen.add(name);
      }
    },
  });
  return found.sort((a, b) => a.line - b.line).map(({ text }) => text);
}

function asNode(value: unknown): Node | null {
  // The parser puts nothing but nodes and null into its trees.
  return value as Node | null;
}

function failed(message: string): YamlResult {
  const text = message.startsWith("yaml: ") ? message : `yaml: ${message}`;
  return { kind: "error", message: text };
}

/** Plain scalars as go-yaml v2 resolves them; order matters, the first that fits wins. */
const scalarTags: readonly ScalarTag[] = [
  {
    tag: "tag:yaml.org,2002:null",
    default: true,
    test: /^(?:~|null|Null|NULL)?$/,
    resolve: () => null,
  },
  {
    tag: "tag:yaml.org,2002:bool",
    default: true,
    test: /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/,
    resolve: () => true,
  },
  {
    tag: "tag:yaml.org,2002:bool",
    default: true,
    test: /^(?:n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
    resolve: () => false,
  },
  {
    tag: "tag:yaml.org,2002:int",
    default: true,
    test: /^[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$/,
    resolve: integer,
  },
  {
    tag: "tag:yaml.org,2002:float",
    default: true,
    test: /^[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$/,
    resolve: (text) => Number(text.replaceAll("_", "")),
  },
  {
    tag: "tag:yaml.org,2002:float",
    default: true,
    test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
    resolve: (text) => (/nan/i.test(text) ? Number.NaN : Number.POSITIVE_INFINITY),
  },
];

/** 0b, 0x, 0o and a bare leading zero say the base; underscores say nothing. */
function integer(text: string): number | bigint {
  const plain = text.replaceAll("_", "");
  const negative = plain.startsWith("-");
  const digits = plain.replace(/^[-+]/, "");
  const literal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const value = literal.length < exactDigitsMax ? Number(literal) : longInteger(literal);
  return negative ? -value : value;
}

/** Shorter texts are below 2^53 in every base. */
const exactDigitsMax = 16;
/** Of an integer of 64 bits in base 2; what is longer is rounded in one step. */
const longDigitsMax = 66;

function longInteger(literal: string): number | bigint {
  if (literal.length > longDigitsMax) return Number(literal);
  const value = BigInt(literal);
  return value <= int64Max ? exactInteger(value) : Number(value);
}

const int64Max = 2n ** 63n - 1n;

/** The line, from 1, where the value at `path` begins; of its nearest parent that is there. */
export function yamlLine(text: string, path: readonly (string | number)[]): number {
  const lines = new LineCounter();
  const document = parseAllDocuments(text, { lineCounter: lines, version: "1.1" })[0];
  for (let length = path.length; document !== undefined && length > 0; length--) {
    const node = keyOrItem(document as Document, path, length);
    if (node?.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

/** A map's key, so that a value on the next line is reported with its key's line. */
function keyOrItem(
  document: Document,
  path: readonly (string | number)[],
  length: number,
): Node | undefined {
  const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
  const last = path[length - 1];
  if (isSeq(parent)) return asItem(parent.items[Number(last)]);
  if (!isMap(parent)) return undefined;
  const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(last));
  return asItem(pair?.key);
}

function asItem(value: unknown): Node | undefined {
  return isNode(value) ? value : undefined;
}
