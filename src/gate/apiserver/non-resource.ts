/** Serves paths that are not resources: index, version, health, metrics, documents; 404 for all others. */
import type { PlainResponse } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import type { RequestContext } from "#server/context.ts";
import { type Health, healthResponse } from "#server/health.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { metricsPage, pageType } from "#metrics/page.ts";
import { requireGet } from "./method.ts";
import { requireForm } from "#forms/negotiate.ts";
import { bytesResponse, compressBody, objectResponse, textResponse } from "#server/respond.ts";
import type { VersionInfo } from "#server/version.ts";

/** Discovery, OpenAPI and similar documents. `serve` returns undefined for a path of another. */
export interface Documents {
  /** Paths for the index at `/`. */
  paths(): readonly string[];
  serve(context: RequestContext): PlainResponse | undefined | Promise<PlainResponse | undefined>;
}

interface NonResourceDeps {
  readonly health: Health;
  readonly metrics: MetricSet;
  /** Makes the page /metrics. Absent: the page shows `metrics`. */
  readonly metricsPage?: () => Promise<readonly Uint8Array[]>;
  /** Metrics of the health checks. */
  readonly slis: MetricSet;
  readonly version: VersionInfo;
  readonly documents: readonly Documents[];
  readonly log: Log;
}

const indented = { mediaType: "application/json", isPretty: true } as const;

export async function serveNonResource(
  deps: NonResourceDeps,
  context: RequestContext,
): Promise<PlainResponse> {
  const { request } = context;
  const path = request.path;
  const healthy = healthResponse(deps.health, path, context.query, deps.log);
  if (healthy !== undefined) return healthy;
  switch (path) {
    case "/version":
    case "/version/":
      requireGet(request);
      requireForm(request.headers, ["application/json"]);
      return objectResponse(request, 200, deps.version, indented);
    case "/metrics/slis":
      return bytesResponse(200, await metricsPage(deps.slis, () => context.pace.turn()), pageType);
    case "/metrics":
      return bytesResponse(
        200,
        await (deps.metricsPage?.() ?? metricsPage(deps.metrics, () => context.pace.turn())),
        pageType,
      );
    case "/":
    case "/index.html":
      return objectResponse(request, 200, { paths: index(deps) }, indented);
    default:
      return serveDocument(deps, context);
  }
}

async function serveDocument(
  deps: NonResourceDeps,
  context: RequestContext,
): Promise<PlainResponse> {
  for (const documents of deps.documents) {
    const response = await documents.serve(context);
    if (response !== undefined) return compressBody(context.request, response, context.holding);
  }
  return textResponse(404, "404 page not found\n");
}

function index(deps: NonResourceDeps): readonly string[] {
  const roots = ["healthz", "livez", "readyz"] as const;
  const health = roots.flatMap((root) => [
    `/${root}`,
    ...deps.health[root].map((check) => `/${root}/${check.name}`),
  ]);
  const documents = deps.documents.flatMap((source) => source.paths());
  const own = ["/metrics", "/metrics/slis", "/version"];
  return [...new Set([...documents, ...health, ...own])].sort();
}
