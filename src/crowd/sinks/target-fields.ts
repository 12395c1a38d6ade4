/** Readers shared by the targets of a sink file: templates, URLs without credentials, optional numbers. */
import type { FieldPath, Fields, YamlFields } from "#wire/yaml-fields.ts";
import { parseRoute, type RouteTemplate } from "./route-template.ts";

const noRoute = parseRoute("", /[A-Za-z0-9_-]/);

/** Reads a route template; for `plain` and `mark` see parseRoute. */
export function readRoute(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  written: { readonly name: string; readonly plain: RegExp; readonly mark?: "%" | "_" },
): RouteTemplate {
  const { name, plain, mark } = written;
  const text = yaml.requiredText(map, path, name);
  return yaml.parsed([...path, name], text, (inner) => parseRoute(inner, plain, mark)) ?? noRoute;
}

/** Refuses credentials in a URL: settings files end up in repositories. */
export function checkUrl(
  yaml: YamlFields,
  text: string,
  schemes: readonly string[],
  path: FieldPath,
): void {
  if (text === "") return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !schemes.includes(url.protocol)) {
    yaml.problem(path, `must be a URL of ${schemes.map((scheme) => `${scheme}//`).join(" or ")}`);
  } else if (url.username !== "" || url.password !== "") {
    yaml.problem(path, "must hold no credentials: name a file that does");
  }
}

export function optionalNumber(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  name: string,
): number | undefined {
  return map[name] === undefined ? undefined : yaml.wholeNumber(map, path, name, 1);
}

export function flag(
  yaml: YamlFields,
  map: Fields,
  path: FieldPath,
  named: { readonly name: string; readonly standard: boolean },
): boolean {
  const { [named.name]: value = named.standard } = map;
  if (typeof value === "boolean") return value;
  yaml.problem([...path, named.name], "must be true or false");
  return named.standard;
}
