/**
 * Discovery over HTTP: `/api`, `/apis`, `/apis/G`, `/api/v1`, `/apis/G/V`, and the aggregated form of the first two.
 * Documents are made once and kept until the catalog changes. An aggregated document, which describes all kinds, is
 * made once for all concurrent requests, in turns of the event loop.
 */
import { blockStyleMax, bodyOf } from "#forms/body.ts";
import type { JsonObject } from "#api/object.ts";
import { noSuchPath } from "#api/status.ts";
import { concatBytes } from "#base/bytes.ts";
import { stepsInTurns } from "#base/steps.ts";
import type { PlainResponse } from "#platform/http.ts";
import { LazyProducts, Makers } from "#platform/lazy-products.ts";
import type { Pace } from "#platform/pace.ts";
import type { RequestContext } from "#server/context.ts";
import {
  clauseMatches,
  type MediaType,
  negotiate,
  objectMediaTypes,
  parseAccept,
  protobufType,
  requireForm,
} from "#forms/negotiate.ts";
import { objectResponse } from "#server/respond.ts";
import type { ResourceCatalog } from "./catalog.ts";
import { aggregatedByteSteps, type AggregatedDocument } from "./discovery/aggregated-protobuf.ts";
import { aggregatedCore } from "./discovery/aggregated.ts";
import { apiResourceListDocument, apiVersionsDocument, versionsOf } from "./discovery/discovery.ts";
import { mergedAggregated, mergedGroup, mergedGroupList } from "./discovery/merged.ts";
import { servedGroups } from "./discovery/served-groups.ts";
import type { Delegates } from "./delegates.ts";
import { documentResponse } from "./document-response.ts";
import { requireGet } from "./method.ts";
import type { Documents } from "./non-resource.ts";
import { type EncodedDocument, encodeJsonSteps } from "./openapi/encoded-document.ts";

const aggregatedParameters = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const aggregatedTypes: readonly MediaType[] = [
  "application/json",
  "application/yaml",
  protobufType,
];
const fresh: ReadonlySet<string> = new Set();
const newline = Uint8Array.of(10);
/** Number of groups encoded per turn. Most groups have a few resources, each about 10 us per form. */
const groupsPerTurn = 16;

/** Yields to the event loop between the steps of a document. */
type Turns = Pick<Pace, "turn">;

export class DiscoveryDocuments implements Documents {
  readonly #catalog: ResourceCatalog;
  readonly #delegates: Delegates;
  /** Plain documents. By path: one for each group and version. */
  readonly #plain = new Map<string, JsonObject | undefined>();
  /** Aggregated documents. By key: path and media type. */
  readonly #aggregated = new LazyProducts<EncodedDocument>(new Makers(1));
  /** Identity of the documents' sources; replaced after each change. */
  #surface = {};

  constructor(catalog: ResourceCatalog, delegates: Delegates) {
    this.#catalog = catalog;
    this.#delegates = delegates;
    const forget = (): void => {
      this.#plain.clear();
      this.#aggregated.forget();
      this.#surface = {};
    };
    catalog.onChange(forget);
    delegates.onChange(forget);
  }

  paths(): readonly string[] {
    const groups = servedGroups(this.#catalog.infos()).flatMap(({ name, versions }) =>
      name === ""
        ? []
        : [`/apis/${name}`, ...versions.map((one) => `/apis/${name}/${one.version}`)],
    );
    return ["/api", "/api/v1", "/apis", ...groups];
  }

  async serve(context: RequestContext): Promise<PlainResponse | undefined> {
    const { request } = context;
    const path = request.path.replace(/\/$/, "");
    this.#refuseUnknownVersion(path);
    if (this.#isRouted(path)) {
      requireGet(request);
      requireForm(request.headers, objectMediaTypes);
    }
    const aggregated = path === "/api" || path === "/apis" ? aggregatedForm(context) : undefined;
    if (aggregated !== undefined) {
      const headers = { "cache-control": "public", vary: "Accept" };
      const type = `${aggregated};${aggregatedParameters}`;
      const made = await this.#aggregatedAt(path, aggregated, context.pace);
      return documentResponse(request, made, type, headers);
    }
    const document = path === "/api" ? this.#versions(context) : this.#plainAt(path);
    if (document === undefined) return undefined;
    const form = negotiate(request.headers, context.query, "none");
    return objectResponse(request, 200, document, form);
  }

