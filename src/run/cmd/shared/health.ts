/**
 * The port of a role that serves no API: /healthz, /livez, /readyz for anybody, metrics, /configz, /statusz and /flagz
 * for whom the API server says so (TokenReview and SubjectAccessReview, as kube-scheduler delegates).
 */
import { setImmediate } from "node:timers/promises";
import { given } from "#base/given.ts";
import { CertificateAuthenticator } from "#auth/x509.ts";
import { failure } from "#api/status.ts";
import { ApiError } from "#api/status.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import type { Client } from "#client/client.ts";
import type { Headers, PlainHandler, PlainRequest, PlainResponse } from "#platform/http.ts";
import { httpLimits, listen, type Listening } from "#platform/node/http/http.ts";
import { Access } from "#relay/access/access.ts";
import { relayLimits } from "#relay/limits.ts";
import { metricsPage, pageType } from "#metrics/page.ts";
import { type Health, type HealthCheck, ping } from "#server/health.ts";
import { HealthSlis } from "#server/health-slis.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { readOperatorFile } from "./operator-file.ts";
import type { SupervisedHost } from "./host.ts";
import { flagzPage } from "#server/flagz.ts";
import { statuszPage } from "#server/statusz.ts";
import { type ZPage, zPageResponse } from "#server/z-page.ts";
import { processFlags } from "./shown-flags.ts";
import { version } from "./user-agent.ts";
import { selfSignedFor } from "./self-signed.ts";
import { portSharing, tlsSettings } from "./serving-flags.ts";
import { UsageError } from "./usage-error.ts";
import type { HealthFlags } from "./role-flags.ts";

interface HealthDeps {
  readonly host: SupervisedHost;
  readonly client: Client;
  readonly anonymousHttp: ByteTransport;
  /** CAs of accepted client certificates, in PEM. Absent: none is accepted. */
  readonly clientCa?: string;
  readonly metrics: MetricSet;
  /** Configuration in effect, as JSON without secrets. Absent: the role has no configuration kind of upstream's. */
  readonly configz?: object;
  /** Component name at /statusz and /flagz. Absent: the role has no upstream counterpart and serves neither. */
  readonly component?: string;
  /** Metrics with a series for each Pod, on their own page. Absent: /metrics/resources is not served. */
  readonly resources?: MetricSet;
  /** Returns the reason why the role cannot work, or "" when it can. */
  readonly notReady: () => string;
  /** Handlers of further paths. Absent: none. */
  readonly more?: readonly MorePaths[];
}

export interface MorePaths {
  readonly prefix: string;
  /** Serves a request, and authenticates and authorizes the caller itself. */
  serve(request: PlainRequest, access: Access): Promise<PlainResponse>;
}

const configzPath = "/configz";
/** Paths that /statusz lists, as in upstream's kube-scheduler. */
const shownPaths = [configzPath, "/flagz", "/healthz", "/livez", "/metrics", "/readyz"];
const resourcesPath = "/metrics/resources";
const slisPath = "/metrics/slis";

/** Serves the port. Undefined: --secure-port is 0. */
export async function serveHealth(
  deps: HealthDeps,
  flags: HealthFlags,
): Promise<Listening | undefined> {
  if (flags.securePort === 0) return undefined;
  const address = { host: flags.bindAddress, port: flags.securePort };
  const secure = certificateOf(deps.host, flags);
  const tls = tlsSettings(flags);
  const { clientCa } = deps;
  const ca = given({ clientCa });
  try {
    return await listen(
      { ...address, ...secure, ...ca, tls, ...portSharing(flags), limits: httpLimits },
      healthHandler(deps),
      deps.host.log,
    );
  } catch (error) {
    const text = `cannot serve health on ${address.host} port ${address.port}: ${(error as Error).message}`;
    throw new UsageError(`${text}; give another --secure-port, or 0 for none`, { cause: error });
  }
}

