/**
 * HTTPRoutes and GRPCRoutes as one shape.
 *
 * Holds  what a client could refuse is refused here, rule by rule: one route's mistake would else cost all
 *        routes of its listener. A rule with a match or filter that cannot be read is left out, and told.
 * Bounds those of the definitions, which a cluster may have changed: a route beyond them is left out whole.
 */
import type { AnyObject } from "#api/object.ts";
import type { HeaderChanges, PathChange } from "../route-messages.ts";
import { fields, type Fields, list, text, texts, whole } from "./fields.ts";
import { gatewayGroup, type Identity, identityOf, type RouteKind } from "./gateway-objects.ts";
import { hostnameOf } from "./hostnames.ts";
import { MatchError, type RankedMatch, readGrpcMatch, readHttpMatch } from "./route-matches.ts";
import { readDuration, readHeaderChanges, readPathChange } from "./route-values.ts";

export interface ParentRef {
  readonly kind: "Gateway" | "Service";
  readonly namespace: string;
  readonly name: string;
  readonly sectionName: string | undefined;
  readonly port: number | undefined;
}

interface BackendService {
  readonly namespace: string;
  readonly name: string;
  /** Whether it is a ServiceImport, which is in the route's namespace. */
  readonly isImport: boolean;
}

export interface BackendRef {
  /** Undefined: neither Service nor ServiceImport, so the backend cannot be used. */
  readonly service: BackendService | undefined;
  readonly port: number | undefined;
  readonly weight: number;
  readonly filters: readonly RouteFilter[];
}

export type RouteFilter =
  | { readonly kind: "requestHeaders" | "responseHeaders"; readonly changes: HeaderChanges }
  | { readonly kind: "rewrite"; readonly host: string; readonly path: PathChange | undefined }
  | {
      readonly kind: "redirect";
      readonly scheme: string;
      readonly host: string;
      readonly port: number;
      readonly path: PathChange | undefined;
      readonly status: number;
    }
  | { readonly kind: "mirror"; readonly backend: BackendRef; readonly millionths: number }
  /** An unsupported filter; requests must not be forwarded without its effect. */
  | { readonly kind: "unsupported" };

export interface RouteRule {
  readonly matches: readonly RankedMatch[];
  readonly backends: readonly BackendRef[];
  readonly filters: readonly RouteFilter[];
  readonly timeoutMs: number | undefined;
}

export interface RouteObject extends Identity {
  readonly kind: RouteKind;
  readonly parents: readonly ParentRef[];
  /** Hostnames of the route; empty for those of the listener. */
  readonly hostnames: readonly string[];
  readonly rules: readonly RouteRule[];
  /** Parts of the route that are not served, with the reasons. */
  readonly problems: readonly string[];
}

const rulesMax = 64;
const matchesMax = 256;
const backendsMax = 64;
const filtersMax = 32;
const parentsMax = 64;
const hostnamesMax = 64;

export function readRoute(kind: RouteKind, object: AnyObject): RouteObject {
  const identity = identityOf(object);
  const spec = fields(fields(object)["spec"]);
  const refused = (problem: string): RouteObject => {
    return { ...identity, kind, parents: [], hostnames: [], rules: [], problems: [problem] };
  };
  const rules = list(spec["rules"]);
  const matches = rules.reduce((sum, rule) => sum + Math.max(1, list(rule["matches"]).length), 0);
  const given = texts(spec["hostnames"]);
  if (rules.length > rulesMax) return refused(`more than ${rulesMax} rules`);
  if (matches > matchesMax) return refused(`more than ${matchesMax} matches`);
  if (given.length > hostnamesMax) return refused(`more than ${hostnamesMax} hostnames`);
  const hostnames = given.flatMap((hostname) => hostnameOf(hostname) ?? []);
  if (given.length > 0 && hostnames.length === 0) return refused("no hostname is valid");
  const problems: string[] = [];
  const parents = list(spec["parentRefs"]).slice(0, parentsMax);
  return {
    ...identity,
    kind,
    parents: parents.flatMap((parent) => readParent(parent, identity.namespace)),
    hostnames,
    rules: readRules(kind, rules, { namespace: identity.namespace, problems }),
    problems,
  };
}

function readParent(parent: Fields, namespace: string): readonly ParentRef[] {
  const group = text(parent["group"], gatewayGroup);
  const kind = text(parent["kind"], "Gateway");
  const isGateway = group === gatewayGroup && kind === "Gateway";
  if (!isGateway && !(group === "" && kind === "Service")) return [];
  return [
    {
      kind: isGateway ? "Gateway" : "Service",
      namespace: text(parent["namespace"], namespace),
      name: text(parent["name"]),
      sectionName: text(parent["sectionName"]) || undefined,
      port: whole(parent["port"]),
    },
  ];
}

interface ReadingRules {
  readonly namespace: string;
  readonly problems: string[];
}

