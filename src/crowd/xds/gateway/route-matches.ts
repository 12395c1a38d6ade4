/**
 * Matches of rules, and their rank: which of two that fit a request counts.
 *
 * After  Gateway API v1, HTTPRouteRule.matches: exact path, longest prefix, method, most headers, most query
 *        parameters; GRPCRouteRule.matches: longest service, longest method, most headers. Regular expressions
 *        stand between exact paths and prefixes, which the API leaves to us.
 */
import { patternSteps } from "#base/pattern-steps.ts";
import { compilePattern } from "#api/structural/patterns.ts";
import type { RouteMatch, TextMatch } from "../route-messages.ts";
import { fields, type Fields, list, text } from "./fields.ts";

export interface RankedMatch {
  /** `elements`: the path itself and all paths below it. */
  readonly path: { readonly kind: "exact" | "elements" | "regex"; readonly text: string };
  /** Method; "" for any. */
  readonly method: string;
  readonly headers: readonly TextMatch[];
  readonly queries: readonly TextMatch[];
  /** Precedence: the first number that differs decides, and the larger wins. */
  readonly rank: readonly number[];
}

/** Thrown for a rule that a proxy would refuse or might interpret differently. */
export class MatchError extends Error {
  override readonly name = "MatchError";
}

const pathLengthMax = 1024;
const textLengthMax = 4096;
const nameLengthMax = 256;
const namedMax = 32;
const regexLengthMax = 1024;
/** Envoy's default of `re2.max_program_size.error_level`. */
const regexProgramMax = 100;
/** Envoy matches bytes, so only these characters have the same meaning everywhere. */
const ascii = /^[\x20-\x7e]*$/;
const methods: ReadonlySet<string> = new Set(
  "GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH".split(" "),
);
/** A token of RFC 9110. */
const token = /^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/;
/** A valid path of a request: no space, control character, query or fragment. */
const plainPath = /^\/[!-~\u0080-\uffff]*$/;

export function readHttpMatch(match: Fields): RankedMatch {
  const path = readHttpPath(fields(match["path"]));
  const method = text(match["method"]);
  if (method !== "" && !methods.has(method)) throw new MatchError("a method is not valid");
  const headers = readNamed(match["headers"], (name) => readToken(name));
  const queries = readNamed(match["queryParams"], readQueryName);
  const kind = { exact: 3, regex: 2, elements: 1 }[path.kind];
  const isMethod = method === "" ? 0 : 1;
  const rank = [kind, path.text.length, isMethod, headers.length, queries.length];
  return { path, method, headers, queries, rank };
}

function readHttpPath(path: Fields): RankedMatch["path"] {
  const value = path["value"] ?? "/";
  switch (path["type"] ?? "PathPrefix") {
    case "Exact":
      return { kind: "exact", text: readPath(value) };
    case "PathPrefix":
      return { kind: "elements", text: readPath(value).replace(/\/+$/, "") };
    case "RegularExpression":
      return { kind: "regex", text: readRegex(value) };
    default:
      throw new MatchError("a match of paths has an unknown type");
  }
}