function certificateOf(
  host: SupervisedHost,
  { bindAddress, tlsCertFile, tlsPrivateKeyFile }: HealthFlags,
): { readonly cert: string; readonly key: string } {
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined)) {
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  }
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined) {
    return { cert: readOperatorFile(tlsCertFile), key: readOperatorFile(tlsPrivateKeyFile) };
  }
  return selfSignedFor(host, bindAddress);
}

/** The served pages, and the metrics of the health checks. */
interface Served extends HealthDeps {
  readonly zPages: ReadonlyMap<string, ZPage>;
  readonly health: Health;
  readonly slis: MetricSet;
}

function served(deps: HealthDeps): Served {
  const ready: HealthCheck = { name: "ready", check: () => deps.notReady() || undefined };
  const counted = new HealthSlis();
  const health = counted.counted({ healthz: [ping], livez: [ping], readyz: [ping, ready] });
  return { ...deps, health, slis: counted.metrics, zPages: zPagesOf(deps) };
}

function zPagesOf({ component, host }: HealthDeps): ReadonlyMap<string, ZPage> {
  if (component === undefined) return new Map();
  const { clock } = host;
  return new Map([
    ["/statusz", statuszPage({ clock, version, component, paths: shownPaths })],
    ["/flagz", flagzPage(component, processFlags())],
  ]);
}

function healthHandler(given: HealthDeps): PlainHandler {
  const deps = served(given);
  const { clock } = deps.host;
  const access = new Access(
    {
      clock,
      client: deps.client,
      anonymousHttp: deps.anonymousHttp,
      peers: new CertificateAuthenticator(deps.host),
    },
    relayLimits,
  );
  return async (request) => {
    try {
      return await answer(deps, access, request);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const body = new TextEncoder().encode(JSON.stringify(error.status));
      return { kind: "bytes", status: error.status.code ?? 500, headers: json, body: [body] };
    }
  };
}

const json = { "content-type": "application/json" } as const satisfies Headers;

async function answer(deps: Served, access: Access, request: PlainRequest): Promise<PlainResponse> {
  const { path, method } = request;
  const more = deps.more?.find(({ prefix }) => path.startsWith(prefix));
  if (more !== undefined) return more.serve(request, access);
  if (method !== "GET" && method !== "HEAD") {
    throw failure(405, "MethodNotAllowed", `${method} is not supported`, {});
  }
  if (path === "/healthz") return readiness(checked(deps, "healthz"));
  if (path === "/livez") return readiness(checked(deps, "livez"));
  if (path === "/readyz") return readiness(checked(deps, "readyz"));
  const user = await access.identify(request);
  await access.authorizePath(user, path);
  if (path === configzPath && deps.configz !== undefined) {
    return text(200, JSON.stringify(deps.configz), json["content-type"]);
  }
  const page = deps.zPages.get(path);
  if (page !== undefined) return zPageResponse(page, request);
  const metrics = metricsAt(deps, path);
  if (metrics === undefined) throw failure(404, "NotFound", `there is nothing at ${path}`, {});
  const body = await metricsPage(metrics, () => setImmediate());
  return { kind: "bytes", status: 200, headers: headersOf(pageType), body };
}

function metricsAt(deps: Served, path: string): MetricSet | undefined {
  if (path === "/metrics") return deps.metrics;
  if (path === slisPath) return deps.slis;
  return path === resourcesPath ? deps.resources : undefined;
}

/** @returns the first problem, or "". */
function checked({ health }: Served, type: keyof Health): string {
  const problems = health[type].map((check) => check.check());
  return problems.find((problem) => problem !== undefined) ?? "";
}

function readiness(why: string): PlainResponse {
  return why === "" ? text(200, "ok") : text(500, `not ready: ${why}`);
}

function text(status: number, body: string, type = "text/plain; charset=utf-8"): PlainResponse {
  const bytes = new TextEncoder().encode(body);
  return { kind: "bytes", status, headers: headersOf(type), body: [bytes] };
}

function headersOf(type: string): Headers {
  return { "content-type": type, "x-content-type-options": "nosniff" };
}
