/**
 * Labels of a request in metrics: upstream's verb and scope, and its kind where this server knows it.
 *
 * Bounds only requests that found a resource get resource labels, so a scanner cannot create series. A method or a path
 *        without a name in upstream is "other" or "".
 */
import { ownEntry } from "#base/own.ts";
import type { RequestInfo } from "./request-info.ts";

export const requestLabelNames = [
  "verb",
  "group",
  "version",
  "resource",
  "subresource",
  "scope",
  "component",
];

const verbNames: Readonly<Record<string, string>> = {
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  delete: "DELETE",
  deletecollection: "DELETECOLLECTION",
  proxy: "CONNECT",
};
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
/** Subresources whose requests become connections to a node. */
const connects = new Set(["attach", "exec", "portforward", "proxy"]);
/** Upstream's names of paths that are not resources. By key: the first segment. */
const paths: Readonly<Record<string, string>> = {
  healthz: "/healthz",
  livez: "/livez",
  readyz: "/readyz",
  metrics: "/metrics",
  version: "version",
  openapi: "openapi",
  api: "api",
  apis: "apis",
};

/** @param isApply whether the body is an apply configuration: such a patch is APPLY. */
export function requestVerb(info: RequestInfo, method: string, isApply: boolean): string {
  if (!info.isResourceRequest) return methods.has(method) ? method : "other";
  if (connects.has(info.subresource)) return "CONNECT";
  if (isApply && info.verb === "patch") return "APPLY";
  return ownEntry(verbNames, info.verb) ?? "other";
}

/** Labels of a request. A resource that this server does not serve is counted by its verb alone. */
export function requestLabels(info: RequestInfo, verb: string, known: boolean): readonly string[] {
  if (!info.isResourceRequest) return [verb, "", "", "", pathName(info.path), "", "apiserver"];
  if (!known) return [verb, "", "", "", "", "", "apiserver"];
  const { group, version, resource, subresource } = info;
  return [verb, group, version, resource, subresource, requestScope(info), "apiserver"];
}

function pathName(path: string): string {
  const end = path.indexOf("/", 1);
  return ownEntry(paths, path.slice(1, end < 0 ? undefined : end)) ?? "";
}

export function requestScope({
  name,
  namespace,
  verb,
}: Pick<RequestInfo, "name" | "namespace" | "verb">): string {
  if (name !== "" || verb === "create") return "resource";
  return namespace !== "" ? "namespace" : "cluster";
}
