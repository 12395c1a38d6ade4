/**
 * YAML from outside, to the JSON value that sigs.k8s.io/yaml makes of it: YAML 1.1 as go-yaml v2 reads it, mistakes
 * in its words, keys made texts, the first document.
 *
 *   yaml/source.ts -> yaml/scanner.ts -> yaml/parser.ts -> yaml/compose.ts
 *   characters        tokens             nodes             a JSON value
 *
 * Holds  the value is plain JSON data nested no deeper than `depthMax`; aliases may expand it to no
 *        more than `aliasMax` uses of anchors.
 * Rules  yes/no/on/off/y/n are booleans, 0777 is octal, 1_000 is 1000, dates stay strings, `<<`
 *        merges. A key that stands twice keeps its last value and is reported by line.
 * Cost   about ten times JSON.parse; a text that is JSON already (kubectl's apply patches are) never
 *        gets here: see `parseYaml`'s first lines.
 */
import { tryJson, type JsonLimits } from "./json.ts";
import type { JsonScan } from "./json-scan.ts";
import { compose, type Composed, TooManyValues, UnsupportedValue } from "./yaml/compose.ts";
import { YamlFault } from "./yaml/cursor.ts";
import { parseTree, type YamlNode } from "./yaml/parser.ts";
import { textSource, type YamlSource } from "./yaml/source.ts";

export interface YamlLimits extends JsonLimits {
  /** Maximum uses of anchored nodes, nested uses included. */
  readonly aliasMax: number;
}

export type YamlResult =
  | {
      readonly kind: "ok";
      readonly value: unknown;
      /** For errors about the value: the position of each path among the keys, which are in order. */
      readonly duplicates?: JsonScan;
      /** `line 3: key "a" already set in map`, in the order in which the maps end. */
      readonly repeatedKeys?: readonly string[];
    }
  | { readonly kind: "error"; readonly message: string }
  | { readonly kind: "too-many"; readonly message: string };

/** Parses an operator's file, in which a second document is an error. Messages begin with `yaml: ` as upstream's. */
export function parseYaml(text: string, limits: YamlLimits): YamlResult {
  const json = parseYamlThatIsJson(text, limits);
  if (json !== undefined) return json;
  const source = textSource(text);
  const result = readDocument(source, limits, false);
  const hasMore = result.kind === "ok" && parseTree(source, limits.depthMax).hasMore;
  return hasMore ? failed("a single document is expected") : result;
}

/**
 * What JSON allows and YAML does not, or reads otherwise: escapes of `/` and of halves of a character, characters
 * that YAML has no place for or breaks lines at, a key in another line than its colon.
 */
const notAsYaml =
  /\\\/|\\u[dD][89a-fA-F]|[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\r]|"[ \t]*\n\s*:/;
/** Detects texts too long for a key, of any kind, which is cheaper than looking at keys only. */
const longText = /"(?:[^"\\]|\\.){1000}/;

/** The fast path; undefined for a text that is not JSON, or has another meaning in YAML. */
export function parseYamlThatIsJson(text: string, limits: YamlLimits): YamlResult | undefined {
  if (text.length > limits.bytesMax) {
    return failed(`the text exceeds the limit of ${limits.bytesMax}`);
  }
  if (!/^[ \n]*[{[]/.test(text) || hasTabBehind(text) || notAsYaml.test(text)) return undefined;
  const parsed = tryJson(text, limits);
  if (parsed?.kind !== "ok") return parsed;
  const isKeyLong = longText.test(text) && hasLongKey(parsed.value);
  return isKeyLong ? undefined : { ...parsed, duplicates: orderOfKeys };
}

/** Where YAML does not accept a tab as white space. */
function hasTabBehind(text: string): boolean {
  return text.includes("\t", text.trimEnd().length);
}

function hasLongKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasLongKey);
  return Object.entries(value).some(([key, member]) => key.length > 500 || hasLongKey(member));
}

/** The text of an `error converting YAML to JSON` about all repeated keys. */
export function repeatedKeysMessage(repeatedKeys: readonly string[]): string {
  return `yaml: unmarshal errors:\n${repeatedKeys.map((line) => `  ${line}`).join("\n")}`;
}

/** Texts below aliases may in sum be this many times as long as the document. */
const growthMax = 8;
const aliasedLengthMin = 64 * 1024;

