/**
 * Derives the request info: what a path and a method mean to Kubernetes, before anything is looked up.
 *
 * Rules and special cases are upstream's (apiserver pkg/endpoints/request/requestinfo.go): `/watch/` and `/proxy/`
 * prefixes, namespace sub-paths, list/watch/deletecollection instead of get/delete when there is no name, slashes
 * trimmed at both ends and kept inside, and a `fieldSelector=metadata.name=x` that gives the object name of a list or a
 * watch for authorization.
 *
 * The object that a request reaches is not determined here: the same path leads to another place for a namespaced kind
 * than for a cluster-scoped one. See place.ts.
 */
import { parseFieldSelector } from "#api/selectors/field-selector.ts";

export interface RequestInfo {
  readonly isResourceRequest: boolean;
  readonly path: string;
  /** get, list, watch, create, update, patch, delete, deletecollection, proxy; otherwise the method in lower case. */
  readonly verb: string;
  /** Whether the verb is `watch` or `proxy` because of the path, whatever the method. */
  readonly hasVerbInPath: boolean;
  /** "api", "apis", or "" for other paths. */
  readonly prefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  /** Whether the path is `namespaces/NAMESPACE/RESOURCE...`; false for `namespaces/NAME[/status|/finalize]`. */
  readonly isInNamespace: boolean;
  readonly resource: string;
  readonly subresource: string;
  /** Name from the path, or from a single-object field selector on list and watch. */
  readonly name: string;
  /** Name from the path only. */
  readonly pathName: string;
  /** Path segments from the resource on: `["pods", "x", "proxy", "a", "b"]`. */
  readonly parts: readonly string[];
}

/** A Map, because HTTP/2 lets a client send any method, even `constructor`. */
const methodVerbs = new Map([
  ["POST", "create"],
  ["GET", "get"],
  ["HEAD", "get"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);
/** Segments after namespaces/NAME that are subresources of the namespace itself. */
const namespaceSubresources = new Set(["status", "finalize"]);
/** Deprecated verb prefixes: `/api/v1/watch/pods`. */
const prefixVerbs = new Set(["watch", "proxy"]);

export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const segments = trimSlashes(path).split("/");
  const prefix = segments[0];
  if (segments.length < 3 || (prefix !== "api" && prefix !== "apis")) {
    return nonResource(method, path);
  }
  if (prefix === "apis" && segments.length < 4) return nonResource(method, path);
  const group = prefix === "api" ? "" : (segments[1] ?? "");
  const version = (prefix === "api" ? segments[1] : segments[2]) ?? "";
  const rest = segments.slice(prefix === "api" ? 2 : 3);
  const special = prefixVerbs.has(rest[0] ?? "") && rest.length > 1;
  const verb = special ? (rest[0] ?? "") : (methodVerbs.get(method) ?? "");
  // The selector is read only for a plain GET, not for the prefixed forms, as upstream.
  const selects = !special && verb === "get" ? query : undefined;
  return resourceInfo(
    { path, prefix, group, version, verb, hasVerbInPath: special },
    special ? rest.slice(1) : rest,
    selects,
  );
}

/** A loop and not a pattern: a pattern would take quadratic time on a path full of slashes. */
function trimSlashes(path: string): string {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === "/") start++;
  while (end > start && path[end - 1] === "/") end--;
  return path.slice(start, end);
}

function nonResource(method: string, path: string): RequestInfo {
  return {
    isResourceRequest: false,
    path,
    verb: method.toLowerCase(),
    hasVerbInPath: false,
    prefix: "",
    group: "",
    version: "",
    namespace: "",
    isInNamespace: false,
    resource: "",
    subresource: "",
    name: "",
    pathName: "",
    parts: [],
  };
}

interface Head {
  readonly path: string;
  readonly prefix: string;
  readonly group: string;
  readonly version: string;
  readonly verb: string;
  readonly hasVerbInPath: boolean;
}

/** `selects`: the query of a request whose field selector may name its object; undefined for others. */
function resourceInfo(
  head: Head,
  rest: readonly string[],
  selects: URLSearchParams | undefined,
): RequestInfo {
  const named = rest[0] === "namespaces" && rest.length > 1;
  const namespace = named ? (rest[1] ?? "") : "";
  const inNamespace = named && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? "");
  const parts = inNamespace ? rest.slice(2) : rest;
  const pathName = parts[1] ?? "";
  const subresource = head.verb === "proxy" ? "" : (parts[2] ?? "");
  const verb = resourceVerb(head.verb, pathName, selects);
  const selected = pathName === "" && selects !== undefined ? selectedName(selects) : "";
  return {
    ...head,
    isResourceRequest: true,
    verb,
    namespace,
    isInNamespace: inNamespace,
    resource: parts[0] ?? "",
    subresource,
    name: pathName === "" ? selected : pathName,
    pathName,
    parts,
  };
}

function resourceVerb(verb: string, name: string, selects: URLSearchParams | undefined): string {
  if (name !== "") return verb;
  if (verb === "delete") return "deletecollection";
  if (verb !== "get") return verb;
  return isTrue(selects?.get("watch")) ? "watch" : "list";
}

/**
 * The name that a field selector requires; "" when it requires none, or one that cannot be a name. It is read by the
 * parser that the list itself uses: another parser could find a name to which the list is not limited.
 */
function selectedName(query: URLSearchParams): string {
  const text = query.get("fieldSelector") ?? "";
  if (text === "" || !listOptionsParse(query)) return "";
  try {
    const { requirements } = parseFieldSelector(text);
    const pinned = requirements.find(
      (one) => one.field === "metadata.name" && one.operator === "=",
    );
    const name = pinned?.value ?? "";
    return pathSegmentProblem(name) === undefined ? name : "";
  } catch {
    return "";
  }
}

/** Whether the list options are readable. Upstream ignores the selector of unreadable ones. */
function listOptionsParse(query: URLSearchParams): boolean {
  return ["limit", "timeoutSeconds"].every((name) => /^-?\d*$/.test(query.get(name) ?? ""));
}

/** Reason why a name cannot be a path segment, in upstream's words. Undefined: it can. */
export function pathSegmentProblem(name: string): string | undefined {
  if (name === "." || name === "..") return `may not be '${name}'`;
  const wrong = ["/", "%"].find((character) => name.includes(character));
  return wrong === undefined ? undefined : `may not contain '${wrong}'`;
}

/** A boolean parameter as upstream converts it: present and neither "false" nor "0". */
export function isTrue(value: string | null | undefined): boolean {
  if (value === null || value === undefined) return false;
  return value.toLowerCase() !== "false" && value !== "0";
}

/** Whether a request has no deadline: watches, and the streams of a container. */
export function isLongRunning(info: Pick<RequestInfo, "verb" | "subresource">): boolean {
  if (info.verb === "watch" || info.verb === "proxy") return true;
  return longRunningSubresources.has(info.subresource);
}

const longRunningSubresources = new Set(["attach", "exec", "proxy", "log", "portforward"]);