export function readPath(value: unknown): string {
  const path = text(value);
  if (path.length > pathLengthMax || !plainPath.test(path) || /[?#]/.test(path)) {
    throw new MatchError("a path is not valid");
  }
  return path;
}

/** Reads a regular expression: RE2, small enough for Envoy. @throws MatchError. */
function readRegex(value: unknown): string {
  const source = text(value);
  if (source === "" || source.length > regexLengthMax) {
    throw new MatchError(`a regular expression is empty or longer than ${regexLengthMax}`);
  }
  const { pattern } = compilePattern(source);
  if (pattern === undefined) throw new MatchError("a regular expression is not RE2");
  if (!ascii.test(source) || /\\[pPX]|\\x\{/.test(source)) {
    throw new MatchError("a regular expression names more than ASCII");
  }
  const cases = source.includes("(?") ? 2 : 1;
  if (patternSteps(source, (token) => cases * programSize(token)) > regexProgramMax) {
    throw new MatchError("a regular expression is too large for proxies");
  }
  return source;
}

/** Upper bound of RE2's program size: a class has one step per range of characters, \w has four. */
function programSize(token: string): number {
  if (token.startsWith("[")) return token.length - 1;
  if (/^\\[wW]$/.test(token)) return 4;
  return token === "." || token.startsWith("\\") ? 2 : 1;
}

/** Reads a token in lower case, as names of headers are sent. @throws MatchError. */
export function readToken(value: unknown): string {
  const name = text(value);
  if (name.length > nameLengthMax || !token.test(name)) throw new MatchError("a name is not valid");
  return name.toLowerCase();
}

function readQueryName(value: unknown): string {
  const name = text(value);
  if (name === "" || name.length > nameLengthMax) throw new MatchError("a name is not valid");
  return name;
}

/** Reads matches of headers or parameters; the first one with a name is used. @throws MatchError. */
function readNamed(value: unknown, nameOf: (name: unknown) => string): readonly TextMatch[] {
  const given = list(value);
  if (given.length > namedMax) throw new MatchError(`more than ${namedMax} headers or parameters`);
  const byName = new Map<string, TextMatch>();
  for (const one of given) {
    const name = nameOf(one["name"]);
    if (!byName.has(name)) byName.set(name, readText(name, one));
  }
  return [...byName.values()];
}

function readText(name: string, match: Fields): TextMatch {
  const value = text(match["value"]);
  switch (match["type"] ?? "Exact") {
    case "Exact":
      if (value.length > textLengthMax || value.includes("\0")) {
        throw new MatchError("a value is not valid");
      }
      return { kind: "exact", name, text: value };
    case "RegularExpression":
      return { kind: "regex", name, text: readRegex(value) };
    default:
      throw new MatchError("a match has an unknown type");
  }
}

/** Name of a gRPC service or method: `package.Service`, `Method`. */
const grpcName = /^[A-Za-z_][A-Za-z0-9_.]*$/;

export function readGrpcMatch(match: Fields): RankedMatch {
  const method = fields(match["method"]);
  const [service, name] = [text(method["service"]), text(method["method"])];
  const headers = readNamed(match["headers"], (given) => readToken(given));
  const kind = service === "" && name === "" ? 1 : 3;
  const rank = [kind, service.length, name.length, headers.length];
  const path = readGrpcPath(text(method["type"], "Exact"), service, name);
  return { path, method: "", headers, queries: [], rank };
}

const anyElement = "[^/]+";

function readGrpcPath(type: string, service: string, method: string): RankedMatch["path"] {
  if (service === "" && method === "") return { kind: "elements", text: "" };
  if (type === "RegularExpression") {
    const part = (source: string): string => (source === "" ? anyElement : `(?:${source})`);
    // Checked separately: joined, they could close each other's brackets.
    for (const source of [service, method]) if (source !== "") readRegex(source);
    return { kind: "regex", text: readRegex(`/${part(service)}/${part(method)}`) };
  }
  if (type !== "Exact") throw new MatchError("a match of methods has an unknown type");
  for (const one of [service, method]) {
    if (one !== "" && (one.length > pathLengthMax || !grpcName.test(one))) {
      throw new MatchError("a service or method is not valid");
    }
  }
  if (method === "") return { kind: "elements", text: `/${service}` };
  if (service === "") return { kind: "regex", text: `/${anyElement}/${method}` };
  return { kind: "exact", text: `/${service}/${method}` };
}

/** Converts to Envoy's matches: whole elements become a path and a prefix. */
export function routeMatches({ path, method, headers, queries }: RankedMatch): RouteMatch[] {
  const ofMethod = method === "" ? [] : [{ kind: "exact", name: ":method", text: method } as const];
  const rest = { headers: [...ofMethod, ...headers], queries };
  switch (path.kind) {
    case "exact":
      return [{ kind: "path", text: path.text, ...rest }];
    case "regex":
      return [{ kind: "regex", text: path.text, ...rest }];
    case "elements": {
      const below: RouteMatch = { kind: "prefix", text: `${path.text}/`, ...rest };
      return path.text === "" ? [below] : [{ kind: "path", text: path.text, ...rest }, below];
    }
    default:
      return path.kind satisfies never;
  }
}
