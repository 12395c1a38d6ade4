/**
 * YAML bodies to the data that they stand for: short ones at once, long ones on another thread, as YAML
 * takes up to 1 µs a byte. A text that is JSON already is read as such, here.
 */
import { parseJson } from "./json.ts";
import { yamlSource, type YamlSource } from "./yaml/source.ts";
import {
  orderOfKeys,
  parseYamlDocument,
  parseYamlThatIsJson,
  type YamlLimits,
  type YamlResult,
} from "./yaml.ts";

export type YamlReading =
  | YamlResult
  /** Parsing exceeded the time or memory allowed for a document. */
  | { readonly kind: "exceeded" }
  /** Too many documents are queued for the thread. */
  | { readonly kind: "busy" };

export type YamlReader = (bytes: Uint8Array, limits: YamlLimits) => Promise<YamlReading>;

export interface YamlInput {
  readonly source: YamlSource;
  readonly limits: YamlLimits;
}

/** A thread's output: JSON text, which JSON.parse reads faster than a structure can be cloned. */
export type YamlOutput =
  | Exclude<YamlResult, { kind: "ok" }>
  | { readonly kind: "ok"; readonly json: string; readonly repeatedKeys?: readonly string[] };

/** A thread as provided by `platform/offload.ts`. */
export interface YamlThread {
  run(
    input: YamlInput,
  ): Promise<
    | { readonly kind: "done"; readonly output: YamlOutput }
    | { readonly kind: "exceeded" }
    | { readonly kind: "busy" }
  >;
}

/** Longer documents are parsed in a thread; passing them there and back takes a millisecond. */
const inlineLengthMax = 4 * 1024;

/** A short text with aliases can contain thousands of values. */
const inlineValuesMax = 8 * 1024;

/** Parses on the caller's thread: for tests, and for programs with a thread of their own. */
export const inlineYaml: YamlReader = (bytes, limits) => {
  const source = yamlSource(bytes);
  return Promise.resolve(asJson(source, limits) ?? parseYamlDocument(source, limits));
};

export function offloadedYaml(thread: YamlThread): YamlReader {
  return async (bytes, limits) => {
    const source = yamlSource(bytes);
    const json = asJson(source, limits);
    if (json !== undefined) return json;
    if (source.text.length <= inlineLengthMax) {
      const read = parseYamlDocument(source, { ...limits, partsMax: inlineValuesMax });
      if (read.kind !== "too-many") return read;
    }
    const result = await thread.run({ source, limits });
    return result.kind === "done" ? readingOf(result.output, limits) : result;
  };
}

function asJson({ text, fault }: YamlSource, limits: YamlLimits): YamlResult | undefined {
  return fault === undefined ? parseYamlThatIsJson(text, limits) : undefined;
}

function readingOf(output: YamlOutput, limits: YamlLimits): YamlReading {
  if (output.kind !== "ok") return output;
  // Aliases may make the JSON longer than the text, to which the limit applied.
  const bytesMax = Math.max(limits.bytesMax, output.json.length);
  const parsed = parseJson(output.json, { ...limits, bytesMax });
  if (parsed.kind !== "ok") return parsed;
  const { repeatedKeys } = output;
  const read = { ...parsed, duplicates: orderOfKeys };
  return repeatedKeys === undefined ? read : { ...read, repeatedKeys };
}

/** What a thread makes of its input. */
export function yamlOutput({ source, limits }: YamlInput): YamlOutput {
  const result = parseYamlDocument(source, limits);
  if (result.kind !== "ok") return result;
  const { repeatedKeys } = result;
  const json = JSON.stringify(result.value);
  return { kind: "ok", json, ...(repeatedKeys === undefined ? {} : { repeatedKeys }) };
}
