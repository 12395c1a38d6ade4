/**
 * Requests the relay does not answer itself go to the upstream as they are, for the user who asked,
 * and its answer comes back as it is: short ones whole, long ones and streams piece by piece.
 *
 * Holds  the client's pace is the upstream's pace (a full socket holds the upstream back); a cut
 *        upstream cuts the client, an answer never ends well that did not; a client that goes away
 *        ends the upstream request.
 * Not    upgrades (exec, attach, port-forward): the listener does not speak them yet, the upstream
 *        answers such a request as a plain one.
 */
import { failure } from "#api/status.ts";
import { encodePath } from "#client/path.ts";
import type { ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import { ByteTransportError } from "#platform/byte-transport.ts";
import type { ByteSink, Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Caller } from "./door.ts";
import { impersonationHeaders } from "./impersonation.ts";
import type { RelayLimits } from "./limits.ts";

export interface PassDeps {
  readonly http: ByteTransport;
  /** The relay's own credential. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/** Of one connection, or about the client's own credential: never passed on. */
const notForUpstream = new Set([
  "authorization",
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const notForClient = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade"]);

export async function passThrough(
  deps: PassDeps,
  limits: RelayLimits,
  request: PlainRequest,
  caller: Caller,
): Promise<PlainResponse> {
  const ending = new AbortController();
  const gone = (): void => ending.abort();
  request.signal.addEventListener("abort", gone, { once: true });
  const response = await passOn(deps, limits, request, caller, ending.signal);
  const headers = answerHeaders(response);
  const length = Number(response.headers["content-length"] ?? Number.NaN);
  if (request.method === "HEAD" || isBodyless(response.status)) {
    await response.read(0);
    return { kind: "bytes", status: response.status, headers, body: [] };
  }
  const { "content-length": _, ...rest } = headers;
  if (length <= limits.wholeBytesMax) {
    const body = await response.read(limits.wholeBytesMax);
    if (body === "too-large") throw failure(502, "", "upstream's answer is longer than it said");
    return { kind: "bytes", status: response.status, headers: rest, body: [body] };
  }
  const open = (sink: ByteSink): (() => void) => {
    void flow(response, sink, ending.signal);
    return () => ending.abort();
  };
  return { kind: "stream", status: response.status, headers: rest, open };
}

async function passOn(
  deps: PassDeps,
  limits: RelayLimits,
  request: PlainRequest,
  caller: Caller,
  signal: AbortSignal,
): Promise<ByteResponse> {
  const body = await bodyOf(request, limits);
  const path = encodePath(request.path);
  const acting = caller === undefined ? {} : impersonationHeaders(caller);
  try {
    return await deps.http.send({
      method: request.method,
      target: request.query === "" ? path : `${path}?${request.query}`,
      headers: { ...clientHeaders(request), ...deps.headers(), ...acting },
      ...(body === undefined ? {} : { body }),
      signal,
    });
  } catch (error) {
    if (!(error instanceof ByteTransportError)) throw error;
    const text = `the relay's upstream does not answer: ${error.message}`;
    throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
  }
}

async function bodyOf(request: PlainRequest, limits: RelayLimits): Promise<Uint8Array | undefined> {
  if (request.body.kind !== "bytes") return undefined;
  const body = await request.body.read(limits.requestBytesMax);
  if (body !== "too-large") return body;
  const text = `request body exceeds the limit of ${limits.requestBytesMax} bytes`;
  throw failure(413, "RequestEntityTooLarge", text);
}

function clientHeaders(request: PlainRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (notForUpstream.has(name) || name.startsWith("impersonate-")) continue;
    headers[name] = value;
  }
  return headers;
}

function answerHeaders(response: ByteResponse): Headers {
  return Object.fromEntries(
    Object.entries(response.headers).filter(([name]) => !notForClient.has(name)),
  );
}

function isBodyless(status: number): boolean {
  return status === 204 || status === 304;
}

async function flow(response: ByteResponse, sink: ByteSink, signal: AbortSignal): Promise<void> {
  try {
    await response.stream((chunk) => {
      if (sink.closed || sink.write([chunk])) return undefined;
      return new Promise((resolve) => sink.onDrain(resolve));
    });
    sink.end();
  } catch {
    // Cut by the upstream, or by the client who is gone anyway: there is no well-formed end.
    if (!signal.aborted) sink.abort?.();
    sink.end();
  }
}
