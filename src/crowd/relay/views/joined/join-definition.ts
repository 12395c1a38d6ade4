/**
 * Joins of a view, as the operator's file declares them:
 *
 *   joins:
 *     - {as: slices, resource: endpointslices, label: kubernetes.io/service-name}   whose label is my name
 *     - {as: secrets, resource: secrets, name: ".spec.tls[*].secretName"}           that I name
 *     - {as: pods, resource: pods, owner: true}                                     that I own
 *     - {as: routes, resource: ingresses, field: ".spec.rules[*].http.paths[*].backend.service.name"}
 *     - {as: nodes, resource: nodes, from: pods, name: .spec.nodeName}              that what was joined names
 *
 * `value: PATH` takes another value of mine than my name (label, field) or uid (owner). Objects are found in the
 * namespace of the object they are looked for from, or of the cluster.
 */
import { type JsonPath } from "#api/json-path/json-path.ts";
import { readPath } from "#forms/field-rule-file.ts";
import type { FieldPath, Fields, YamlFields } from "#wire/yaml-fields.ts";

/** Property of the joined objects that is looked up. */
export type JoinBy =
  | { readonly kind: "name" }
  | { readonly kind: "label"; readonly label: string }
  | { readonly kind: "owner" }
  | { readonly kind: "field"; readonly path: JsonPath };

export interface JoinDefinition {
  /** Name of the join in paths: `joins.AS`. */
  readonly as: string;
  readonly resource: string;
  /** Name of the join whose objects it is looked up from; "": the object of the row. */
  readonly from: string;
  readonly by: JoinBy;
  /** Path in the object it is looked up from; every value there is a key. */
  readonly value: JsonPath;
}

/** Maximum number of joins; with the row's own resource they are the inputs of a view. */
const joinsMax = 7;
const known = ["as", "resource", "from", "name", "label", "field", "owner", "value"];
const ways = ["name", "label", "field", "owner"] as const;

export function readJoins(
  yaml: YamlFields,
  view: Fields,
  path: FieldPath,
): readonly JoinDefinition[] {
  const { joins } = view as { joins?: unknown };
  if (joins === undefined) return [];
  const at = [...path, "joins"];
  if (!Array.isArray(joins) || joins.length === 0 || joins.length > joinsMax) {
    yaml.problem(at, `must be a list of 1 to ${joinsMax} joins`);
    return [];
  }
  const read: JoinDefinition[] = [];
  for (const [index, join] of joins.entries()) {
    const before = read.map(({ as }) => as);
    read.push(readJoin(yaml, join, [...at, index], before));
  }
  return read;
}

function readJoin(
  yaml: YamlFields,
  value: unknown,
  path: FieldPath,
  before: readonly string[],
): JoinDefinition {
  const join = yaml.map(value, path, known);
  const as = yaml.requiredText(join, path, "as");
  if (as !== "" && !/^[A-Za-z][A-Za-z0-9]{0,62}$/.test(as)) {
    yaml.problem([...path, "as"], "must be of letters and digits");
  }
  if (before.includes(as)) yaml.problem([...path, "as"], `${JSON.stringify(as)} stands twice`);
  const from = yaml.text(join, path, "from");
  if (from !== "" && !before.includes(from)) {
    yaml.problem([...path, "from"], "must be the `as` of a join before this one");
  }
  const resource = yaml.requiredText(join, path, "resource");
  return { as, resource, from, ...readBy(yaml, join, path) };
}

function readBy(
  yaml: YamlFields,
  join: Fields,
  path: FieldPath,
): Pick<JoinDefinition, "by" | "value"> {
  const given = ways.filter((way) => join[way] !== undefined);
  const [way = "name"] = given;
  if (given.length !== 1) yaml.problem(path, `must have one of ${ways.join(", ")}`);
  const read = (name: string, standard?: string): JsonPath =>
    readPath(yaml, join[name] ?? standard, [...path, name]);
  switch (way) {
    case "name":
      if (join["value"] !== undefined) yaml.problem([...path, "value"], "does not go with name");
      return { by: { kind: "name" }, value: read("name") };
    case "label":
      return {
        by: { kind: "label", label: yaml.requiredText(join, path, "label") },
        value: read("value", ".metadata.name"),
      };
    case "field":
      return { by: { kind: "field", path: read("field") }, value: read("value", ".metadata.name") };
    case "owner":
      if (join["owner"] !== true) yaml.problem([...path, "owner"], "must be true");
      return { by: { kind: "owner" }, value: read("value", ".metadata.uid") };
    default:
      return way satisfies never;
  }
}
