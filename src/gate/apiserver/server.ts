/**
 * The API server: combines the rooms below into one handler of plain requests.
 *
 * Holds  every request to the registry is authorised, admitted and validated. The returned handler serves requests from
 *        sockets and from this process alike.
 * Close  `shutdown` makes /readyz fail while requests are still served; `close` ends the watches.
 */
import type { Tracer } from "#server/trace.ts";
import type { Admission } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import type { Authenticator, Authorizer, TokenAuthenticator } from "#auth/auth.ts";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import type { PlainHandler, RefusedRequest } from "#platform/http.ts";
import type { Ledger } from "#platform/ledger.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { TurnTimes } from "#platform/turn-log.ts";
import type { Registry } from "#registry/resource-store.ts";
import { type Audit, AuditTrail } from "#server/audit/trail.ts";
import { describeLedger } from "#server/charges.ts";
import { createChain } from "#server/chain.ts";
import type { Gate } from "#server/gate.ts";
import { type Health, type HealthCheck, logging, ping } from "#server/health.ts";
import { AccessMetrics } from "#server/access-metrics.ts";
import { HealthSlis } from "#server/health-slis.ts";
import { LongTurns } from "#server/long-turns.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { RequestMetrics } from "#server/metrics.ts";
import type { Reach } from "#server/place.ts";
import type { RequestInfo } from "#server/request-info.ts";
import type { VersionInfo } from "#server/version.ts";
import { selectorLimits } from "#server/kept-selectors.ts";
import { SelectorPool } from "#watch/selector-pool.ts";
import { FrameJoiner } from "#forms/watch-frames.ts";
import type { ShownFlags } from "#server/flagz.ts";
import { StreamTurns } from "#server/stream-turns.ts";
import { streamDeadlines, type WatchStream } from "#server/watch-stream.ts";
import { inlineYaml, type YamlReader } from "#wire/yaml-reader.ts";
import type { ResourceCatalog } from "./catalog.ts";
import type { Component } from "./component-statuses.ts";
import { type Delegates, delegateOf, noDelegates } from "./delegates.ts";
import type { ApiLimits, TokenMinter } from "./deps.ts";
import { DiscoveryDocuments } from "./discovery-http.ts";
import { IssuedCertificates } from "./issued-certificates.ts";
import { issuerDocuments, type IssuerFacts } from "./issuer-http.ts";
import type { Kubelets } from "./kubelet/deps.ts";
import { OpenapiHttp } from "./openapi-http.ts";
import { type Documents, serveNonResource } from "./non-resource.ts";
import { type RouteDeps, serveResource } from "./route.ts";
import { zDocuments } from "./z-documents.ts";

interface ApiServerDeps {
  readonly registry: Registry;
  /** The kinds to serve. */
  readonly catalog: ResourceCatalog;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly admission: Admission;
  readonly lookup: Lister;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Accounts for the memory of requests and answers. */
  readonly ledger: Ledger;
  /** Receives the request metrics; /metrics shows the whole set. */
  readonly metrics: MetricSet;
  /** Makes the page /metrics with the metrics of all threads. Absent: it shows `metrics`. */
  readonly metricsPage?: () => Promise<readonly Uint8Array[]>;
  readonly version: VersionInfo;
  /** Flags shown at /flagz. Absent: none are shown. */
  readonly flags?: ShownFlags;
  readonly tokens?: TokenAuthenticator;
  readonly tokenMinter?: TokenMinter;
  /** Connections to nodes, pods and Services. Absent: requests that need them get 501. */
  readonly kubelets?: Kubelets;
  readonly gate?: Gate;
  /** Records requests in the audit log. Absent: no audit. */
  readonly audit?: Audit;
  /** Measures which request blocks the event loop. Absent: not measured. */
  readonly turnTimes?: TurnTimes;
  /** Makes the spans of requests. Absent: no spans. */
  readonly tracer?: Tracer;
  /** Checks of work to be done at the start, in healthz, livez and readyz. Absent: no more checks. */
  readonly startChecks?: readonly HealthCheck[];
  /** Checks that a restart would not repair, in healthz and readyz. Absent: no more checks. */
  readonly readinessChecks?: readonly HealthCheck[];
  /** Each returns a store's problem, or undefined. The first store has the resources that no other store has. */
  readonly storeProblems?: readonly (() => string | undefined)[];
  /** Components in this process beside the API: `scheduler`, `controller-manager`. Absent: none. */
  readonly runsBeside?: readonly string[];
  /** The published keys of service account tokens. Absent: they are not published. */
  readonly issuer?: IssuerFacts;
  /** Reads YAML bodies. Absent: this thread reads them, regardless of their length. */
  readonly yaml?: YamlReader;
  /** Further documents, tried after discovery and OpenAPI. */
  readonly documents?: (catalog: ResourceCatalog) => readonly Documents[];
  /** Other servers that answer parts of the API. Absent: none. */
  readonly delegates?: Delegates;
}

