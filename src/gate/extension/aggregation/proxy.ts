/**
 * Passes a request of `/apis/GROUP/VERSION/...` on to the server that an APIService names, and returns its answer.
 *
 * In     a request that this server authenticated, authorized and gave a seat: upstream's order.
 * Holds  the path stays below the group-version. The client's identity is sent only in this proxy's headers. When the
 *        remote answer breaks off, the answer to the client breaks off. No redirect is followed or passed on. The query
 *        is rewritten from the authorized one, so that both servers read the same query.
 * Out    answers and tunnels at their reader's pace; 503 in plain text when the server is unavailable, as in upstream.
 * Bounds open-streams.ts for open requests; `answerMs` for a short request's whole answer; watches have none.
 * After  kube-aggregator handler_proxy.go, apimachinery util/proxy/upgradeaware.go. Unlike upstream, links in HTML and
 *        Location headers are passed on unchanged.
 */
import {
  forwardedHeaders,
  returnedHeaders,
  switchedHeaders,
} from "#apiserver/kubelet/forwarded-headers.ts";
import { join } from "#apiserver/kubelet/join.ts";
import type { Release } from "#apiserver/kubelet/open-streams.ts";
import { escapedPath } from "#apiserver/kubelet/proxy-path.ts";
import { streamed } from "#apiserver/kubelet/streamed.ts";
import { noSuchPath } from "#api/status.ts";
import type { ByteRequest, ByteResponse, Host } from "#platform/byte-transport.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { ByteDuplex, PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { isLongRunning } from "#server/request-info.ts";
import { textResponse } from "#server/respond.ts";
import { identityHeaders } from "./identity-headers.ts";
import type { AggregationLimits } from "./limits.ts";
import { authorityOf, failureText, type Remote } from "./remote.ts";

interface ProxyDeps {
  readonly clock: Clock;
  readonly limits: AggregationLimits;
}

export async function passOn(
  deps: ProxyDeps,
  context: RequestContext,
  remote: Remote,
): Promise<PlainResponse> {
  checkPath(context.request.path);
  if (!remote.isAvailable) return unavailable();
  if (remote.problem !== undefined) return plainError(500, remote.problem);
  const host = hostOf(remote);
  if (host === undefined) return unavailable();
  const release = remote.enter(host);
  const exchange = new Exchange(deps, context, remote, host, release);
  const { upgrade } = context.request;
  return upgrade === undefined ? exchange.pass() : exchange.passUpgrade(upgrade);
}

/** Refuses empty and dot segments. A remote server that normalizes paths could otherwise serve another path than the authorized one. */
function checkPath(path: string): void {
  const segments = path.split("/").slice(1);
  const isOpen = segments.at(-1) === "";
  const named = isOpen ? segments.slice(0, -1) : segments;
  if (named.some((segment) => segment === "" || segment === "." || segment === ".."))
    throw noSuchPath();
}

function hostOf(remote: Remote): Host | undefined {
  try {
    return remote.host();
  } catch {
    return undefined;
  }
}

/** Returns plain text with a final newline, as Go's http.Error. */
function plainError(status: number, text: string): PlainResponse {
  return textResponse(status, `${text}\n`);
}

function unavailable(): PlainResponse {
  return plainError(503, "service unavailable");
}

class Exchange {
  readonly #deps: ProxyDeps;
  readonly #context: RequestContext;
  readonly #remote: Remote;
  readonly #host: Host;
  readonly #release: Release;
  readonly #ending = new AbortController();
  #late: Timer | undefined;
  #isLate = false;

  constructor(
    deps: ProxyDeps,
    context: RequestContext,
    remote: Remote,
    host: Host,
    release: Release,
  ) {
    this.#deps = deps;
    this.#context = context;
    this.#remote = remote;
    this.#host = host;
    this.#release = release;
    const { signal } = context.request;
    signal.addEventListener("abort", () => this.#ending.abort(), { once: true });
  }

  async pass(): Promise<PlainResponse> {
    this.#limitTime();
    try {
      const response = await this.#remote.send(this.#host, {
        ...this.#asked(this.#forwarded()),
        ...bodyOf(this.#context),
      });
      return await this.#answer(response);
    } catch (error) {
      this.#ending.abort();
      this.#done();
      const why = this.#isLate ? "context deadline exceeded" : failureText(error, this.#host);
      return plainError(503, `error trying to reach service: ${why}`);
    }
  }

