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
 *     - name: web
 *       resource: services
 *       joins: [{as: slices, resource: endpointslices, label: kubernetes.io/service-name}]
 *       text: ...                        with {.joins.slices[*]...}; format: nginx escapes what is put in
 *     - name: routes
 *       shipped: skipper-routes          instead of a resource; options: of Skipper
 *       path: /routes                    GET /routes and /routes/ZONE as well
 *       public: true                     everybody may read it: what it shows is no secret
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
import { type JoinDefinition, readJoins } from "./joined/join-definition.ts";
import { readShipped, type Shipped, shippedResources } from "./joined/shipped.ts";
import { formatters, type TextFormat, textFormats } from "./joined/text-rules.ts";
import type { ZoneRule } from "./view.ts";

export interface ViewDefinition {
  readonly name: string;
  /** Resource as an operator names it: `pods`, `apps/v1/deployments`. */
  readonly resource: string;
  /** Selected namespaces; empty: all. */
  readonly namespaces: readonly string[];
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
  readonly shape: ViewShape;
  readonly zone: ZoneRule | undefined;
  readonly joins: readonly JoinDefinition[];
  readonly format: TextFormat;
  /** Shipped view, which replaces a resource with a shape. Undefined: the view is declared in full. */
  readonly shipped: Shipped | undefined;
  /** Additional path of the view beside /views/NAME; "": none. */
  readonly path: string;
  /** Whether the view may be read without any right. */
  readonly isPublic: boolean;
}

type ViewShape =
  | { readonly kind: "objects" }
  | { readonly kind: "fields"; readonly rules: readonly FieldRule[] }
  | { readonly kind: "text"; readonly template: JsonPathTemplate };

/** Each line of the message is one problem: `line 4: views[0].zone.minimum: must be a whole number from 1 on`. */
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
  "joins",
  "format",
  "shipped",
  "options",
  "path",
  "public",
];
/** Fields of a shipped view. */
const knownShipped = ["name", "namespaces", "shipped", "options", "path", "public"];
/** Prefixes of paths that belong to the upstream or to the relay itself. */
const takenPaths =
  /^\/(?:api|apis|etag|views|relay|version|openapi|healthz|readyz|livez|metrics|logs)(?:\/|$)/;

/** Parses the operator's view file. Throws ViewFileError. */
export function parseViewFile(text: string): readonly ViewDefinition[] {
  const parsed = parseYaml(text, limits);
  if (parsed.kind !== "ok") throw new ViewFileError([parsed.message]);
  if (parsed.repeatedKeys !== undefined) throw new ViewFileError(parsed.repeatedKeys);
  const reader = new Reader(text);
  const definitions = reader.file(parsed.value);
  if (reader.problems.length > 0) throw new ViewFileError(reader.problems);
  return definitions;
}

/** Checks the definition against its resource. Throws SelectorError, ViewFileError. */
export function definitionOn(kind: MirroredKind, definition: ViewDefinition): ViewDefinition {
  const { fields, namespaces, isPublic } = definition;
  if (isPublic && isSecret(kind)) throw new ViewFileError(["public: it shows secrets"]);
  if (!kind.namespaced && namespaces.length > 0) {
    throw new ViewFileError([`namespaces: ${kind.resource} have none`]);
  }
  if (fields === undefined) return definition;
  return { ...definition, fields: checkFieldSelector(kind.group, kind.resource, fields) };
}

export function isJoined({ joins, shipped }: ViewDefinition): boolean {
  return joins.length > 0 || shipped !== undefined;
}

/** Returns the resources in the order of a view's inputs, that of the rows first; those in `optional` may be missing. */
export function resourcesOfView({ resource, joins, shipped }: ViewDefinition): {
  readonly resources: readonly string[];
  readonly optional: readonly string[];
} {
  if (shipped !== undefined) return shippedResources(shipped);
  return { resources: [resource, ...joins.map((join) => join.resource)], optional: [] };
}

/** Throws ViewFileError for a public view of Secrets. */
export function checkJoined({ isPublic }: ViewDefinition, kinds: readonly MirroredKind[]): void {
  if (isPublic && kinds.some(isSecret)) throw new ViewFileError(["public: it shows secrets"]);
}

function isSecret({ group, resource }: MirroredKind): boolean {
  return group === "" && resource === "secrets";
}

