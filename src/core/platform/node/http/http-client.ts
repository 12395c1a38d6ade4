/**
 * The host's byte transport to one API server: HTTP/1.1 over TLS (or in the clear), connections kept
 * alive, client certificate and CA as given.
 *
 * Limits `socketsMax` connections (further requests wait for one; a watch holds its own), `headMs`
 *        for an answer's head, `idleMs` of silence on a stream: bookmarks come every minute, so a
 *        silent watch is a dead connection. Past them: ByteTransportError ETIMEDOUT.
 * A GET on a kept connection that the server had just closed is sent once more; other methods are
 * not, because only the caller knows whether a second try is harmless.
 */
import { given } from "#base/given.ts";
import { dictionary } from "#base/own.ts";
import type {
  ClientRequest,
  IncomingMessage,
  OutgoingHttpHeaders,
  RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { ByteTransportError } from "../../byte-transport.ts";
import type { ByteRequest, ByteResponse, ByteTransport } from "../../byte-transport.ts";
import { headersOf, textOf } from "./header-text.ts";
import { Agent as HttpAgent, request as httpRequest } from "./node-http.ts";
import { trusting } from "../trust.ts";
import { SocketDuplex } from "./socket-duplex.ts";

interface HttpClientLimits {
  readonly socketsMax: number;
  readonly headMs: number;
  readonly idleMs: number;
}

export const httpClientLimits: HttpClientLimits = {
  socketsMax: 1_024,
  headMs: 75_000,
  idleMs: 180_000,
};

interface HttpClientOptions {
  /** `https://host:port`, perhaps with a path that is put before every target. */
  readonly server: string;
  /** Path of a socket in the file system to connect to; `server` is then only a name. */
  readonly socketPath?: string;
  /** PEM. Absent: the host's trusted authorities. */
  readonly ca?: string;
  /** PEM; both or neither of certificate and key. */
  readonly certificate?: string;
  readonly key?: string;
  /** Name that the server's certificate must have, when it is not the host's name. */
  readonly serverName?: string;
  /** Accepts any server certificate. Only where a kubeconfig says insecure-skip-tls-verify. */
  readonly insecure?: boolean;
  readonly limits: HttpClientLimits;
}

/** Free connections are closed earlier than most servers close them, so that few requests meet a closed one. */
export const freeSocketMs = 30_000;

export function httpClient(options: HttpClientOptions): ByteTransport {
  const url = new URL(options.server);
  const base = url.pathname.replace(/\/$/, "");
  const secure = url.protocol === "https:";
  const agent = secure ? httpsAgent(options) : new HttpAgent(agentOptions(options));
  const tunnels = secure ? httpsAgent(options, tunnelOptions) : new HttpAgent(tunnelOptions);
  const start = secure ? httpsRequest : httpRequest;
  const { socketPath } = options;
  const port = url.port === "" ? (secure ? 443 : 80) : url.port;
  const fixed = socketPath === undefined ? { host: bareHost(url), port } : { socketPath };
  const once = (request: ByteRequest): Promise<ByteResponse> => {
    const { method } = request;
    const path = base + request.target;
    const chosen = request.upgrade === undefined ? agent : tunnels;
    const headers = sentHeaders(request);
    return exchange(request, options.limits, () =>
      start({ ...fixed, agent: chosen, method, path, headers }),
    );
  };
  return {
    async send(request) {
      try {
        return await once(request);
      } catch (error) {
        if (request.method === "GET" && error instanceof StaleConnection) return once(request);
        throw error;
      }
    },
    close() {
      agent.destroy();
      tunnels.destroy();
    },
  };
}

export function sentHeaders(request: ByteRequest): OutgoingHttpHeaders {
  const headers = headersOf(request.headers);
  const { upgrade } = request;
  return upgrade === undefined ? headers : { ...headers, connection: "Upgrade", upgrade };
}

export class StaleConnection extends ByteTransportError {
  override readonly isStale = true;
}

/** Removes the brackets of an IPv6 host: URL keeps them, but sockets do not accept them. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

function agentOptions(options: HttpClientOptions) {
  const maxSockets = options.limits.socketsMax;
  const maxFreeSockets = maxSockets;
  return { keepAlive: true, maxSockets, maxFreeSockets, timeout: freeSocketMs, noDelay: true };
}

/** A tunnel has a connection of its own, of which one direction may be closed alone. */
const tunnelOptions = { keepAlive: false, noDelay: true, allowHalfOpen: true };

function httpsAgent(options: HttpClientOptions, more: object = agentOptions(options)): HttpsAgent {
  const { ca, certificate, key, serverName, insecure } = options;
  return new HttpsAgent({
    ...more,
    ...trusting(ca),
    ...(certificate === undefined || key === undefined ? {} : { cert: certificate, key }),
    ...given({ servername: serverName }),
    rejectUnauthorized: insecure !== true,
  });
}

function exchange(
  request: ByteRequest,
  limits: HttpClientLimits,
  start: (options?: RequestOptions) => ClientRequest,
): Promise<ByteResponse> {
  const { body, signal } = request;
  if (signal.aborted) return Promise.reject(abortedError());
  return new Promise((resolve, reject) => {
    const sent = start();
    const late = setTimeout(
      () => sent.destroy(timedOutError("no answer", limits.headMs)),
      limits.headMs,
    );
    late.unref();
    const abort = (): void => void sent.destroy(abortedError());
    signal.addEventListener("abort", abort, { once: true });
    const release = (): void => {
      clearTimeout(late);
      signal.removeEventListener("abort", abort);
    };
    sent.on("close", release);
    sent.on("error", (error) => {
      release();
      reject(failedError(error, sent.reusedSocket));
    });
    sent.on("response", (incoming: IncomingMessage) => {
      clearTimeout(late);
      sent.setTimeout(limits.idleMs, () => sent.destroy(timedOutError("silence", limits.idleMs)));
      resolve(byteResponse(incoming));
    });
    sent.on("upgrade", (incoming, socket, head) => {
      release();
      resolve({ ...byteResponse(incoming), upgraded: new SocketDuplex(socket, head) });
    });
    if (request.bodyStream !== undefined) sendStream(sent, request.bodyStream);
    else if (body === undefined) sent.end();
    else sent.setHeader("content-length", body.length).end(body);
  });
}

/** Sends the body at the server's pace. When the client breaks off, or the body is refused, the request is broken. */
export function sendStream(
  sent: ClientRequest,
  body: NonNullable<ByteRequest["bodyStream"]>,
): void {
  // Node does not frame the body of a GET, DELETE or OPTIONS: its bytes would be read as the next request.
  if (body.bytes !== undefined) sent.setHeader("content-length", body.bytes);
  else sent.setHeader("transfer-encoding", "chunked");
  const take = (chunk: Uint8Array): void | Promise<void> => {
    if (sent.destroyed || sent.write(chunk)) return undefined;
    return new Promise((resolve) => {
      const go = (): void => {
        sent.off("drain", go).off("close", go);
        resolve();
      };
      sent.on("drain", go).on("close", go);
    });
  };
  body.stream(take).then(
    () => sent.end(),
    (error: unknown) => sent.destroy(error instanceof Error ? error : undefined),
  );
}

export function byteResponse(incoming: IncomingMessage): ByteResponse {
  const cookies = incoming.headers["set-cookie"];
  const isWhole = (): boolean => incoming.complete;
  return {
    status: incoming.statusCode ?? 0,
    headers: plainHeaders(incoming),
    ...(cookies === undefined ? {} : { cookies: cookies.map(textOf) }),
    read: (limitBytes) => readAll(incoming, isWhole, limitBytes),
    stream: (take) => streamAll(incoming, isWhole, take),
  };
}

/** Reads the whole body. `isWhole` tells a clean end from a cut. */
export async function readAll(incoming: Readable, isWhole: () => boolean, limitBytes: number) {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let tooLarge = false;
  await streamAll(incoming, isWhole, (chunk) => {
    size += chunk.length;
    if (size <= limitBytes) return void chunks.push(chunk);
    tooLarge = true;
    throw new RangeError("too large");
  }).catch((error: unknown) => {
    if (!tooLarge) throw error;
  });
  return tooLarge ? "too-large" : Buffer.concat(chunks);
}

export function streamAll(
  incoming: Readable,
  isWhole: () => boolean,
  take: (chunk: Uint8Array) => void | Promise<void>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    // The connection may have broken between the head and this call; its events are not repeated.
    if (incoming.destroyed && !incoming.readableEnded) return reject(cut());
    const failure = (error: Error): void => {
      reject(error);
      incoming.destroy();
    };
    incoming.on("data", (chunk: Buffer) => {
      try {
        const held = take(chunk);
        if (held === undefined) return;
        incoming.pause();
        held.then(() => incoming.resume(), failure);
      } catch (error) {
        failure(error instanceof Error ? error : new Error("stream was refused", { cause: error }));
      }
    });
    incoming.on("end", () => {
      if (isWhole()) resolve();
      else reject(cut());
    });
    incoming.on("error", (error) => reject(failedError(error, false)));
    // "close" also comes after a clean end. Making an error that has no reader would cost 10 us.
    incoming.on("close", () => {
      if (!incoming.readableEnded) reject(cut());
    });
  });
}

function plainHeaders(incoming: IncomingMessage): Record<string, string> {
  const headers = dictionary<string>();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value === undefined) continue;
    headers[name] = textOf(Array.isArray(value) ? value.join(", ") : value);
  }
  return headers;
}

export function failedError(error: Error, reused: boolean): ByteTransportError {
  if (error instanceof ByteTransportError) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "EUNKNOWN";
  const stale = reused && (code === "ECONNRESET" || code === "EPIPE");
  const Kind = stale ? StaleConnection : ByteTransportError;
  return new Kind(`request failed: ${error.message}`, code, { cause: error });
}

export function abortedError(): ByteTransportError {
  return new ByteTransportError("request aborted by the caller", "ABORTED");
}

export function timedOutError(what: string, limitMs: number): ByteTransportError {
  return new ByteTransportError(`${what} for ${limitMs} ms`, "ETIMEDOUT");
}

function cut(): ByteTransportError {
  return new ByteTransportError("answer broke off", "ECONNRESET");
}