  async passUpgrade(protocol: string): Promise<PlainResponse> {
    const headers = forwardedHeaders(this.#context.request);
    let response: ByteResponse;
    try {
      const asked = this.#asked({ ...headers, ...this.#identity() });
      response = await this.#remote.send(this.#host, { ...asked, upgrade: protocol });
    } catch (error) {
      this.#release();
      return plainError(503, `error dialing backend: ${failureText(error, this.#host)}`);
    }
    const server = response.upgraded;
    if (server === undefined) return this.#refused(response);
    const open = (client: ByteDuplex): void => {
      this.#release.client = client;
      join(this.#deps.clock, client, server, this.#release);
    };
    return { kind: "tunnel", status: 101, headers: switchedHeaders(response), open };
  }

  #asked(headers: ByteRequest["headers"]): ByteRequest {
    const { request, query } = this.#context;
    const path = escapedPath(request.path);
    const sorted = new URLSearchParams(query);
    sorted.sort();
    const text = sorted.toString();
    return {
      method: request.method,
      target: text === "" ? path : `${path}?${text}`,
      headers,
      signal: this.#ending.signal,
    };
  }

  #identity(): ByteRequest["headers"] {
    const { user, auditId } = this.#context;
    return { ...identityHeaders(user), "audit-id": auditId, host: authorityOf(this.#host) };
  }

  #forwarded(): ByteRequest["headers"] {
    const { request } = this.#context;
    return {
      ...forwardedHeaders(request, {
        "x-forwarded-uri": escapedPath(request.path),
        "x-forwarded-host": authorityOf(this.#host),
        "x-forwarded-proto": "https",
      }),
      ...this.#identity(),
    };
  }

  /** Limits the time of a request: not for a watch, and short for `/apis/G/V`, which every client requests. */
  #limitTime(): void {
    const { requestInfo, receivedMs } = this.#context;
    if (isLongRunning(requestInfo)) return;
    const { clock, limits } = this.#deps;
    const passedMs = clock.monotonicMs() - receivedMs;
    const limitMs = requestInfo.isResourceRequest ? limits.answerMs : limits.discoveryRequestMs;
    this.#late = clock.after("aggregation.answer", Math.max(0, limitMs - passedMs), () => {
      this.#isLate = true;
      this.#ending.abort();
    });
  }

  readonly #done: Release = () => {
    this.#late?.cancel();
    this.#release();
  };

  async #answer(response: ByteResponse): Promise<PlainResponse> {
    const { status } = response;
    const { request } = this.#context;
    if (response.upgraded !== undefined) {
      response.upgraded.abort();
      throw new Error(`backend tried to switch protocol ${quoted(response)} when "" was requested`);
    }
    if (status >= 300 && status < 400 && (response.headers["location"] ?? "") !== "") {
      this.#ending.abort();
      this.#done();
      return redirectRefused();
    }
    const headers = returnedHeaders(response);
    delete headers["audit-id"];
    if (request.method === "HEAD" || status === 204 || status === 304) {
      await response.read(0);
      this.#done();
      return { kind: "bytes", status, headers, body: [] };
    }
    if (request.peer.kind === "direct" && !isLongRunning(this.#context.requestInfo)) {
      const body = await response.read(this.#deps.limits.directAnswerBytesMax);
      if (body === "too-large") throw new Error("its answer is too large");
      this.#done();
      return { kind: "bytes", status, headers, body: [body] };
    }
    return streamed(response, { status, headers }, this.#ending, this.#done);
  }

  async #refused(response: ByteResponse): Promise<PlainResponse> {
    const { status } = response;
    try {
      const body = await response.read(this.#deps.limits.refusalBytesMax);
      if (status < 400) return plainError(503, `invalid upgrade response: status code ${status}`);
      const bytes = body === "too-large" ? [] : [body];
      return { kind: "bytes", status, headers: returnedHeaders(response), body: bytes };
    } catch (error) {
      return plainError(503, failureText(error, this.#host));
    } finally {
      this.#ending.abort();
      this.#release();
    }
  }
}

/** Returns the body as received. An object of a caller in this process is encoded as JSON. */
function bodyOf({ request: { body }, holding }: RequestContext): Partial<ByteRequest> {
  if (body.kind === "none") return {};
  if (body.kind === "object")
    return { body: new TextEncoder().encode(JSON.stringify(body.object)) };
  const { declaredBytes, stream } = body;
  if (stream !== undefined) return { bodyStream: { bytes: declaredBytes, stream } };
  const whole = wholeBody((limit) => body.read(limit, holding));
  return { bodyStream: { bytes: declaredBytes, stream: whole } };
}

/** Maximum size of a body that cannot be streamed. Bodies from sockets can be streamed. */
const wholeBodyBytesMax = 3 * 1024 * 1024;

function wholeBody(
  read: (limitBytes: number) => Promise<Uint8Array | "too-large" | "refused">,
): NonNullable<ByteRequest["bodyStream"]>["stream"] {
  return async (take) => {
    const whole = await read(wholeBodyBytesMax);
    if (typeof whole === "string") throw new Error(`the request's body is ${whole}`);
    await take(whole);
  };
}

function quoted(response: ByteResponse): string {
  return JSON.stringify(response.headers["upgrade"] ?? "");
}

function redirectRefused(): PlainResponse {
  const text = "the backend attempted to redirect this request, which is not permitted";
  return { kind: "bytes", status: 502, headers: {}, body: [new TextEncoder().encode(text)] };
}