/** The slow path for any text; keys are in the order of their characters. */
export function parseYamlDocument(source: YamlSource, limits: YamlLimits): YamlResult {
  return readDocument(source, limits, true);
}

function readDocument(source: YamlSource, limits: YamlLimits, areKeysSorted: boolean): YamlResult {
  try {
    const { value, repeatedKeys } = composed(source, limits, areKeysSorted);
    const repeated = repeatedKeys.length > 0 ? { repeatedKeys } : {};
    return { kind: "ok", value, duplicates: orderOfKeys, ...repeated };
  } catch (error) {
    if (error instanceof YamlFault) return failed(error.message);
    if (error instanceof UnsupportedValue) return { kind: "error", message: error.message };
    if (error instanceof TooManyValues) {
      return { kind: "too-many", message: `more than ${limits.partsMax ?? 0} values` };
    }
    throw error;
  }
}

function composed(source: YamlSource, limits: YamlLimits, areKeysSorted: boolean): Composed {
  const { depthMax, aliasMax, partsMax = Number.POSITIVE_INFINITY } = limits;
  const aliasedLengthMax = Math.max(growthMax * source.text.length, aliasedLengthMin);
  const { root } = parseTree(source, depthMax);
  return compose(root, { aliasMax, valuesMax: partsMax, aliasedLengthMax, areKeysSorted });
}

/**
 * Findings in the order of keys, whatever the order of the text: keys by their characters, elements by their index.
 * `repeated`: paths of keys that stand twice.
 */
export function orderedScan(repeated: readonly (readonly (string | number)[])[]): JsonScan {
  let ranks: readonly number[] = repeated.map((_path, at) => at);
  return {
    get duplicates() {
      return repeated.map((path, at) => ({ path, order: ranks[at] ?? 0 }));
    },
    error: undefined,
    ordersOf(paths) {
      const all = ranksOf([...repeated, ...paths]);
      ranks = all.slice(0, repeated.length);
      return all.slice(repeated.length);
    },
  };
}

/** The result for a text without repeated keys. */
export const orderOfKeys: JsonScan = orderedScan([]);

function ranksOf(paths: readonly Path[]): readonly number[] {
  const order = paths.map((_path, at) => at).sort((a, b) => comparePaths(paths[a], paths[b]));
  const ranks = paths.map(() => 0);
  for (const [rank, at] of order.entries()) ranks[at] = rank;
  return ranks;
}

type Path = readonly (string | number)[] | undefined;

function comparePaths(a: Path = [], b: Path = []): number {
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [one, other] = [a[at] ?? 0, b[at] ?? 0];
    if (one !== other) return one < other ? -1 : 1;
  }
  return a.length - b.length;
}

function failed(message: string): YamlResult {
  return { kind: "error", message: `yaml: ${message}` };
}

/** Maximum nesting of an operator's file. */
const fileDepthMax = 1000;

/** The line, from 1, of the value at `path`, or of its nearest existing parent. */
export function yamlLine(text: string, path: readonly (string | number)[]): number {
  let node = treeOf(text);
  let line = 1;
  for (const part of path) {
    const found = node === undefined ? undefined : memberOf(node, part);
    if (found === undefined) return line;
    line = found.line;
    node = found.node;
  }
  return line;
}

function treeOf(text: string): YamlNode | undefined {
  try {
    return parseTree(textSource(text), fileDepthMax).root;
  } catch (error) {
    if (error instanceof YamlFault) return undefined;
    throw error;
  }
}

/** The line of a map's key, so that a value on the next line is reported with its key. */
function memberOf(
  node: YamlNode,
  part: string | number,
): { readonly node: YamlNode; readonly line: number } | undefined {
  const at = node.kind === "alias" ? node.target : node;
  if (at.kind === "list") {
    const item = at.items[Number(part)];
    return item === undefined ? undefined : { node: item, line: item.line + 1 };
  }
  if (at.kind !== "mapping") return undefined;
  const isAsked = (key: YamlNode): boolean => key.kind === "scalar" && key.value === String(part);
  const pair = at.pairs.find(([key]) => isAsked(key));
  return pair === undefined ? undefined : { node: pair[1], line: pair[0].line + 1 };
}
