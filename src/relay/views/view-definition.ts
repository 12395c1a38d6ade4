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
import {
  JsonPathError,
  parseJsonPath,
  parseTemplate,
  templateProblem,
  type JsonPath,
  type JsonPathTemplate,
} from "#api/json-path/json-path.ts";
import { type LabelSelector, parseLabelSelector } from "#api/selectors/label-selector.ts";
import { checkFieldSelector } from "#api/selectors/selectable-fields.ts";
import { parseYaml, yamlLine } from "#wire/yaml.ts";
import type { MirroredKind } from "../mirror/mirrored-kind.ts";
import type { ZoneRule } from "./view.ts";
import type { FieldRule } from "./view-form.ts";

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
/** Mistakes reported with their lines; further ones are only counted. */
const problemsMax = 20;
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

type Path = readonly (string | number)[];
type Fields = Readonly<Record<string, unknown>>;

/** Reads what it can and notes what it cannot; nothing of a file with problems is used. */
class Reader {
  readonly #problems: string[] = [];
  #more = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get problems(): readonly string[] {
    return this.#more === 0 ? this.#problems : [...this.#problems, `and ${this.#more} more`];
  }

  file(value: unknown): readonly ViewDefinition[] {
    const file = this.#map(value, [], ["views"]);
    const views = file["views"];
    if (!Array.isArray(views)) {
      this.#problem(["views"], "must be a list of views");
      return [];
    }
    if (views.length > viewsMax) this.#problem(["views"], `are more than ${viewsMax}`);
    const definitions = views.map((view, at) => this.#view(view, ["views", at]));
    definitions.forEach(({ name }, at) => {
      if (definitions.findIndex((other) => other.name === name) < at) {
        this.#problem(["views", at, "name"], `${JSON.stringify(name)} stands twice`);
      }
    });
    return definitions;
  }

  #view(value: unknown, path: Path): ViewDefinition {
    const view = this.#map(value, path, known);
    const labelSelector = this.#string(view, path, "labelSelector");
    const fieldSelector = this.#string(view, path, "fieldSelector");
    return {
      name: this.#name(view, path),
      resource: this.#required(view, path, "resource"),
      namespaces: this.#namespaces(view, path),
      labelSelector,
      fieldSelector,
      labels: this.#parsed([...path, "labelSelector"], labelSelector, parseLabelSelector),
      fields: this.#parsed([...path, "fieldSelector"], fieldSelector, parseFieldSelector),
      shape: this.#shape(view, path),
      zone: this.#zone(view, path),
    };
  }

  #name(view: Fields, path: Path): string {
    const name = this.#required(view, path, "name");
    if (name !== "" && !/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(name)) {
      const text = "must be of lower case letters, digits, - and ., 63 at most";
      this.#problem([...path, "name"], text);
    }
    return name;
  }

  #namespaces(view: Fields, path: Path): readonly string[] {
    const { namespaces = [] } = view as { namespaces?: unknown };
    const isText = (name: unknown): name is string => typeof name === "string" && name !== "";
    if (Array.isArray(namespaces) && namespaces.every(isText)) return [...new Set(namespaces)];
    this.#problem([...path, "namespaces"], "must be a list of names");
    return [];
  }

  #shape(view: Fields, path: Path): ViewShape {
    const { text, fields } = view as { text?: unknown; fields?: unknown };
    if (text !== undefined && fields !== undefined) {
      this.#problem([...path, "text"], "fields and text exclude each other");
    }
    if (text !== undefined) return this.#template(text, [...path, "text"]);
    if (fields === undefined) return { kind: "objects" };
    const at = [...path, "fields"];
    const rules = Object.entries(this.#map(fields, at)).map(([name, rule]) =>
      this.#rule(name, rule, [...at, name]),
    );
    if (rules.length === 0) this.#problem(at, "must name a field");
    return { kind: "fields", rules };
  }

  /** Every row is a line, or several. */
  #template(value: unknown, path: Path): ViewShape {
    const text = typeof value === "string" ? value : "";
    if (text === "") this.#problem(path, "must be a template such as {.metadata.name}");
    const line = text.replace(/\n+$/, "");
    const template = this.#parsed(path, line, parseTemplate) ?? { actions: [] };
    const problem = templateProblem(template);
    if (problem !== undefined) this.#problem(path, problem);
    return { kind: "text", template };
  }

  #rule(name: string, value: unknown, path: Path): FieldRule {
    const all = Array.isArray(value) && value.length === 1;
    const text: unknown = all ? value[0] : value;
    return { name, path: this.#path(text, path), all };
  }

  #zone(view: Fields, path: Path): ZoneRule | undefined {
    if (view["zone"] === undefined) return undefined;
    const at = [...path, "zone"];
    const zone = this.#map(view["zone"], at, ["path", "minimum"]);
    const { minimum = 1 } = zone as { minimum?: unknown };
    if (typeof minimum !== "number" || !Number.isInteger(minimum) || minimum < 1) {
      this.#problem([...at, "minimum"], "must be a whole number from 1 on");
      return undefined;
    }
    return { path: this.#path(zone["path"], [...at, "path"]), minimum };
  }

  #path(value: unknown, path: Path): JsonPath {
    const text = typeof value === "string" ? value.trim() : "";
    const inner = /^\{([^]*)\}$/.exec(text)?.[1] ?? text;
    if (inner === "") this.#problem(path, "must be a JSONPath such as .metadata.name");
    const parsed = this.#parsed(path, inner, (inside) => {
      const problem = templateProblem(parseTemplate(`{${inside}}`));
      if (problem !== undefined) throw new JsonPathError(`${problem}: a path begins with a point`);
      return parseJsonPath(inside);
    });
    return parsed ?? { nodes: [] };
  }

  /** Undefined for "", and for what does not parse. */
  #parsed<T>(path: Path, text: string, parse: (text: string) => T): T | undefined {
    if (text === "") return undefined;
    try {
      return parse(text);
    } catch (error) {
      this.#problem(path, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  #required(map: Fields, path: Path, name: string): string {
    const text = this.#string(map, path, name);
    if (text === "" && (map[name] === undefined || map[name] === "")) {
      this.#problem([...path, name], "is required");
    }
    return text;
  }

  #string(map: Fields, path: Path, name: string): string {
    const value = map[name] ?? "";
    if (typeof value === "string") return value;
    this.#problem([...path, name], "must be a text");
    return "";
  }

  #map(value: unknown, path: Path, allowed?: readonly string[]): Fields {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.#problem(path, "must be a map");
      return {};
    }
    for (const key of Object.keys(value)) {
      if (allowed?.includes(key) === false) {
        this.#problem([...path, key], `is not known; known: ${allowed.join(", ")}`);
      }
    }
    // Checked above: a map of YAML is a record.
    return value as Fields;
  }

  #problem(path: Path, text: string): void {
    if (this.#problems.length === problemsMax) return void this.#more++;
    const field = path.reduce<string>(
      (made, part) => (typeof part === "number" ? `${made}[${part}]` : `${made}.${part}`),
      "",
    );
    const where = field === "" ? "the file" : field.slice(1);
    this.#problems.push(`line ${yamlLine(this.#text, path)}: ${where}: ${text}`);
  }
}
