/**
 * One HTTP/2 connection to a server, as a client: requests are streams of it, so those of a turn leave in one
 * encrypted write.
 *
 * Limits the server's own bound on open streams (`spare`); bodies are read at the reader's pace, within
 *        `windowBytes` for a stream; the head within nghttp2's 64 KiB. No deadline but the request's signal.
 * Holds  a connection that said nothing between a request and the end of its caller's patience takes no
 *        further request: a dead one would otherwise swallow each until the host notices.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, constants } from "node:http2";
import { dictionary } from "#base/own.ts";
import { type ByteRequest, type ByteResponse, ByteTransportError } from "../../byte-transport.ts";
import type { Host } from "../../byte-transport.ts";
import { textOf } from "./header-text.ts";
import { abortedError, readAll, sentHeaders, StaleConnection, streamAll } from "./http-client.ts";

/** Number of streams assumed when the server gives no limit: RFC 9113 advises at least a hundred. */
const streamsUntold = 100;
/** Number of bytes of an answer that may be under way before they are read. */
export const windowBytes = 1 << 20;

export class Http2Client {
  readonly #session: ClientHttp2Session;
  #open = 0;
  /** Number of answer heads received so far. */
  #heard = 0;
  #isRetired = false;

  constructor(session: ClientHttp2Session, idleMs: number) {
    this.#session = session;
    const retire = (): void => this.retire();
    session.on("goaway", retire).on("close", retire).on("error", retire);
    session.setTimeout(idleMs, () => {
      if (this.#open === 0) this.retire();
    });
    session.unref();
  }

  get isRetired(): boolean {
    return this.#isRetired || this.#session.destroyed || this.#session.closed;
  }

  /** Number of further requests that the connection takes now. */
  get spare(): number {
    const most = this.#session.remoteSettings.maxConcurrentStreams ?? streamsUntold;
    return this.isRetired ? 0 : most - this.#open;
  }

  /** Makes the connection take no further request; requests under way finish. */
  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    if (!this.#session.destroyed) this.#session.close();
  }

  send(host: Host, request: ByteRequest): Promise<ByteResponse> {
    const { body, signal } = request;
    if (signal.aborted) return Promise.reject(abortedError());
    return new Promise((resolve, reject) => {
      const wasUsed = this.#heard > 0;
      const options = { endStream: body === undefined, signal };
      const stream = this.#session.request(headOf(host, request), options);
      this.#follow(stream, signal);
      let isAnswered = false;
      // Makes an error only when it has a reader: making one costs 7 us.
      const fail = (cause?: Error): void => {
        if (!isAnswered) reject(this.#failure(stream, signal, wasUsed, cause));
      };
      stream.on("error", fail).on("close", fail);
      stream.on("response", (headers) => {
        this.#heard++;
        isAnswered = true;
        resolve(responseOf(stream, headers));
      });
      if (body !== undefined) stream.end(body);
    });
  }

  /** Counts the open stream. Retires the connection if no answer arrived on it before the signal aborted. */
  #follow(stream: ClientHttp2Stream, signal: AbortSignal): void {
    if (this.#open++ === 0) this.#session.ref();
    const heard = this.#heard;
    const abort = (): void => {
      if (this.#heard === heard) this.retire();
    };
    signal.addEventListener("abort", abort, { once: true });
    stream.on("close", () => {
      signal.removeEventListener("abort", abort);
      if (--this.#open === 0) this.#session.unref();
    });
  }

  #failure(
    { rstCode }: ClientHttp2Stream,
    { aborted }: AbortSignal,
    wasUsed: boolean,
    cause: Error | undefined,
  ): ByteTransportError {
    if (aborted) return abortedError();
    // The server did not process a stream that it refused (RFC 9113, 8.7).
    const isStale = wasUsed || rstCode === constants.NGHTTP2_REFUSED_STREAM;
    const Kind = isStale ? StaleConnection : ByteTransportError;
    const why = cause?.message ?? "the stream was closed before an answer";
    return new Kind(`request failed: ${why}`, "ECONNRESET", { cause });
  }
}

function headOf({ name, port }: Host, request: ByteRequest): Record<string, string | string[]> {
  const { method, target, body } = request;
  const authority = `${name.includes(":") ? `[${name}]` : name}:${port}`;
  const head = {
    ":method": method,
    ":scheme": "https",
    ":authority": authority,
    ":path": target,
    ...(sentHeaders(request) as Record<string, string | string[]>), // values are texts
  };
  return body === undefined ? head : { ...head, "content-length": String(body.length) };
}

function responseOf(
  stream: ClientHttp2Stream,
  headers: Readonly<Record<string, string | string[] | number | undefined>>,
): ByteResponse {
  const isWhole = (): boolean => stream.rstCode === constants.NGHTTP2_NO_ERROR;
  return {
    status: Number(headers[":status"]),
    headers: plainHeaders(headers),
    read: (limitBytes) => readAll(stream, isWhole, limitBytes),
    stream: (take) => streamAll(stream, isWhole, take),
  };
}

function plainHeaders(
  given: Readonly<Record<string, string | string[] | number | undefined>>,
): Record<string, string> {
  const headers = dictionary<string>();
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name.startsWith(":")) continue;
    headers[name] = textOf(Array.isArray(value) ? value.join(", ") : String(value));
  }
  return headers;
}