/** Reads the whole file and collects its problems; a file with problems is not used at all. */
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
    definitions.forEach(({ path }, at) => {
      if (path !== "" && definitions.findIndex((other) => other.path === path) < at) {
        this.#yaml.problem(["views", at, "path"], `${path} stands twice`);
      }
    });
    return definitions;
  }

  #view(value: unknown, path: FieldPath): ViewDefinition {
    const yaml = this.#yaml;
    const isShipped = (value as Fields | null)?.["shipped"] !== undefined;
    const view = yaml.map(value, path, isShipped ? knownShipped : known);
    const labelSelector = yaml.text(view, path, "labelSelector");
    const fieldSelector = yaml.text(view, path, "fieldSelector");
    const joins = readJoins(yaml, view, path);
    return {
      name: yaml.name(view, path),
      resource: isShipped ? "" : yaml.requiredText(view, path, "resource"),
      namespaces: yaml.texts(view, path, "namespaces"),
      labelSelector,
      fieldSelector,
      labels: yaml.parsed([...path, "labelSelector"], labelSelector, parseLabelSelector),
      fields: yaml.parsed([...path, "fieldSelector"], fieldSelector, parseFieldSelector),
      shape: this.#shape(view, path),
      zone: this.#zone(view, path),
      joins,
      format: this.#format(view, path),
      shipped: readShipped(yaml, view, path),
      path: this.#path(view, path),
      isPublic: this.#public(view, path),
    };
  }

  #format(view: Fields, path: FieldPath): TextFormat {
    const format = textFormats.find((one) => one === (view["format"] ?? "plain"));
    if (format === undefined) {
      this.#yaml.problem([...path, "format"], `must be one of ${textFormats.join(", ")}`);
    } else if (view["format"] !== undefined && view["text"] === undefined) {
      this.#yaml.problem([...path, "format"], "goes with text");
    }
    return format ?? "plain";
  }

  #path(view: Fields, path: FieldPath): string {
    const text = this.#yaml.text(view, path, "path");
    if (text === "") return "";
    if (!/^(?:\/[-A-Za-z0-9._]+){1,4}$/.test(text) || text.includes("..")) {
      this.#yaml.problem([...path, "path"], "must be a path such as /routes");
    }
    if (takenPaths.test(text)) this.#yaml.problem([...path, "path"], "is served already");
    return text;
  }

  /** Whether every client that reaches the relay may read the view; a public view of Secrets is refused once its kinds are known. */
  #public(view: Fields, path: FieldPath): boolean {
    const isPublic = view["public"] ?? false;
    if (typeof isPublic !== "boolean") {
      this.#yaml.problem([...path, "public"], "must be true or false");
    }
    return isPublic === true;
  }

  #shape(view: Fields, path: FieldPath): ViewShape {
    const { text, fields } = view as { text?: unknown; fields?: unknown };
    if (text !== undefined && fields !== undefined) {
      this.#yaml.problem([...path, "text"], "fields and text exclude each other");
    }
    if (text !== undefined) return this.#template(text, [...path, "text"]);
    if (fields === undefined) {
      if (view["joins"] === undefined) return { kind: "objects" };
      this.#yaml.problem([...path, "joins"], "go with fields or text");
      return { kind: "objects" };
    }
    return { kind: "fields", rules: readFieldRules(this.#yaml, fields, [...path, "fields"]) };
  }

  /** Reads the template of a row, which makes one or several lines. */
  #template(value: unknown, path: FieldPath): ViewShape {
    const text = typeof value === "string" ? value : "";
    if (text === "") this.#yaml.problem(path, "must be a template such as {.metadata.name}");
    const line = text.replace(/\n+$/, "");
    const template = this.#yaml.parsed(path, line, parseTemplate) ?? { actions: [] };
    const problem = templateProblem(template, { formatters });
    if (problem !== undefined) this.#yaml.problem(path, problem);
    return { kind: "text", template };
  }

  #zone(view: Fields, path: FieldPath): ZoneRule | undefined {
    if (view["zone"] === undefined) return undefined;
    const at = [...path, "zone"];
    if (view["joins"] !== undefined) this.#yaml.problem(at, "does not go with joins");
    const zone = this.#yaml.map(view["zone"], at, ["path", "minimum"]);
    const minimum = this.#yaml.wholeNumber(zone, at, "minimum", 1);
    return { path: readPath(this.#yaml, zone["path"], [...at, "path"]), minimum };
  }
}
