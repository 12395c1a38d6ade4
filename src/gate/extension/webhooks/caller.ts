/**
 * One call to a webhook: over TLS (HTTP/2 where it speaks that), by URL or through the endpoints of a Service.
 *
 * Holds  a request goes only to the host that the configuration names; redirects are not followed, no proxy of the
 *        environment is used, and no credential is sent but those of the operator's kubeconfig. The certificate must be
 *        valid for the URL's host or for `<service>.<namespace>.svc`. As in upstream, the addresses of a URL are not
 *        restricted: a user with the right to write webhook configurations can have every object sent to them anyway.
 *        For Services see service-target.ts.
 * Limits the webhook's timeout, for waiting, connecting and reading together; `answerBytesMax`; calls in flight
 *        (seats.ts). The transport limits heads and idle connections.
 * Retry  once, when the server closed a kept connection just as the question was sent: webhooks must be idempotent.
 *        After 429 or 5xx with a Retry-After in seconds up to `retriesMax` times, after that time, as client-go. There
 *        are no other retries. The webhook's timeout bounds all attempts together.
 */
import { dialText } from "#apiserver/kubelet/dial-text.ts";
import { cleanPath, escapedPath } from "#apiserver/kubelet/proxy-path.ts";
import {
  type ByteRequest,
  type ByteResponse,
  ByteTransportError,
  type Host,
  type HostsTransport,
} from "#platform/byte-transport.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import { ServiceTargetError, type ServiceTargets } from "../service-target.ts";
import { CallError } from "./call-error.ts";
import type { HookTarget } from "./hook.ts";
import { type SeatLimits, Seats } from "./seats.ts";
import { type Credentials, type OpenTransport, Trusts } from "./trusts.ts";

export interface CallerDeps {
  readonly clock: Clock;
  readonly services: ServiceTargets;
  readonly open: OpenTransport;
  /** Returns the credentials for a host and port, from the operator's kubeconfig. Absent: calls have no credentials. */
  readonly credentials?: (hostPort: string) => Credentials | undefined;
}

export interface CallerLimits extends SeatLimits {
  readonly answerBytesMax: number;
}

/** Target of a call: a webhook of admission, or of conversion. */
export interface CallTarget {
  /** Key by which calls in flight are counted. */
  readonly id: string;
  readonly target: HookTarget;
  readonly timeoutMs: number;
}

/** Request for which a call is made. Its end also ends the call, and the webhook receives its deadline. */
interface Asking {
  readonly signal: AbortSignal;
  /** Monotonic time. Absent: the request has no deadline. */
  readonly deadlineMs?: number | undefined;
}

interface Place {
  /** URL as upstream prints it. */
  readonly url: string;
  readonly path: string;
  /** Host. For a Service it has no address, which is resolved for each call. */
  readonly host: Host;
  readonly hostPort: string;
}

/** client-go's maxRetries. */
const retriesMax = 10;

/** Ends a call whose timeout has passed. */
class TimeUp extends Error {}

export class WebhookCaller {
  readonly #deps: CallerDeps;
  readonly #limits: CallerLimits;
  readonly #trusts: Trusts;
  readonly #seats: Seats;

  constructor(deps: CallerDeps, limits: CallerLimits) {
    this.#deps = deps;
    this.#limits = limits;
    this.#trusts = new Trusts(deps.open);
    this.#seats = new Seats(limits);
  }

  /** Yields the webhooks with calls in flight, and the number of these calls. */
  inFlight(): Iterable<readonly [readonly string[], number]> {
    return this.#seats.inFlight();
  }

  /** @returns the body of a good answer. @throws CallError */
  async call(hook: CallTarget, body: Uint8Array, asking: Asking | undefined): Promise<Uint8Array> {
    const { signal, deadlineMs = Number.POSITIVE_INFINITY } = asking ?? {};
    const leftMs = Math.max(1, deadlineMs - this.#deps.clock.monotonicMs());
    const place = placeOf(hook.target, Math.min(hook.timeoutMs, leftMs));
    const ending = new AbortController();
    const timer = this.#deps.clock.after("webhook.call", hook.timeoutMs, () =>
      ending.abort(new TimeUp("context deadline exceeded")),
    );
    const leave = (): void => ending.abort(new Error("context canceled"));
    if (signal?.aborted === true) leave();
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return await this.#exchange(hook, place, body, ending.signal);
    } catch (error) {
      throw callError(error, place, ending.signal);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", leave);
    }
  }

  close(): void {
    this.#trusts.close();
  }

  async #exchange(
    hook: CallTarget,
    place: Place,
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const release = await this.#seats.enter(hook.id, signal);
    try {
      signal.throwIfAborted();
      const credentials = this.#deps.credentials?.(place.hostPort);
      const { caBundle = "" } = hook.target;
      const transport = this.#trusts.transport({ caBundle, credentials });
      const authorization = credentials?.authorization?.();
      const headers = authorization === undefined ? sentHeaders : { ...sentHeaders, authorization };
      const request = { method: "POST", target: place.path, headers, body, signal };
      for (let retriesLeft = retriesMax; ; retriesLeft--) {
        const host = this.#resolved(hook.target, place.host);
        const response = await send(transport, host, request);
        const waitMs = retriesLeft === 0 ? undefined : retryAfterMs(response);
        if (waitMs === undefined) return await read(response, this.#limits.answerBytesMax);
        await response.read(this.#limits.answerBytesMax);
        await sleep(this.#deps.clock, "webhook.retry", waitMs, signal);
        signal.throwIfAborted();
      }
    } finally {
      release();
    }
  }

  #resolved({ service }: HookTarget, host: Host): Host {
    if (service === undefined) return host;
    const { address, port } = this.#deps.services.resolve({ ...service, port: host.port });
    return { ...host, address, port };
  }
}

