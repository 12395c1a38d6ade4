/**
 * Files of kwok's objects: several YAML documents of kinds of `kwok.x-k8s.io/v1alpha1`.
 *
 * Holds  a document that is not read as one of the kinds that are known is a problem, with its number in the file.
 */
import { isRecord } from "#base/is-record.ts";
import type { JsonObject } from "#api/object.ts";
import { parseYaml } from "#wire/yaml.ts";
import type { Stage } from "./stage.ts";
import { stagesMax } from "./stage-set.ts";
import { readStage } from "./stage-reader.ts";

const yamlLimits = { bytesMax: 2 ** 20, depthMax: 50, aliasMax: 100 };
const documentsMax = 1_000;
const apiVersion = "kwok.x-k8s.io/v1alpha1";

interface KwokDocuments {
  readonly objects: readonly JsonObject[];
  readonly problems: readonly string[];
}

export function readDocuments(text: string, kinds: readonly string[]): KwokDocuments {
  // A line of three dashes begins a document. Content of a Stage is indented, so it cannot contain such a line.
  const parts = text.split(/^---(?:[ \t].*)?$/m, documentsMax + 1);
  if (parts.length > documentsMax) {
    return { objects: [], problems: [`more than ${documentsMax} documents`] };
  }
  const objects: JsonObject[] = [];
  const problems: string[] = [];
  parts.forEach((part, at) => {
    const found = readDocument(part, kinds);
    if (typeof found === "string") problems.push(`document ${at + 1}: ${found}`);
    else if (found !== undefined) objects.push(found);
  });
  return { objects, problems };
}

/** Returns the document, or a text that describes its problem. Undefined: the document is empty. */
function readDocument(text: string, kinds: readonly string[]): JsonObject | string | undefined {
  if (text.split("\n").every((line) => /^\s*(?:#|$)/.test(line))) return undefined;
  const parsed = parseYaml(text, yamlLimits);
  if (parsed.kind !== "ok") return parsed.message;
  if (parsed.repeatedKeys !== undefined) return parsed.repeatedKeys.join(", ");
  if (parsed.value === null) return undefined;
  if (!isRecord(parsed.value)) return "must be a map";
  const object = parsed.value as JsonObject; // Parsed YAML is JSON.
  if (object["apiVersion"] !== apiVersion) return `apiVersion must be ${apiVersion}`;
  const { kind } = object;
  if (typeof kind === "string" && kinds.includes(kind)) return object;
  return `kind ${JSON.stringify(kind)} is not known; known: ${kinds.join(", ")}`;
}

/** Reads the stages among `objects`. */
export function stagesOf(objects: readonly JsonObject[]): {
  readonly stages: readonly Stage[];
  readonly problems: readonly string[];
} {
  const readings = objects.filter(({ kind }) => kind === "Stage").map(readStage);
  const stages = readings.flatMap(({ stage }) => stage ?? []);
  const problems = readings.flatMap((reading) => reading.problems);
  if (stages.length > stagesMax) problems.push(`${stages.length} stages; the most is ${stagesMax}`);
  return { stages, problems };
}