/** Reads the rules. A rule without matches matches everything. Invalid rules are left out and become problems. */
function readRules(
  kind: RouteKind,
  rules: readonly Fields[],
  { namespace, problems }: ReadingRules,
): readonly RouteRule[] {
  return rules.flatMap((rule, at) => {
    try {
      return [readRule(kind, rule, namespace)];
    } catch (error) {
      if (!(error instanceof MatchError)) throw error;
      problems.push(`rule ${at}: ${error.message}`);
      return [];
    }
  });
}

function readRule(kind: RouteKind, rule: Fields, namespace: string): RouteRule {
  const given = list(rule["matches"]);
  const read = kind === "HTTPRoute" ? readHttpMatch : readGrpcMatch;
  const backends = list(rule["backendRefs"]);
  if (backends.length > backendsMax) throw new MatchError(`more than ${backendsMax} backends`);
  return {
    matches: (given.length === 0 ? [{}] : given).map(read),
    backends: backends.map((backend) => readBackend(backend, namespace)),
    filters: readFilters(rule["filters"], namespace),
    timeoutMs: readTimeout(kind, fields(rule["timeouts"])),
  };
}

/** Timeout in ms. GRPCRoutes default to none, because streams of gRPC are long. */
function readTimeout(kind: RouteKind, timeouts: Fields): number | undefined {
  const request = timeouts["request"] ?? timeouts["backendRequest"];
  if (request === undefined) return kind === "GRPCRoute" ? 0 : undefined;
  return readDuration(request);
}

function readBackend(backend: Fields, namespace: string): BackendRef {
  const weight = whole(backend["weight"] ?? 1);
  if (weight === undefined || weight > 1_000_000) throw new MatchError("a weight is not valid");
  return {
    service: readService(backend, namespace),
    port: whole(backend["port"]),
    weight,
    filters: readFilters(backend["filters"], namespace),
  };
}

function readService(backend: Fields, own: string): BackendService | undefined {
  const [group, kind] = [text(backend["group"]), text(backend["kind"], "Service")];
  const [namespace, name] = [text(backend["namespace"], own), text(backend["name"])];
  if (group === "" && kind === "Service") return { namespace, name, isImport: false };
  const isImport = group === "multicluster.x-k8s.io" && kind === "ServiceImport";
  return isImport && namespace === own ? { namespace, name, isImport } : undefined;
}

function readFilters(value: unknown, namespace: string): readonly RouteFilter[] {
  const filters = list(value);
  if (filters.length > filtersMax) throw new MatchError(`more than ${filtersMax} filters`);
  return filters.map((filter) => readFilter(filter, namespace));
}

function readFilter(filter: Fields, namespace: string): RouteFilter {
  switch (filter["type"]) {
    case "RequestHeaderModifier":
      return {
        kind: "requestHeaders",
        changes: readHeaderChanges(fields(filter["requestHeaderModifier"])),
      };
    case "ResponseHeaderModifier":
      return {
        kind: "responseHeaders",
        changes: readHeaderChanges(fields(filter["responseHeaderModifier"])),
      };
    case "RequestRedirect":
      return readRedirect(fields(filter["requestRedirect"]));
    case "URLRewrite":
      return readRewrite(fields(filter["urlRewrite"]));
    case "RequestMirror":
      return readMirror(fields(filter["requestMirror"]), namespace);
    default:
      return { kind: "unsupported" };
  }
}

function readHost(value: unknown): string {
  const host = text(value);
  if (host === "") return host;
  const read = hostnameOf(host);
  if (read === undefined || read.startsWith("*")) throw new MatchError("a hostname is not valid");
  return read;
}

const redirects: readonly unknown[] = [301, 302, 303, 307, 308];

function readRedirect(redirect: Fields): RouteFilter {
  const scheme = text(redirect["scheme"]);
  const port = whole(redirect["port"] ?? 0) ?? 65_536;
  const status = redirect["statusCode"] ?? 302;
  if (!["", "http", "https"].includes(scheme)) throw new MatchError("a scheme is not valid");
  if (port > 65_535) throw new MatchError("a port is not valid");
  if (!redirects.includes(status)) throw new MatchError("a status is no redirect");
  const host = readHost(redirect["hostname"]);
  const path = readPathChange(redirect["path"]);
  return { kind: "redirect", scheme, host, port, path, status: Number(status) };
}

function readRewrite(rewrite: Fields): RouteFilter {
  const host = readHost(rewrite["hostname"]);
  return { kind: "rewrite", host, path: readPathChange(rewrite["path"]) };
}

function readMirror(mirror: Fields, namespace: string): RouteFilter {
  const { numerator, denominator } = fields(mirror["fraction"]);
  const percent = whole(mirror["percent"] ?? 100) ?? 100;
  const share =
    numerator === undefined ? percent / 100 : Number(numerator) / Number(denominator ?? 100);
  const millionths = Math.round(share * 1e6);
  if (!(millionths >= 0 && millionths <= 1e6)) throw new MatchError("a fraction is not valid");
  return {
    kind: "mirror",
    backend: readBackend(fields(mirror["backendRef"]), namespace),
    millionths,
  };
}
