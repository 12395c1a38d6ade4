/** Routes a request to the code that serves it: kinds by the catalog, verbs by name. */
import { ownEntry } from "#base/own.ts";
import { badRequest, noSuchPath, notFound } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { listMediaTypes, objectMediaTypes, requireForm } from "#forms/negotiate.ts";
import { pathSegmentProblem } from "#server/request-info.ts";
import { bindPod } from "./binding.ts";
import { serveComponents, type Component } from "./component-statuses.ts";
import { handleCreate } from "./create.ts";
import { handleDelete } from "./delete.ts";
import { handleDeleteCollection } from "./delete-collection.ts";
import type { ApiDeps } from "./deps.ts";
import { handleGet } from "./get.ts";
import type { ServedKind } from "./kind.ts";
import { handleList } from "./list.ts";
import { methodNotAllowed } from "./method.ts";
import { handlePatch, isTakenPatch } from "./patch.ts";
import { createReview, isReview } from "./reviews.ts";
import { type StoredKind, storedKind } from "./stored-kind.ts";
import { serveSubresource } from "./subresources.ts";
import { tracedAdmission, tracedStore } from "./traced.ts";
import { handleUpdate } from "./update.ts";
import { handleWatch } from "./watch.ts";

export interface RouteDeps extends ApiDeps {
  components(): readonly Component[];
}

export async function serveResource(
  deps: RouteDeps,
  context: RequestContext,
): Promise<PlainResponse> {
  const { trace } = context;
  if (trace === undefined) return routed(deps, context);
  const admission = tracedAdmission(deps.admission, trace);
  const response = await routed({ ...deps, admission }, context);
  // The span starts at the last call of store or admission.
  trace.sinceLast("Encode answer");
  return response;
}

async function routed(deps: RouteDeps, context: RequestContext): Promise<PlainResponse> {
  const { requestInfo: info } = context;
  const kind = tracedKind(deps.catalog.find(info.group, info.version, info.resource), context);
  if (kind === undefined) throw noSuchPath();
  if (kind.custom !== undefined) checkScope(context, kind);
  if (isNameOfNothing(context, kind)) throw noSuchPath();
  // Upstream's router has only GET for paths with watch.
  if (info.hasVerbInPath && context.request.method !== "GET") throw methodNotAllowed(kind);
  // Upstream has no route for HEAD, except that a proxied HEAD is passed on.
  if (context.request.method === "HEAD" && info.subresource !== "proxy")
    throw methodNotAllowed(kind);
  warnOfDeprecation(deps, context, kind);
  if (kind.store !== undefined) checkName(context);
  if (info.subresource !== "") return subresource(deps, context, kind);
  if (kind.store === undefined) return serveNonPersisted(deps, context, kind);
  return servePersisted(deps, context, storedKind(kind));
}

function tracedKind(
  kind: ServedKind | undefined,
  { trace }: RequestContext,
): ServedKind | undefined {
  if (trace === undefined || kind?.store === undefined) return kind;
  return { ...kind, store: tracedStore(kind.store, trace) };
}

/** Checks the scope again: the definition may have been deleted and recreated since the path was parsed. */
function checkScope({ place }: RequestContext, { resource }: ServedKind): void {
  const isNowhere = place.namespace === "" && place.name !== "";
  if (resource.namespaced ? isNowhere : place.namespace !== "") throw noSuchPath();
}

/** Whether the path names a review or binding. They can only be created, so upstream has no such path. */
function isNameOfNothing({ place }: RequestContext, { store, resource }: ServedKind): boolean {
  return store === undefined && place.name !== "" && resource.resource !== "componentstatuses";
}

/** Refuses an invalid name. Upstream does so where it makes the object's key. @throws ApiError 400. */
function checkName({ place }: RequestContext): void {
  const problem = pathSegmentProblem(place.name);
  if (problem === undefined) return;
  throw badRequest(`Name parameter invalid: ${JSON.stringify(place.name)}: ${problem}`);
}

/** Warnings for deprecated versions that are served by default. By key: resource of the core group. */
const deprecated: Readonly<Record<string, string>> = {
  endpoints: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  componentstatuses: "v1 ComponentStatus is deprecated in v1.19+",
};

