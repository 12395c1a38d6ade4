/** Rules that Skipper checks before it accepts a RouteGroup. */
import { isRecord } from "#base/is-record.ts";
import { EskipError } from "./eskip-lexer.ts";
import { parseFilters, parsePredicates } from "./eskip-parser.ts";
import { type Fields, numberAt, recordAt, recordsAt, textAt, textsAt } from "./fields.ts";
import { isAlgorithm } from "./options.ts";
import type { Call } from "./route.ts";

const backendTypes = new Set([
  "",
  "service",
  "network",
  "shunt",
  "loopback",
  "dynamic",
  "lb",
  "forward",
]);

/** Returns the problem of a RouteGroup. Undefined: it is valid. */
export function routeGroupProblem(object: unknown): string | undefined {
  if (textAt(recordAt(object, "metadata"), "name") === "") return "it has no name";
  if (!isRecord(object) || !isRecord(object["spec"])) return "it has no spec";
  const { spec } = object;
  return (
    backendsProblem(recordsAt(spec, "backends")) ??
    referencesProblem(spec) ??
    callsProblem(spec) ??
    repeated("host", textsAt(spec, "hosts"))
  );
}

function backendsProblem(backends: readonly Fields[]): string | undefined {
  if (backends.length === 0) return "it has no backend";
  const names = backends.map((backend) => textAt(backend, "name"));
  return (
    repeated("backend", names) ?? backends.map(backendProblem).find((one) => one !== undefined)
  );
}

function backendProblem(backend: Fields): string | undefined {
  const [name, type] = [textAt(backend, "name"), textAt(backend, "type")];
  const algorithm = textAt(backend, "algorithm");
  const port = numberAt(backend, "servicePort");
  const where = `backend ${name}`;
  if (name === "") return "a backend has no name";
  if (!backendTypes.has(type)) return `${where}: unknown type ${type}`;
  if (algorithm !== "" && !isAlgorithm(algorithm))
    return `${where}: unknown algorithm ${algorithm}`;
  if (type === "network") return addressProblem(where, textAt(backend, "address"));
  if (type === "lb" && textsAt(backend, "endpoints").length === 0) return `${where}: no endpoints`;
  if (type !== "" && type !== "service") return undefined;
  if (textAt(backend, "serviceName") === "") return `${where}: no service`;
  return port >= 1 && port <= 65_535 ? undefined : `${where}: port ${port}`;
}

function addressProblem(where: string, address: string): string | undefined {
  if (/^[A-Za-z][-+.A-Za-z0-9]*:\/\/[^/?#]+(?:#.*)?$/.test(address)) return undefined;
  return `${where}: its address must be scheme://host`;
}

function referencesProblem(spec: Fields): string | undefined {
  const names = new Set(recordsAt(spec, "backends").map((one) => textAt(one, "name")));
  const standard = recordsAt(spec, "defaultBackends");
  const routes = recordsAt(spec, "routes");
  if (standard.length === 0 && routes.length === 0) return "no backend is referred to";
  const problem = listProblem(standard, names);
  if (problem !== undefined) return problem;
  for (const route of routes) {
    const own = recordsAt(route, "backends");
    if (standard.length === 0 && own.length === 0) return "a route refers to no backend";
    const ownProblem = listProblem(own, names) ?? routeProblem(route);
    if (ownProblem !== undefined) return ownProblem;
  }
  return undefined;
}

function listProblem(
  references: readonly Fields[],
  names: ReadonlySet<string>,
): string | undefined {
  const named = references.map((one) => textAt(one, "backendName"));
  const unknown = named.find((name) => !names.has(name));
  if (unknown !== undefined) return `there is no backend ${unknown}`;
  if (references.some((one) => numberAt(one, "weight") < 0)) return "a weight is below 0";
  return repeated("backend reference", named);
}

function routeProblem(route: Fields): string | undefined {
  const hasBoth = textAt(route, "path") !== "" && textAt(route, "pathSubtree") !== "";
  if (hasBoth) return "path and pathSubtree in one route";
  return textsAt(route, "methods").includes("") ? "an empty method" : undefined;
}

function callsProblem(spec: Fields): string | undefined {
  for (const route of recordsAt(spec, "routes")) {
    const problem =
      singles(textsAt(route, "filters"), parseFilters) ??
      singles(textsAt(route, "predicates"), parsePredicates);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function singles(
  texts: readonly string[],
  parse: (text: string) => readonly Call[],
): string | undefined {
  try {
    const many = texts.find((text) => parse(text).length !== 1);
    return many === undefined ? undefined : `${many} is not one filter or predicate`;
  } catch (error) {
    if (error instanceof EskipError) return error.message;
    throw error;
  }
}

function repeated(what: string, names: readonly string[]): string | undefined {
  const twice = names.find((name, at) => names.indexOf(name) < at);
  return twice === undefined ? undefined : `${what} ${twice} stands twice`;
}
