/** Reads field rules and paths from an operator's YAML file, for views and sinks. */
import { type FieldRule, parsePath } from "#api/json-path/field-rule.ts";
import type { JsonPath } from "#api/json-path/json-path.ts";
import type { FieldPath, YamlFields } from "#wire/yaml-fields.ts";

/** `{ip: .status.podIP, images: [".spec.containers[*].image"]}`; a path in brackets yields all its values. */
export function readFieldRules(
  yaml: YamlFields,
  value: unknown,
  path: FieldPath,
): readonly FieldRule[] {
  const rules = Object.entries(yaml.map(value, path)).map(([name, rule]): FieldRule => {
    const all = Array.isArray(rule) && rule.length === 1;
    const text: unknown = all ? rule[0] : rule;
    return { name, path: readPath(yaml, text, [...path, name]), all };
  });
  if (rules.length === 0) yaml.problem(path, "must name a field");
  return rules;
}

export function readPath(yaml: YamlFields, value: unknown, path: FieldPath): JsonPath {
  const text = typeof value === "string" ? value.trim() : "";
  if (text === "" || text === "{}") {
    yaml.problem(path, "must be a JSONPath such as .metadata.name");
  }
  return yaml.parsed(path, text === "{}" ? "" : text, parsePath) ?? { nodes: [] };
}
