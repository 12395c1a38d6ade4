/** Fields chosen out of an object by JSONPath: `{ip: .status.podIP, images: [".spec.containers[*].image"]}`. */
import {
  findValues,
  firstValue,
  type JsonPath,
  JsonPathError,
  parseJsonPath,
  parseTemplate,
  templateProblem,
} from "./json-path.ts";

/** The first value at a path, or all values at it as a list. */
export interface FieldRule {
  readonly name: string;
  readonly path: JsonPath;
  readonly all: boolean;
}

/** With or without braces around it. Throws JsonPathError. */
export function parsePath(text: string): JsonPath {
  const inner = /^\{([^]*)\}$/.exec(text)?.[1] ?? text;
  const problem = templateProblem(parseTemplate(`{${inner}}`));
  if (problem !== undefined) throw new JsonPathError(`${problem}: a path begins with a point`);
  return parseJsonPath(inner);
}

/** Maximum characters, as JSON, of all values that a path with `..` finds; such values may contain each other. */
const foundLengthMax = 4 * 2 ** 20;

/** A path without values, or with more than the bound, gives null, or an empty list. */
export function chooseFields(
  rules: readonly FieldRule[],
  object: unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    rules.map(({ name, path, all }) => [
      name,
      all ? allValues(path, object) : (firstValue(path, object) ?? null),
    ]),
  );
}

function allValues(path: JsonPath, object: unknown): readonly unknown[] {
  try {
    const values = findValues(path, object);
    return isWithinBound(path, values) ? values : [];
  } catch (error) {
    if (error instanceof JsonPathError) return [];
    throw error;
  }
}

function isWithinBound({ nodes }: JsonPath, values: readonly unknown[]): boolean {
  if (!findsWithin(nodes)) return true;
  let left = foundLengthMax;
  return values.every((value) => (left -= JSON.stringify(value).length) >= 0);
}

function findsWithin(nodes: JsonPath["nodes"]): boolean {
  return nodes.some((node) => {
    if (node.kind === "union") return node.paths.some(findsWithin);
    return node.kind === "recursive";
  });
}