interface ApiServerOptions {
  /** Maximum duration of short requests; upstream's is a minute. */
  readonly requestTimeoutMs: number;
  readonly limits: ApiLimits;
}

export interface ApiServer {
  readonly handler: PlainHandler;
  readonly catalog: ResourceCatalog;
  /** Resolves when every cache has its first snapshot; from then on /readyz succeeds. */
  ready(): Promise<void>;
  /** Records, for the audit trail, a request that the HTTP layer itself refused. */
  refused(request: RefusedRequest): void;
  /** The memory account, for the HTTP layer. */
  readonly ledger: Ledger;
  shutdown(): void;
  /** Ends all watches cleanly. The owners of registry and store close those. */
  close(): void;
}

interface Life {
  synced: boolean;
  leaving: boolean;
}

export function createApiServer(deps: ApiServerDeps, options: ApiServerOptions): ApiServer {
  const streams = new Set<WatchStream>();
  const life: Life = { synced: false, leaving: false };
  const requestMetrics = new RequestMetrics(deps.metrics);
  const { catalog, version, metrics, log, audit: kept, delegates = noDelegates, ...plain } = deps;
  const { clock } = deps;
  const audit = kept === undefined ? undefined : new AuditTrail({ ...kept, clock, metrics, log });
  const route = routeDeps(deps, options, catalog, streams, requestMetrics);
  const documents = documentsOf(deps, catalog, delegates);
  const slis = new HealthSlis();
  const health = slis.counted(healthOf(deps, life, audit));
  const { metricsPage } = deps;
  const nonResource = {
    health,
    slis: slis.metrics,
    metrics,
    version,
    documents,
    log,
    ...given({ metricsPage }),
  };
  storageMetrics(deps, catalog);
  describeLedger(deps.metrics, deps.ledger);
  const handler = createChain(
    {
      ...plain,
      ...given({ audit }),
      ...longTurnsOf(deps, catalog),
      log,
      metrics: requestMetrics,
      scopeOf: (info) => scopeOf(catalog, delegates, info),
      accessMetrics: new AccessMetrics(deps.clock, metrics),
      isServed: (info) => isServed(catalog, delegates, info),
    },
    { requestTimeoutMs: options.requestTimeoutMs },
    (context) => {
      const delegate = delegateOf(delegates, context.request.path);
      if (delegate !== undefined) {
        if (context.explanation !== undefined) context.explanation.source = "delegate";
        return delegate.serve(context);
      }
      return context.requestInfo.isResourceRequest
        ? serveResource(route, context)
        : serveNonResource(nonResource, context);
    },
  );
  return {
    handler,
    catalog,
    ready: async () => {
      await deps.registry.ready();
      life.synced = true;
    },
    refused: (request) => audit?.recordRefused(request, deps.random.uuid(), deps.clock.nowMs()),
    ledger: deps.ledger,
    shutdown: () => {
      life.leaving = true;
    },
    close: () => {
      for (const stream of streams) stream.end();
    },
  };
}

function longTurnsOf(
  { turnTimes: times, metrics, log }: ApiServerDeps,
  catalog: ResourceCatalog,
): { readonly longTurns?: LongTurns } {
  if (times === undefined) return {};
  const isKnown = ({ group, version, resource }: RequestInfo): boolean =>
    catalog.find(group, version, resource) !== undefined;
  return { longTurns: new LongTurns({ times, metrics, log, isKnown }) };
}

function scopeOf(
  catalog: ResourceCatalog,
  delegates: Delegates,
  { path, group, version, resource }: RequestInfo,
): Reach | undefined {
  if (delegateOf(delegates, path) !== undefined) return "delegated";
  const kind = catalog.find(group, version, resource);
  if (kind === undefined) return undefined;
  return kind.resource.namespaced ? "namespaced" : "cluster";
}

/** Whether this server serves the resource. Resources of other servers and unknown subresources may have any name. */
function isServed(catalog: ResourceCatalog, delegates: Delegates, info: RequestInfo): boolean {
  const { path, group, version, resource, subresource } = info;
  if (delegateOf(delegates, path) !== undefined) return false;
  const kind = catalog.find(group, version, resource)?.resource;
  if (kind === undefined) return false;
  return subresource === "" || kind.subresources.some(({ name }) => name === subresource);
}