function warnOfDeprecation({ metrics }: ApiDeps, context: RequestContext, kind: ServedKind): void {
  if (kind.custom?.warning !== undefined) {
    context.warnings.add(kind.custom.warning);
    context.audit?.annotate(deprecatedAnnotation, "true");
    metrics.deprecatedUsed(context.requestInfo);
  }
  const { group, resource } = kind.resource;
  if (group !== "" || context.requestInfo.subresource !== "") return;
  // Upstream's router refuses such a patch before it checks for deprecation.
  if (context.requestInfo.verb === "patch" && !isTakenPatch(context, kind)) return;
  const text = Object.hasOwn(deprecated, resource) ? ownEntry(deprecated, resource) : undefined;
  if (text === undefined) return;
  context.warnings.add(text);
  context.audit?.annotate(deprecatedAnnotation, "true");
  metrics.deprecatedUsed(context.requestInfo);
}

const deprecatedAnnotation = "k8s.io/deprecated";

function subresource(
  deps: ApiDeps,
  context: RequestContext,
  kind: ServedKind,
): Promise<PlainResponse> {
  const { subresource: name, verb } = context.requestInfo;
  const row = kind.resource.subresources.find((candidate) => candidate.name === name);
  if (row === undefined) {
    if (kind.custom !== undefined) throw notFound(kind.resource, context.place.name);
    throw noSuchPath();
  }
  // A proxy also passes on OPTIONS, a method without a verb.
  const isProxied = name === "proxy" && context.request.method === "OPTIONS";
  if (!isProxied && !row.verbs.some((allowed) => allowed === verb)) {
    throw methodNotAllowed(kind, kind.custom === undefined ? "" : verb);
  }
  if (!connects.has(name))
    requireRoute(context, kind, name === "log" ? logTypes : objectMediaTypes);
  return serveSubresource(deps, context, storedKind(kind));
}

/** Subresources whose answers are not negotiated. */
const connects = new Set(["attach", "exec", "portforward", "proxy"]);
const logTypes = ["text/plain", ...objectMediaTypes];

/** Negotiates before anything is read, as upstream's router, which custom resources bypass. @throws ApiError 406. */
function requireRoute(
  { request }: RequestContext,
  kind: ServedKind,
  types: readonly string[],
): void {
  if (request.peer.kind !== "direct" && kind.custom === undefined)
    requireForm(request.headers, types);
}

async function serveNonPersisted(
  deps: RouteDeps,
  context: RequestContext,
  kind: ServedKind,
): Promise<PlainResponse> {
  const { verb } = context.requestInfo;
  const { namespace } = context.place;
  // Upstream has no path for reviews and bindings across all namespaces.
  if (kind.resource.namespaced && namespace === "") throw noSuchPath();
  if (!kind.resource.verbs.some((allowed) => allowed === verb)) throw methodNotAllowed(kind);
  requireRoute(context, kind, verb === "list" ? listMediaTypes : objectMediaTypes);
  if (kind.resource.resource === "componentstatuses") {
    return serveComponents(context, kind, deps.components());
  }
  if (verb !== "create") throw methodNotAllowed(kind);
  if (isReview(kind)) return createReview(deps, context, kind);
  const pods = deps.catalog.find("", "v1", "pods");
  if (kind.resource.resource !== "bindings" || pods === undefined) throw methodNotAllowed(kind);
  return bindPod(deps, context, storedKind(pods), kind);
}

function servePersisted(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const { requestInfo: info, place } = context;
  const { verb } = info;
  const { namespace, name } = place;
  const allowed = kind.resource.verbs.some((candidate) => candidate === verb);
  if (!allowed) throw methodNotAllowed(kind);
  // Only reads work across all namespaces. For reviews and bindings see `serveNonPersisted`.
  const everywhere = kind.resource.namespaced && namespace === "";
  if (everywhere && verb !== "list" && verb !== "watch") {
    throw kind.custom === undefined ? methodNotAllowed(kind) : noSuchPath();
  }
  const isList = context.request.method === "GET" && (name === "" || info.hasVerbInPath);
  requireRoute(context, kind, isList ? listMediaTypes : objectMediaTypes);
  switch (verb) {
    case "get":
      return handleGet(context, kind);
    case "list":
      return handleList(context, kind);
    case "watch":
      return handleWatch(deps, context, kind);
    case "create":
      if (name !== "") throw methodNotAllowed(kind);
      return handleCreate(deps, context, kind);
    case "update":
      if (name === "" && kind.custom !== undefined) throw badRequest("name must be provided");
      if (name === "") throw methodNotAllowed(kind);
      return handleUpdate(deps, context, kind);
    case "patch":
      if (name === "") throw methodNotAllowed(kind);
      return handlePatch(deps, context, kind);
    case "delete":
      return handleDelete(deps, context, kind);
    case "deletecollection":
      return handleDeleteCollection(deps, context, kind);
    default:
      throw methodNotAllowed(kind);
  }
}