const sentHeaders = {
  "content-type": "application/json",
  accept: "application/json, */*",
  "user-agent": "kube-apiserver-admission",
} as const;

/** @throws CallError for a configuration that names no target. Validation refuses such configurations. */
function placeOf(target: HookTarget, timeoutMs: number): Place {
  const query = `timeout=${Math.ceil(timeoutMs / 1000)}s`;
  const { service } = target;
  if (service !== undefined) {
    const { name, namespace, port = 443 } = service;
    const host: Host = { scheme: "https", name: `${name}.${namespace}.svc`, port };
    const hostPort = `${host.name}:${port}`;
    const path = `${joinedPath(service.path ?? "")}?${query}`;
    return { url: `https://${hostPort}${path}`, path, host, hostPort };
  }
  const url = URL.parse(target.url ?? "");
  if (url === null || url.protocol !== "https:" || url.username !== "" || url.password !== "")
    throw new CallError("webhook configuration must have either service or URL", 500);
  const name = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? 443 : Number(url.port);
  const path = `${joinedPath(unescaped(pathOf(target.url ?? "")))}?${query}`;
  const shown = `https://${url.host}${path}`;
  return {
    url: shown,
    path,
    host: { scheme: "https", name, port },
    hostPort: `${url.hostname}:${port}`,
  };
}

/**
 * Returns the path as client-go sends it: Go's path.Join of "/" and the path, escaped again. The result has no empty,
 * `.` or `..` segment and no trailing slash.
 */
function joinedPath(path: string): string {
  const clean = cleanPath(`/${path}`);
  return escapedPath(clean.length > 1 && clean.endsWith("/") ? clean.slice(0, -1) : clean);
}

/** Returns the path as written, because URL would convert a backslash to a slash. */
function pathOf(url: string): string {
  return /^[^:/?#]+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? "";
}

/** Decodes the path. A badly escaped path stays unchanged. */
function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

async function send(
  transport: HostsTransport,
  host: Host,
  request: ByteRequest,
): Promise<ByteResponse> {
  try {
    return await sendAgain(transport, host, request);
  } catch (error) {
    throw dialled(error, host, request.signal);
  }
}

async function sendAgain(
  transport: HostsTransport,
  host: Host,
  request: ByteRequest,
): Promise<ByteResponse> {
  try {
    return await transport.send(host, request);
  } catch (error) {
    const isStale = error instanceof ByteTransportError && error.isStale;
    if (!isStale || request.signal.aborted) throw error;
    return transport.send(host, request);
  }
}

/** Returns network errors in Go's words. An error by the abort of `signal` keeps its reason. */
function dialled(error: unknown, host: Host, signal: AbortSignal): Error {
  if (signal.aborted) return signal.reason as Error;
  if (!(error instanceof ByteTransportError)) return error as Error;
  return new Error(dialText(error, host), { cause: error });
}

/** @returns the time after which the server wants a retry. Undefined: it does not ask for one. */
function retryAfterMs({ status, headers, upgraded }: ByteResponse): number | undefined {
  const { "retry-after": seconds = "" } = headers;
  if (upgraded !== undefined || (status !== 429 && status < 500)) return undefined;
  return /^[+-]?\d{1,9}$/.test(seconds) ? Math.max(0, Number(seconds) * 1000) : undefined;
}

async function read(response: ByteResponse, bytesMax: number): Promise<Uint8Array> {
  const { status, upgraded } = response;
  if (upgraded !== undefined) {
    upgraded.abort();
    throw new CallError("failed to call webhook: the server switched protocols unasked");
  }
  const bytes = await response.read(bytesMax);
  if (bytes === "too-large")
    throw new CallError(`failed to call webhook: the answer has more than ${bytesMax} bytes`);
  if (status >= 200 && status <= 206) return bytes;
  const { "content-type": type = "" } = response.headers;
  const text = type.startsWith("text/")
    ? new TextDecoder().decode(bytes.subarray(0, 2048)).trim()
    : "unknown";
  throw new CallError(`failed to call webhook: ${statusText(status, text)}`, status);
}

const statusTexts: ReadonlyMap<number, string> = new Map([
  [400, "the server rejected our request for an unknown reason"],
  [401, "the server has asked for the client to provide credentials"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [409, "the server reported a conflict"],
  [422, "the server rejected our request due to an error in our request"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [503, "the server is currently unable to handle the request"],
  [
    504,
    "the server was unable to return a response in the time allotted, but may still be processing the request",
  ],
]);

/** Returns client-go's text for an answer that is no API object. */
function statusText(status: number, said: string): string {
  const known = statusTexts.get(status);
  if (known !== undefined) return known;
  if (status === 403 || status === 415) return said;
  if (status >= 500)
    return `an error on the server (${JSON.stringify(said)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${status} but did not return more information`;
}

function callError(error: unknown, { url }: Place, signal: AbortSignal): CallError {
  if (error instanceof CallError) return error;
  const isOurs = error instanceof ServiceTargetError || error instanceof ByteTransportError;
  const reason = signal.aborted ? (signal.reason as Error) : (error as Error);
  // A bug in this server is not a failure of the webhook, so failurePolicy must not ignore it.
  if (!signal.aborted && !isOurs && reason.cause === undefined) throw reason;
  const isCanceled = signal.aborted && !(signal.reason instanceof TimeUp);
  const text = `failed to call webhook: Post ${JSON.stringify(url)}: ${reason.message}`;
  return new CallError(text, isCanceled ? 499 : 503);
}
