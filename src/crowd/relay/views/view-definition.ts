/**
 * Named views, declared by the operator in a file:
 *
 *   views:
 *     - name: routes                     GET /views/routes, and /views/routes/ZONE
 *       resource: v1/pods                as --resources names it; it is mirrored
 *       namespaces: [shop]               all when absent
 *       labelSelector: app=web
 *       fieldSelector: status.phase=Running
 *       text: |                          or fields: {ip: .status.podIP, images: [".spec.containers[*].image"]}
 *         {.metadata.name}: {.status.podIP};
 *       zone: {path: .metadata.labels.zone, minimum: 3}
 *
 * Holds  all mistakes are reported at once, each with its line and field; no field is ignored.
 */
import { type FieldSelector, parseFieldSelector } from "#api/selectors/field-selector.ts";
import type { FieldRule } from "#api/json-path/field-rule.ts";
import { parseTemplate, templateProblem, type JsonPathTemplate } from "#api/json-path/json-path.ts";
import { readFieldRules, readPath } from "#forms/field-rule-file.ts";
import { type LabelSelector, parseLabelSelector } from "#api/selectors/label-selector.ts";
import { checkFieldSelector } from "#api/selectors/selectable-fields.ts";
import { type FieldPath, type Fields, YamlFields } from "#wire/yaml-fields.ts";
import { parseYaml } from "#wire/yaml.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";
import type { ZoneRule } from "./view.ts";

export interface ViewDefinition {
  readonly name: string;
  /** As an operator names it: `pods`, `apps/v1/deployments`. */
  readonly resource: string;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
  readonly shape: ViewShape;
  readonly zone: ZoneRule | undefined;
}

type ViewShape =
  | { readonly kind: "objects" }
  | { readonly kind: "fields"; readonly rules: readonly FieldRule[] }
  | { readonly kind: "text"; readonly template: JsonPathTemplate };

/** Every line is a mistake: `line 4: views[0].zone.minimum: must be a whole number from 1 on`. */
export class ViewFileError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ViewFileError";
  }
}

const limits = { bytesMax: 1024 * 1024, depthMax: 32, aliasMax: 1_000 };
const viewsMax = 256;
const known = [
  "name",
  "resource",
  "namespaces",
  "labelSelector",
  "fieldSelector",
  "fields",
  "text",
  "zone",
];

/** Throws ViewFileError. */
export function parseViewFile(text: string): readonly ViewDefinition[] {
  const parsed = parseYaml(text, limits);
  if (parsed.kind !== "ok") throw new ViewFileError([parsed.message]);
  if (parsed.repeatedKeys !== undefined) throw new ViewFileError(parsed.repeatedKeys);
  const reader = new Reader(text);
  const definitions = reader.file(parsed.value);
  if (reader.problems.length > 0) throw new ViewFileError(reader.problems);
  return definitions;
}

/** The definition as this resource takes it. Throws SelectorError, ViewFileError. */
export function definitionOn(kind: MirroredKind, definition: ViewDefinition): ViewDefinition {
  const { fields, namespaces } = definition;
  if (!kind.namespaced && namespaces.length > 0) {
    throw new ViewFileError([`namespaces: ${kind.resource} have none`]);
  }
  if (fields === undefined) return definition;
  return { ...definition, fields: checkFieldSelector(kind.group, kind.resource, fields) };
}

/** Reads what it can and notes what it cannot; nothing of a file with problems is used. */
class Reader {
  readonly #yaml: YamlFields;

  constructor(text: string) {
    this.#yaml = new YamlFields(text);
  }

  get problems(): readonly string[] {
    return this.#yaml.problems;
  }

  file(value: unknown): readonly ViewDefinition[] {
    const file = this.#yaml.map(value, [], ["views"]);
    const views = file["views"];
    if (!Array.isArray(views)) {
      this.#yaml.problem(["views"], "must be a list of views");
      return [];
    }
    if (views.length > viewsMax) this.#yaml.problem(["views"], `are more than ${viewsMax}`);
    const definitions = views.map((view, at) => this.#view(view, ["views", at]));
    definitions.forEach(({ name }, at) => {
      if (definitions.findIndex((other) => other.name === name) < at) {
        this.#yaml.problem(["views", at, "name"], `${JSON.stringify(name)} stands twice`);
      }
    });
    return definitions;
  }

  #view(value: unknown, path: FieldPath): ViewDefinition {
    const yaml = this.#yaml;
    const view = yaml.map(value, path, known);
    const labelSelector = yaml.text(view, path, "labelSelector");
    const fieldSelector = yaml.text(view, path, "fieldSelector");
    return {
      name: yaml.name(view, path),
      resource: yaml.requiredText(view, path, "resource"),
      namespaces: yaml.texts(view, path, "namespaces"),
      labelSelector,
      fieldSelector,
      labels: yaml.parsed([...path, "labelSelector"], labelSelector, parseLabelSelector),
      fields: yaml.parsed([...path, "fieldSelector"], fieldSelector, parseFieldSelector),
      shape: this.#shape(view, path),
      zone: this.#zone(view, path),
    };
  }

  #shape(view: Fields, path: FieldPath): ViewShape {
    const { text, fields } = view as { text?: unknown; fields?: unknown };
    if (text !== undefined && fields !== undefined) {
      this.#yaml.problem([...path, "text"], "fields and text exclude each other");
    }
    if (text !== undefined) return this.#template(text, [...path, "text"]);
    if (fields === undefined) return { kind: "objects" };
    return { kind: "fields", rules: readFieldRules(this.#yaml, fields, [...path, "fields"]) };
  }

  /** Every row is a line, or several. */
  #template(value: unknown, path: FieldPath): ViewShape {
    const text = typeof value === "string" ? value : "";
    if (text === "") this.#yaml.problem(path, "must be a template such as {.metadata.name}");
    const line = text.replace(/\n+$/, "");
    const template = this.#yaml.parsed(path, line, parseTemplate) ?? { actions: [] };
    const problem = templateProblem(template);
    if (problem !== undefined) this.#yaml.problem(path, problem);
    return { kind: "text", template };
  }

  #zone(view: Fields, path: FieldPath): ZoneRule | undefined {
    if (view["zone"] === undefined) return undefined;
    const at = [...path, "zone"];
    const zone = this.#yaml.map(view["zone"], at, ["path", "minimum"]);
    const minimum = this.#yaml.wholeNumber(zone, at, "minimum", 1);
    return { path: readPath(this.#yaml, zone["path"], [...at, "path"]), minimum };
  }
}
