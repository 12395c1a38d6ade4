/**
 * Request info: what a path and a method mean to Kubernetes, before anything is looked up.
 *
 * Rules and odd corners are upstream's (apiserver pkg/endpoints/request/requestinfo.go): `/watch/` and
 * `/proxy/` prefixes, namespace sub-paths, list/watch/deletecollection told from get/delete by the
 * absence of a name, and a `fieldSelector=metadata.name=x` that names the object for authorization.
 */
import { ownEntry } from "#base/own.ts";

export interface RequestInfo {
  readonly resourceRequest: boolean;
  readonly path: string;
  /** get, list, watch, create, update, patch, delete, deletecollection, proxy; else the method, lower case. */
  readonly verb: string;
  /** "api", "apis", or "" for other paths. */
  readonly prefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  /** From the path, or from a single-object field selector on list, watch and deletecollection. */
  readonly name: string;
  /** From the path only. */
  readonly pathName: string;
  /** Path segments from the resource on: `["pods", "x", "proxy", "a", "b"]`. */
  readonly parts: readonly string[];
}

const methodVerbs: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};
/** Segments after namespaces/NAME that are subresources of the namespace itself. */
const namespaceSubresources = new Set(["status", "finalize"]);
/** Verb prefixes of old: `/api/v1/watch/pods`. */
const prefixVerbs = new Set(["watch", "proxy"]);

export function requestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const segments = path.split("/").filter((segment) => segment !== "");
  const prefix = segments[0];
  if (segments.length < 3 || (prefix !== "api" && prefix !== "apis")) {
    return nonResource(method, path);
  }
  if (prefix === "apis" && segments.length < 4) return nonResource(method, path);
  const group = prefix === "api" ? "" : (segments[1] ?? "");
  const version = (prefix === "api" ? segments[1] : segments[2]) ?? "";
  const rest = segments.slice(prefix === "api" ? 2 : 3);
  const special = prefixVerbs.has(rest[0] ?? "") && rest.length > 1;
  const verb = special ? (rest[0] ?? "") : (ownEntry(methodVerbs, method) ?? "");
  return resourceInfo(
    { path, prefix, group, version, verb },
    special ? rest.slice(1) : rest,
    query,
  );
}

function nonResource(method: string, path: string): RequestInfo {
  return {
    resourceRequest: false,
    path,
    verb: method.toLowerCase(),
    prefix: "",
    group: "",
    version: "",
    namespace: "",
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
}

function resourceInfo(head: Head, rest: readonly string[], query: URLSearchParams): RequestInfo {
  const namespaced = rest[0] === "namespaces" && rest.length > 1;
  const namespace = namespaced ? (rest[1] ?? "") : "";
  const inner = namespaced && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? "");
  const parts = inner ? rest.slice(2) : rest;
  const pathName = parts[1] ?? "";
  const subresource = head.verb === "proxy" ? "" : (parts[2] ?? "");
  const verb = resourceVerb(head.verb, pathName, query);
  const byCollection = pathName === "" && verb !== "create";
  return {
    ...head,
    resourceRequest: true,
    verb,
    namespace,
    resource: parts[0] ?? "",
    subresource,
    name: byCollection ? selectedName(query) : pathName,
    pathName,
    parts,
  };
}

function resourceVerb(verb: string, name: string, query: URLSearchParams): string {
  if (name !== "") return verb;
  if (verb === "delete") return "deletecollection";
  if (verb !== "get") return verb;
  return isTrue(query.get("watch")) ? "watch" : "list";
}

/** The name a field selector pins, "" when it pins none or the name could not be one. */
function selectedName(query: URLSearchParams): string {
  const selector = query.get("fieldSelector");
  if (selector === null || selector === "") return "";
  for (const term of selector.split(",")) {
    const match = /^metadata\.name==?([^=!\\]*)$/.exec(term.trim());
    const name = match?.[1] ?? "";
    if (name !== "" && name !== "." && name !== ".." && !/[/%]/.test(name)) return name;
  }
  return "";
}

/** A boolean parameter as upstream converts it: present and neither "false" nor "0". */
export function isTrue(value: string | null | undefined): boolean {
  if (value === null || value === undefined) return false;
  return value.toLowerCase() !== "false" && value !== "0";
}

/** Requests without deadline: watches, and the streams of a container. */
export function isLongRunning(info: RequestInfo): boolean {
  if (info.verb === "watch" || info.verb === "proxy") return true;
  return longRunningSubresources.has(info.subresource);
}

const longRunningSubresources = new Set(["attach", "exec", "proxy", "log", "portforward"]);
