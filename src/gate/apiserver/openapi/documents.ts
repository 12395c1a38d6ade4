/**
 * OpenAPI documents: pure functions of an ApiSurface. Nothing is kept here; `openapi.ts` caches.
 *
 * Version 3 is one document per group-version (and one for each discovery level), version 2 is
 * one document for all. Each carries exactly the definitions its operations lead to.
 */
import {
  type JsonObject,
  type JsonValue,
  apiVersionOf,
  type GroupVersionKind,
} from "#api/object.ts";
import { schemaOfKind } from "#api/schema/schema.ts";
import type { Steps } from "#base/steps.ts";
import { builtinDefinition, type OpenApiVersion } from "./definitions.ts";
import {
  groupPath,
  groupVersionPath,
  groupsPath,
  issuerPath,
  keysPath,
  versionPath,
} from "./discovery-paths.ts";
import type { ApiSurface, CustomDefinition, PathModel } from "./model.ts";
import { resourcePaths, type KindNames } from "./operations.ts";
import { renderPath, sortedPaths } from "./render.ts";

/** Sorted names of all version 3 documents: `api/v1`, `apis/apps/v1`, `apis/apps`, `version` ... */
export function openapiV3Names(surface: ApiSurface): readonly string[] {
  return [...pathsByDocument(surface).keys()].sort();
}

export function hasOpenapiV3(surface: ApiSurface, name: string): boolean {
  return pathsByDocument(surface).has(name);
}

/** Makes a document, one step per path and definition. @returns undefined for a name not in `openapiV3Names`. */
export function* openapiV3Steps(surface: ApiSurface, name: string): Steps<JsonObject | undefined> {
  const document = pathsByDocument(surface).get(name);
  if (document === undefined) return undefined;
  const { isCustom } = document;
  const paths = document.make();
  yield;
  const rendered = yield* pathSteps(paths, "v3");
  const schemas = yield* definitionSteps(rendered, surface, "v3");
  return {
    openapi: "3.0.0",
    info: isCustom ? customInfo : { title: "Kubernetes", version: surface.version },
    paths: rendered,
    components: {
      ...(Object.keys(schemas).length === 0 ? {} : { schemas }),
      ...(isCustom ? {} : { securitySchemes: { BearerToken: bearerToken } }),
    },
  };
}

/** Makes the version 2 document in a few thousand steps. */
export function* openapiV2Steps(surface: ApiSurface): Steps<JsonObject> {
  const paths: PathModel[] = [];
  for (const { make } of pathsByDocument(surface).values()) {
    paths.push(...make());
    yield;
  }
  const rendered = yield* pathSteps(paths, "v2");
  const definitions = yield* definitionSteps(rendered, surface, "v2");
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: surface.version },
    paths: rendered,
    definitions,
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  };
}

function* pathSteps(paths: readonly PathModel[], version: OpenApiVersion): Steps<JsonObject> {
  const rendered: { [path: string]: JsonValue } = {};
  for (const path of sortedPaths(paths)) {
    // own keys: paths begin with a slash.
    rendered[path.path] = renderPath(path, version);
    yield;
  }
  return rendered;
}

const bearerToken = {
  description: "Bearer Token authentication",
  in: "header",
  name: "authorization",
  type: "apiKey",
};

/** Upstream's info of the document of a group-version of custom resources. */
const customInfo = { title: "Kubernetes CRD Swagger", version: "v0.1.0" };

interface DocumentPaths {
  /** Makes the paths on demand, so that a request for one document does not pay for the others. */
  readonly make: () => readonly PathModel[];
  /** Whether it has custom resources only; upstream publishes no discovery paths of those. */
  readonly isCustom: boolean;
}

/** Paths by document, made once per surface: a thousand definitions have thousands of them. */
const documentPaths = new WeakMap<ApiSurface, ReadonlyMap<string, DocumentPaths>>();

function pathsByDocument(surface: ApiSurface): ReadonlyMap<string, DocumentPaths> {
  const known = documentPaths.get(surface);
  if (known !== undefined) return known;
  const made = makePathsByDocument(surface);
  documentPaths.set(surface, made);
  return made;
}

function makePathsByDocument(surface: ApiSurface): ReadonlyMap<string, DocumentPaths> {
  const names = kindNames(surface.custom);
  const byVersion = Map.groupBy(surface.resources, (r) => documentName(apiVersionOf(r), r.group));
  const single = (path: PathModel): DocumentPaths => ({ make: () => [path], isCustom: false });
  const documents = new Map<string, DocumentPaths>([
    ["apis", single(groupsPath)],
    ["version", single(versionPath)],
    [".well-known/openid-configuration", single(issuerPath)],
    ["openid/v1/jwks", single(keysPath)],
  ]);
  for (const [name, resources] of byVersion) {
    const [first] = resources;
    if (first === undefined) continue;
    const { group } = first;
    const isCustom = resources.every((resource) => resource.isCustom === true);
    if (!isCustom) documents.set(group === "" ? "api" : `apis/${group}`, single(groupPath(group)));
    const make = (): readonly PathModel[] => [
      ...(isCustom ? [] : [groupVersionPath(first)]),
      ...resources.flatMap((resource) => resourcePaths(resource, names)),
    ];
    documents.set(name, { make, isCustom });
  }
  return documents;
}

function documentName(apiVersion: string, group: string): string {
  return `${group === "" ? "api" : "apis"}/${apiVersion}`;
}

function kindNames(custom: readonly CustomDefinition[]): KindNames {
  const byKind = new Map<string, string>();
  for (const definition of custom) {
    for (const gvk of definition.kinds) byKind.set(kindKey(gvk), definition.name);
  }
  const customNames = new Set(custom.map((definition) => definition.name));
  return {
    definitionOf: (gvk) => byKind.get(kindKey(gvk)) ?? schemaOfKind(gvk)?.name,
    isCustom: (definition) => customNames.has(definition),
  };
}

function kindKey({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

const byName = new WeakMap<ApiSurface, ReadonlyMap<string, CustomDefinition>>();

function customByName(surface: ApiSurface): ReadonlyMap<string, CustomDefinition> {
  const known = byName.get(surface);
  if (known !== undefined) return known;
  const made = new Map(surface.custom.map((definition) => [definition.name, definition]));
  byName.set(surface, made);
  return made;
}

/** All definitions that the paths refer to, directly or not, sorted by name. */
function* definitionSteps(
  paths: JsonObject,
  surface: ApiSurface,
  version: OpenApiVersion,
): Steps<JsonObject> {
  const custom = customByName(surface);
  const found = new Map<string, JsonObject>();
  const seen = new Set<string>();
  for (const path of Object.values(paths)) {
    visitReferences(path, (name) => seen.add(name));
    yield;
  }
  // The loop also visits names that are added to the set during the iteration.
  for (const name of seen) {
    const definition = custom.get(name)?.[version] ?? builtinDefinition(name, version);
    if (definition === undefined) continue;
    found.set(name, definition);
    visitReferences(definition, (next) => seen.add(next));
    yield;
  }
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function visitReferences(value: JsonValue | undefined, visit: (name: string) => void): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (key === "$ref" && typeof member === "string")
      visit(member.slice(member.lastIndexOf("/") + 1));
    else visitReferences(member, visit);
  }
}
