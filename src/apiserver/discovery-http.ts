/**
 * Discovery over HTTP: `/api`, `/apis`, `/apis/G`, `/api/v1`, `/apis/G/V`, and the aggregated form of
 * the first two. Documents are made once and kept until the catalog changes.
 */
import type { JsonObject } from "#api/object.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { negotiate, parseAccept } from "#server/negotiate.ts";
import { objectResponse } from "#server/respond.ts";
import type { ResourceCatalog } from "./catalog.ts";
import { aggregatedCoreDocument, aggregatedGroupsDocument } from "./discovery/aggregated.ts";
import {
  apiGroupDocument,
  apiGroupListDocument,
  apiResourceListDocument,
  apiVersionsDocument,
  groupsOf,
  versionsOf,
} from "./discovery/discovery.ts";
import { documentResponse } from "./document-response.ts";
import type { Documents } from "./non-resource.ts";
import { encodeJson, type EncodedDocument } from "./openapi/encoded-document.ts";

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const fresh: ReadonlySet<string> = new Set();

export class DiscoveryDocuments implements Documents {
  readonly #catalog: ResourceCatalog;
  /** By path; as many as groups and versions. */
  readonly #plain = new Map<string, JsonObject | undefined>();
  readonly #aggregated = new Map<string, EncodedDocument>();

  constructor(catalog: ResourceCatalog) {
    this.#catalog = catalog;
    catalog.onChange(() => {
      this.#plain.clear();
      this.#aggregated.clear();
    });
  }

  paths(): readonly string[] {
    const infos = this.#catalog.infos();
    const groups = groupsOf(infos).flatMap((group) => [
      `/apis/${group}`,
      ...versionsOf(infos, group).map((version) => `/apis/${group}/${version}`),
    ]);
    return ["/api", "/api/v1", "/apis", ...groups];
  }

  serve(context: RequestContext): PlainResponse | undefined {
    const { request } = context;
    const path = request.path.replace(/\/$/, "");
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    if ((path === "/api" || path === "/apis") && wantsAggregated(context)) {
      const headers = { "cache-control": "public", vary: "Accept" };
      return documentResponse(request, this.#aggregatedAt(path), aggregatedType, headers);
    }
    const document = path === "/api" ? this.#versions(context) : this.#plainAt(path);
    if (document === undefined) return undefined;
    const form = negotiate(request.headers, context.query, "none");
    return objectResponse(request, 200, document, form);
  }

  #versions(context: RequestContext): JsonObject {
    return apiVersionsDocument(this.#catalog.infos(), context.request.headers["host"] ?? "");
  }

  #plainAt(path: string): JsonObject | undefined {
    const known = this.#plain.get(path);
    if (known !== undefined) return known;
    const made = plainDocument(this.#catalog, path);
    if (made !== undefined) this.#plain.set(path, made);
    return made;
  }

  #aggregatedAt(path: "/api" | "/apis"): EncodedDocument {
    const known = this.#aggregated.get(path);
    if (known !== undefined) return known;
    const input = { resources: this.#catalog.infos(), stale: fresh };
    const make = path === "/api" ? aggregatedCoreDocument : aggregatedGroupsDocument;
    const made = encodeJson(make(input));
    this.#aggregated.set(path, made);
    return made;
  }
}

function plainDocument(catalog: ResourceCatalog, path: string): JsonObject | undefined {
  const infos = catalog.infos();
  const [prefix, second = "", third = "", ...rest] = path.split("/").slice(1);
  if (rest.length > 0) return undefined;
  if (prefix === "api")
    return third === "" ? apiResourceListDocument(infos, "", second) : undefined;
  if (prefix !== "apis") return undefined;
  if (second === "") return apiGroupListDocument(infos);
  if (third === "") return apiGroupDocument(infos, second);
  return apiResourceListDocument(infos, second, third);
}

/** The first clause this server can serve decides, as everywhere. */
function wantsAggregated(context: RequestContext): boolean {
  for (const clause of parseAccept(context.request.headers["accept"] ?? "")) {
    const { as, g, v } = clause.params as { as?: string; g?: string; v?: string };
    const json = clause.type === "application" && clause.subtype === "json";
    if (json && as === "APIGroupDiscoveryList" && g === "apidiscovery.k8s.io" && v === "v2") {
      return true;
    }
    if (as === undefined && (json || clause.type === "*")) return false;
  }
  return false;
}
