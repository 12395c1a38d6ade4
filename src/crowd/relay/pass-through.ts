/**
 * Requests the relay does not answer itself are sent to the upstream unchanged, as the requesting user, and
 * its answer is returned unchanged: short ones whole, long ones and streams piece by piece.
 *
 * Holds  the client's pace is the upstream's pace (a full socket holds the upstream back); a cut upstream
 *        connection cuts the client's, so an incomplete answer never looks complete; a client that
 *        disconnects ends the upstream request.
 *        Upgrades (exec, attach, port-forward) become a tunnel of raw bytes: each direction at its
 *        reader's pace, each ending on its own; a break of one end breaks the other.
 * Bounds a request body that is short or complete in one piece is read first; others are forwarded as they
 *        arrive, up to `requestBytesMax`; tunnels up to `tunnelsMax`.
 */
import { given } from "#base/given.ts";
import { dictionary } from "#base/own.ts";
import { ApiError, failure } from "#api/status.ts";
import { encodePath } from "#client/path.ts";
import type { ByteRequest, ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import { ByteTransportError } from "#platform/byte-transport.ts";
import type {
  ByteDuplex,
  ByteSink,
  Headers,
  PlainRequest,
  PlainResponse,
  TakeChunk,
} from "#platform/http.ts";
import { isBearerProtocol } from "#platform/bearer-token.ts";
import { offeredProtocols } from "#wire/websocket/frames.ts";
import type { Holding } from "#platform/ledger.ts";
import { refused } from "#server/charges.ts";
import type { Caller } from "./access/entry-point.ts";
import { impersonationHeaders } from "./access/impersonation.ts";
import type { RelayLimits } from "./limits.ts";

export interface PassDeps {
  readonly http: ByteTransport;
  /** Returns headers with the relay's own credential. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** Client sides of the open tunnels. */
  readonly tunnels: Set<ByteDuplex>;
}

/** Headers about one connection, or about the client's own credential: never passed on. */
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
/**
 * Who it is, the relay says. `x-remote-`: to an upstream that trusts the relay's certificate as that of a
 * front proxy, a client's own headers would be anybody.
 */
const identityPrefixes = ["impersonate-", "x-remote-"];
const notForClient = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade"]);

export async function passThrough(
  deps: PassDeps,
  limits: RelayLimits,
  request: PlainRequest,
  caller: Caller,
  holding: Holding,
): Promise<PlainResponse> {
  const ending = new AbortController();
  const gone = (): void => ending.abort();
  request.signal.addEventListener("abort", gone, { once: true });
  if (request.upgrade !== undefined && deps.tunnels.size >= limits.tunnelsMax) {
    throw failure(429, "TooManyRequests", "the relay has too many tunnels", {
      retryAfterSeconds: 1,
    });
  }
  const response = await passOn(deps, limits, request, caller, ending.signal, holding);
  if (response.upgraded !== undefined) return tunnel(deps, response, response.upgraded);
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
  const open = (sink: ByteSink): (() => void) => flow(response, sink, ending);
  return { kind: "stream", status: response.status, headers: rest, open };
}

async function passOn(
  deps: PassDeps,
  limits: RelayLimits,
  request: PlainRequest,
  caller: Caller,
  signal: AbortSignal,
  holding: Holding,
): Promise<ByteResponse> {
  const body = await bodyOf(request, limits, holding);
  const { upgrade } = request;
  const path = encodePath(request.path);
  const acting = caller === undefined ? {} : impersonationHeaders(caller);
  try {
    return await deps.http.send({
      method: request.method,
      target: request.query === "" ? path : `${path}?${request.query}`,
      headers: { ...clientHeaders(request), ...deps.headers(), ...acting },
      ...body,
      ...given({ upgrade }),
      signal,
    });
  } catch (error) {
    if (!(error instanceof ByteTransportError)) throw error;
    // The request body was refused while it was being sent.
    if (error.cause instanceof ApiError) throw error.cause;
    const text = `the relay's upstream does not answer: ${error.message}`;
    throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
  }
}

/** Short bodies are read whole, so that a request on a dead connection fails before it is half sent. */
async function bodyOf(
  { body }: PlainRequest,
  limits: RelayLimits,
  holding: Holding,
): Promise<Pick<ByteRequest, "body" | "bodyStream">> {
  if (body.kind !== "bytes") return {};
  const { declaredBytes, stream } = body;
  const { requestBytesMax: bytesMax, wholeBytesMax } = limits;
  if (declaredBytes !== undefined && declaredBytes > bytesMax) throw tooLong(bytesMax);
  if (stream === undefined || (declaredBytes ?? Infinity) <= wholeBytesMax) {
    const whole = await body.read(bytesMax, holding);
    if (whole === "refused") throw refused(holding);
    if (whole === "too-large") throw tooLong(bytesMax);
    return { body: whole };
  }
  const bounded = (take: TakeChunk): Promise<void> => stream(takeBounded(take, bytesMax));
  return { bodyStream: { bytes: declaredBytes, stream: bounded } };
}

function takeBounded(take: TakeChunk, bytesMax: number): TakeChunk {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLong(bytesMax);
    return take(chunk);
  };
}

function tooLong(bytesMax: number): ApiError {
  const text = `request body exceeds the limit of ${bytesMax} bytes`;
  return failure(413, "RequestEntityTooLarge", text);
}

/** Switches protocols as the upstream did, with the same response headers. */
function tunnel(deps: PassDeps, response: ByteResponse, upstream: ByteDuplex): PlainResponse {
  const open = (client: ByteDuplex): void => {
    deps.tunnels.add(client);
    void Promise.all([oneWay(client, upstream), oneWay(upstream, client)]).then(() =>
      deps.tunnels.delete(client),
    );
  };
  return { kind: "tunnel", status: 101, headers: response.headers, open };
}

async function oneWay(from: ByteDuplex, to: ByteDuplex): Promise<void> {
  try {
    await from.stream((chunk) => {
      if (to.write([chunk])) return undefined;
      return new Promise((resolve) => to.onDrain(resolve));
    });
    to.end();
  } catch {
    from.abort();
    to.abort();
  }
}

function clientHeaders(request: PlainRequest): Record<string, string> {
  const headers = dictionary<string>();
  for (const [name, value] of Object.entries(request.headers)) {
    if (notForUpstream.has(name) || identityPrefixes.some((prefix) => name.startsWith(prefix)))
      continue;
    headers[name] = value;
  }
  // A token among the subprotocols is meant for the relay, like Authorization, and is not passed on.
  const protocols = offeredProtocols(headers).filter((one) => !isBearerProtocol(one));
  delete headers["sec-websocket-protocol"];
  if (protocols.length > 0) headers["sec-websocket-protocol"] = protocols.join(", ");
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

/** @returns a function that ends the flow. Only the upstream's own end completes the answer; any other end aborts it. */
function flow(response: ByteResponse, sink: ByteSink, ending: AbortController): () => void {
  let ended = false;
  const end = (): void => {
    ended = true;
    sink.end();
  };
  const cut = (): void => {
    if (ended) return;
    sink.abort?.();
    end();
  };
  response
    .stream((chunk) => {
      if (sink.closed || sink.write([chunk])) return undefined;
      return new Promise((resolve) => sink.onDrain(resolve));
    })
    .then(end, cut);
  return () => {
    ending.abort();
    cut();
  };
}