  /** Whether upstream's router serves the path. Groups and custom groups have handlers that take any method. */
  #isRouted(path: string): boolean {
    if (path === "/api" || path === "/api/v1") return true;
    const [, group, version] = /^\/apis\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
    return this.#catalog
      .builtins()
      .some((info) => info.group === group && info.version === version);
  }

  /** Refuses an unknown version of a served group with a Status, as upstream does for a resource. */
  #refuseUnknownVersion(path: string): void {
    const [, group, version] = /^\/(?:api|apis\/([^/]+))\/([^/]+)$/.exec(path) ?? [];
    if (version === undefined) return;
    const versions = versionsOf(this.#catalog.infos(), group ?? "");
    if (versions.length > 0 && !versions.includes(version)) throw noSuchPath();
  }

  #versions(context: RequestContext): JsonObject {
    return apiVersionsDocument(this.#catalog.infos(), context.request.headers["host"] ?? "");
  }

  #plainAt(path: string): JsonObject | undefined {
    const known = this.#plain.get(path);
    if (known !== undefined) return known;
    const made = plainDocument(this.#catalog, this.#delegates, path);
    if (made !== undefined) this.#plain.set(path, made);
    return made;
  }

  #aggregatedAt(path: string, type: MediaType, pace: Turns): Promise<EncodedDocument> {
    return this.#aggregated.get(`${path} ${type}`, {
      sources: () => [this.#surface],
      make: () => this.#makeAggregated(path, type, pace),
    });
  }

  async #makeAggregated(path: string, type: MediaType, pace: Turns): Promise<EncodedDocument> {
    const turn = (): Promise<void> => pace.turn();
    const resources = this.#catalog.infos();
    const steps =
      path === "/api"
        ? aggregatedCore({ resources, stale: fresh })
        : mergedAggregated(resources, this.#delegates.versions());
    const document = await stepsInTurns(steps, turn, groupsPerTurn);
    const inJson = await stepsInTurns(encodeJsonSteps(document), turn, groupsPerTurn);
    // All forms have the same hash, that of the JSON, as upstream.
    if (type !== protobufType) return { ...inJson, body: textOf(document, inJson.body, type) };
    const body = await stepsInTurns(aggregatedByteSteps(document), turn, groupsPerTurn);
    return { ...inJson, body };
  }
}

/** Encodes as text. YAML above a size limit is JSON (flow style); smaller YAML is encoded in one piece. */
function textOf(document: AggregatedDocument, inJson: Uint8Array, type: MediaType): Uint8Array {
  if (type === "application/yaml" && inJson.length <= blockStyleMax)
    return bodyOf(document, { mediaType: type, isPretty: false });
  return concatBytes([inJson, newline]);
}

function plainDocument(
  catalog: ResourceCatalog,
  delegates: Delegates,
  path: string,
): JsonObject | undefined {
  const infos = catalog.infos();
  const [prefix, second = "", third = "", ...rest] = path.split("/").slice(1);
  if (rest.length > 0) return undefined;
  if (prefix === "api")
    return third === "" ? apiResourceListDocument(infos, "", second) : undefined;
  if (prefix !== "apis") return undefined;
  if (second === "") return mergedGroupList(infos, delegates.versions());
  if (third === "") return mergedGroup(infos, delegates.versions(), second);
  return apiResourceListDocument(infos, second, third);
}

/** The first Accept clause that this server can serve decides. @returns undefined for the plain document. */
function aggregatedForm(context: RequestContext): MediaType | undefined {
  for (const clause of parseAccept(context.request.headers["accept"] ?? "")) {
    const { as, g, v } = clause.params as { as?: string; g?: string; v?: string };
    const type = aggregatedTypes.find((one) => clauseMatches(clause, one));
    if (type === undefined) continue;
    if (as === undefined) return undefined;
    if (as === "APIGroupDiscoveryList" && g === "apidiscovery.k8s.io" && v === "v2") return type;
  }
  return undefined;
}