function documentsOf(
  deps: ApiServerDeps,
  catalog: ResourceCatalog,
  delegates: Delegates,
): readonly Documents[] {
  const { clock, issuer } = deps;
  return [
    new DiscoveryDocuments(catalog, delegates),
    new OpenapiHttp(
      { catalog, clock, delegates },
      `v${deps.version.major}.${deps.version.minor}.0`,
    ),
    zDocuments({ clock, version: deps.version, flags: deps.flags }),
    ...(issuer === undefined ? [] : [issuerDocuments(issuer)]),
    ...(deps.documents?.(catalog) ?? []),
  ];
}

function routeDeps(
  deps: ApiServerDeps,
  options: ApiServerOptions,
  catalog: ResourceCatalog,
  streams: Set<WatchStream>,
  metrics: RequestMetrics,
): RouteDeps {
  const { admission, authorizer, lookup, clock, random, log, tokens, tokenMinter, kubelets } = deps;
  return {
    catalog,
    admission,
    authorizer,
    lookup,
    clock,
    random,
    log,
    ...given({ tokens, tokenMinter, kubelets }),
    metrics,
    issuedCertificates: new IssuedCertificates(deps.metrics),
    streams: {
      deadlines: streamDeadlines(deps.clock),
      joiner: new FrameJoiner(),
      turns: new StreamTurns(deps.clock, deps.turnTimes),
      open: streams,
    },
    selectors: new SelectorPool(selectorLimits),
    limits: options.limits,
    bodies: { bytesMax: options.limits.bodyBytesMax, yaml: deps.yaml ?? inlineYaml },
    components: () => componentsOf(deps),
  };
}

/** Components in upstream's order. A component in this process is healthy while the process answers. */
function componentsOf({ runsBeside = [], storeProblems }: ApiServerDeps): readonly Component[] {
  const stores = storeProblems ?? [() => undefined];
  return [
    ...runsBeside.map((name) => ({ name, problem: undefined })),
    ...stores.map((problem, at) => ({ name: `etcd-${at}`, problem: problem() })),
  ];
}

function healthOf(deps: ApiServerDeps, life: Life, audit: AuditTrail | undefined): Health {
  const started = deps.startChecks ?? [];
  const problems = deps.storeProblems ?? [() => undefined];
  const stored = problems.map((check, at) => ({ name: storeCheckName("", at), check }));
  const storeReady = problems.map((check, at) => ({
    name: storeCheckName("readiness", at),
    check,
  }));
  const synced: HealthCheck = {
    name: "informer-sync",
    check: () => (life.synced ? undefined : "caches are not filled yet"),
  };
  const shutdown: HealthCheck = {
    name: "shutdown",
    check: () => (life.leaving ? "process is shutting down" : undefined),
  };
  const alive = [ping, logging, ...stored];
  const live = [...alive, ...started];
  const audited = audit === undefined ? [] : [audit.check];
  const needed = deps.readinessChecks ?? [];
  const ready = [...alive, ...needed, ...storeReady, synced, ...started, shutdown, ...audited];
  return { healthz: [...alive, ...needed, ...started], livez: live, readyz: ready };
}

/** Upstream's name of a check: etcd, etcd-override-0, etcd-readiness, etcd-override-readiness-0. */
function storeCheckName(what: "" | "readiness", at: number): string {
  const parts = ["etcd", at === 0 ? "" : "override", what, at === 0 ? "" : String(at - 1)];
  return parts.filter((part) => part !== "").join("-");
}

function storageMetrics(deps: ApiServerDeps, catalog: ResourceCatalog): void {
  const help = "[STABLE] Objects stored, by resource.";
  deps.metrics.gaugeOf("apiserver_storage_objects", help, ["resource"], function* () {
    const seen = new Set<string>();
    for (const { group, version, resource, storage, isCustom } of catalog.infos()) {
      // Custom kinds are counted below: access to their store would create its cache.
      if (storage === undefined || isCustom === true) continue;
      const name = storage.group === "" ? storage.resource : `${storage.resource}.${storage.group}`;
      if (seen.has(name)) continue;
      seen.add(name);
      yield [[name], catalog.find(group, version, resource)?.store?.size ?? 0] as const;
    }
    for (const [name, count] of catalog.customCounts()) yield [[name], count] as const;
  });
}
