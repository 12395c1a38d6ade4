/**
 * nodes/proxy, pods/proxy and services/proxy: sends a request to the target that the object names, and returns its
 * answer.
 *
 * Holds  the answer streams at the client's pace. When the backend's body breaks off, the answer breaks off too.
 *        Redirects are not followed: their Location, and links in HTML, are changed to lead through the proxy
 *        (rewrite-url.ts). Upgrades are passed on without their query, as in upstream.
 * Bounds open-streams.ts; request and answer bodies have no limit, because they are not buffered.
 */
import { failure } from "#api/status.ts";
import { assert } from "#base/assert.ts";
import type { ByteRequest, ByteResponse } from "#platform/byte-transport.ts";
import type { PlainResponse } from "#platform/http.ts";
import { refused } from "#server/charges.ts";
import type { RequestContext } from "#server/context.ts";
import { bytesResponse } from "#server/respond.ts";
import { admitProxy } from "../connect.ts";
import type { ApiDeps } from "../deps.ts";
import type { ServedKind } from "../kind.ts";
import { decoded } from "./content-encoding.ts";
import { dialText, joinHostPort } from "./dial-text.ts";
import { refuseDryRun } from "./dry-run.ts";
import { forwardedHeaders, returnedHeaders } from "./forwarded-headers.ts";
import type { Release } from "./open-streams.ts";
import { requireKubelets } from "./pod-target.ts";
import { cleanPath, escapedPath } from "./proxy-path.ts";
import { type ProxiedResource, proxyTarget, type ProxyTarget } from "./proxy-target.ts";
import { HtmlRewriter } from "./rewrite-html.ts";
import { type ProxiedPage, rewriteUrl } from "./rewrite-url.ts";
import { streamed } from "./streamed.ts";
import { passUpgrade } from "./upgrades.ts";

/** Maximum bytes of a body that cannot be streamed; bodies of sockets can be streamed. */
const wholeBodyBytesMax = 3 * 1024 * 1024;

export async function proxyTo(
  deps: ApiDeps,
  context: RequestContext,
  kind: ServedKind,
  resource: ProxiedResource,
): Promise<PlainResponse> {
  refuseDryRun(context);
  const { request } = context;
  const kubelets = requireKubelets(deps, `${resource}/proxy`);
  const prefix = prefixOf(context, resource);
  assert(request.path.startsWith(prefix), "a proxied path names its place", { prefix });
  const asked = cleanPath(request.path.slice(prefix.length));
  const path = cleanPath(await admitProxy(deps, context, kind, asked));
  const target = await proxyTarget(deps, kubelets, context, resource);
  const { upgrade: protocol } = request;
  if (protocol === undefined && path === "" && isRead(request.method)) return toRoot(context);
  const at = joinHostPort(target.host.name, target.host.port);
  const release = kubelets.streams.enter(at);
  const rooted = escapedPath(path === "" ? "/" : path);
  if (protocol !== undefined)
    return passUpgrade(deps, request, { ...target, target: rooted, protocol, release });
  return exchange(context, target, rooted, prefix, release);
}

function prefixOf({ place }: RequestContext, resource: ProxiedResource): string {
  const { namespace, name } = place;
  const within = namespace === "" ? "" : `namespaces/${namespace}/`;
  return `/api/v1/${within}${resource}/${name}/proxy`;
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** Redirects to the path with a slash, which relative links of the backend's first page need. */
function toRoot({ request }: RequestContext): PlainResponse {
  const query = request.query === "" ? "" : `?${request.query}`;
  const location = `${escapedPath(request.path)}/${query}`;
  return bytesResponse(301, [], "text/plain; charset=utf-8", { location });
}

async function exchange(
  context: RequestContext,
  { transport, host }: ProxyTarget,
  path: string,
  prefix: string,
  release: Release,
): Promise<PlainResponse> {
  const { request } = context;
  const ending = new AbortController();
  request.signal.addEventListener("abort", () => ending.abort(), { once: true });
  try {
    const response = await transport.send(host, {
      method: request.method,
      target: request.query === "" ? path : `${path}?${request.query}`,
      headers: forwardedHeaders(request, { "x-forwarded-uri": escapedPath(prefix) + path }),
      ...(await bodyOf(context)),
      signal: ending.signal,
    });
    const backendHost = joinHostPort(host.name, host.port);
    const page = { prefix, backendHost, requestHost: request.headers["host"] ?? "" };
    return await answer(context, response, page, ending, release);
  } catch (error) {
    ending.abort();
    release();
    const text = `error trying to reach service: ${dialText(error, host)}`;
    throw failure(503, "ServiceUnavailable", text);
  }
}

/** Body of the request, streamed if possible. @throws ApiError 413, 429. */
async function bodyOf({
  request: { body },
  holding,
}: RequestContext): Promise<Partial<ByteRequest>> {
  if (body.kind !== "bytes") return {};
  const { declaredBytes, stream } = body;
  if (stream !== undefined) return { bodyStream: { bytes: declaredBytes, stream } };
  const whole = await body.read(wholeBodyBytesMax, holding);
  if (whole === "refused") throw refused(holding);
  if (whole !== "too-large") return { body: whole };
  throw failure(413, "RequestEntityTooLarge", `request body exceeds ${wholeBodyBytesMax} bytes`);
}

async function answer(
  { request }: RequestContext,
  response: ByteResponse,
  page: ProxiedPage,
  ending: AbortController,
  release: Release,
): Promise<PlainResponse> {
  const { status } = response;
  if (response.upgraded !== undefined) {
    response.upgraded.abort();
    throw failure(503, "ServiceUnavailable", "error trying to reach service: unasked 101");
  }
  const headers = returnedHeaders(response);
  const location = response.headers["location"] ?? "";
  if (location !== "") headers["location"] = rewriteUrl(location, page);
  if (request.method === "HEAD" || status === 204 || status === 304) {
    await response.read(0);
    release();
    const length = response.headers["content-length"];
    if (request.method === "HEAD" && length !== undefined) headers["content-length"] = length;
    return { kind: "bytes", status, headers, body: [] };
  }
  const plain = location === "" && isHtml(response) ? decoded(response) : undefined;
  if (plain === undefined) return streamed(response, { status, headers }, ending, release);
  delete headers["content-encoding"];
  const rewriter = new HtmlRewriter((url) => rewriteUrl(url, page));
  return streamed(plain, { status, headers }, ending, release, rewriter);
}

function isHtml({ headers }: ByteResponse): boolean {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  return type.trim() === "text/html";
}
