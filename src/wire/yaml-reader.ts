/**
 * YAML bodies to the data that they stand for: short ones at once, long ones on another thread, as YAML
 * takes up to 6 µs a byte. A text that is JSON already is read as such, here.
 */
import { decodeUtf8, parseJson } from "./json.ts";
import {
  parseYaml,
  parseYamlDocument,
  parseYamlThatIsJson,
  type YamlLimits,
  type YamlResult,
} from "./yaml.ts";

export type YamlReading =
  | YamlResult
  /** It took more time or memory than a document may. */
  | { readonly kind: "exceeded" }
  /** Too many documents wait for the thread. */
  | { readonly kind: "busy" };

export type YamlReader = (bytes: Uint8Array, limits: YamlLimits) => Promise<YamlReading>;

export interface YamlInput {
  readonly text: string;
  readonly limits: YamlLimits;
}

/** A thread's output: a text that JSON.parse reads faster than a structure is cloned. */
export type YamlOutput =
  | Exclude<YamlResult, { kind: "ok" }>
  | { readonly kind: "ok"; readonly json: string; readonly repeatedKeys?: readonly string[] };

/** Another thread, as `platform/offload.ts` has them. */
export interface YamlThread {
  run(
    input: YamlInput,
  ): Promise<
    | { readonly kind: "done"; readonly output: YamlOutput }
    | { readonly kind: "exceeded" }
    | { readonly kind: "busy" }
  >;
}

/** Above it a thread pays: its way there and back takes a millisecond. */
const inlineLengthMax = 4 * 1024;

/** JSON of YAML is longer by its quotes and braces, and by what aliases repeat. */
const growthMax = 8;

/** Everything on the caller's thread: for tests, and programs that have a thread of their own. */
export const inlineYaml: YamlReader = (bytes, limits) =>
  Promise.resolve(parseYaml(decodeUtf8(bytes), limits));

export function offloadedYaml(thread: YamlThread): YamlReader {
  return async (bytes, limits) => {
    const text = decodeUtf8(bytes);
    const json = parseYamlThatIsJson(text, limits);
    if (json !== undefined) return json;
    if (text.length <= inlineLengthMax) return parseYamlDocument(text, limits);
    const result = await thread.run({ text, limits });
    return result.kind === "done" ? readingOf(result.output, limits) : result;
  };
}

function readingOf(output: YamlOutput, limits: YamlLimits): YamlReading {
  if (output.kind !== "ok") return output;
  // What aliases made of a text may be longer than it: the limit was that of the text.
  const bytesMax = Math.max(limits.bytesMax, output.json.length);
  const parsed = parseJson(output.json, { ...limits, bytesMax });
  const { repeatedKeys } = output;
  if (parsed.kind !== "ok" || repeatedKeys === undefined) return parsed;
  return { ...parsed, repeatedKeys };
}

/** What a thread makes of its input. */
export function yamlOutput({ text, limits }: YamlInput): YamlOutput {
  const result = parseYamlDocument(text, limits);
  if (result.kind !== "ok") return result;
  const { repeatedKeys } = result;
  const json = JSON.stringify(result.value);
  if (json.length > growthMax * text.length) {
    return { kind: "error", message: "yaml: document contains excessive aliasing" };
  }
  return { kind: "ok", json, ...(repeatedKeys === undefined ? {} : { repeatedKeys }) };
}
