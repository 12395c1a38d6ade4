/**
 * The socket transport: a Client over an injected byte transport, JSON both ways.
 *
 * Bounds: an answer of `bodyBytesMax`, a watch frame of `frameBytesMax`; beyond them the call fails
 * with a named error instead of growing the heap. No request is retried here: only the caller knows
 * whether a second try is harmless (`retry.ts`, work queue, reflector).
 */
import type { ByteRequest, ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import type { Client } from "./client.ts";
import { textOrJson } from "./direct.ts";
import type { ApiRequest, Transport } from "./transport.ts";
import { apiErrorOf } from "./transport.ts";
import { encodePath } from "./path.ts";
import { verbsClient } from "./verbs.ts";
import { watchFrames } from "./watch-frames.ts";

interface SocketClientOptions {
  readonly userAgent: string;
  /** Asked per request, so a rotated token is used at once. Absent: a client certificate speaks. */
  readonly bearerToken?: () => string;
  readonly bodyBytesMax: number;
  readonly frameBytesMax: number;
}

/** Sizes that fit 150,000 Pods in one list and any object a store takes; for `cmd` to pass on. */
export const socketClientLimits = {
  bodyBytesMax: 448 * 1024 * 1024,
  frameBytesMax: 16 * 1024 * 1024,
} as const;

export function socketClient(deps: { http: ByteTransport }, options: SocketClientOptions): Client {
  return verbsClient(socketExchange(deps.http, options));
}

function socketExchange(http: ByteTransport, options: SocketClientOptions): Transport {
  return {
    async call(request) {
      const response = await http.send(byteRequest(request, options));
      return socketAnswer(response, options.bodyBytesMax);
    },
    async watch(request, deliver) {
      const response = await http.send(byteRequest(request, options));
      if (response.status >= 400) {
        await socketAnswer(response, options.bodyBytesMax);
        return;
      }
      await socketWatch(response, request.signal, watchFrames(options.frameBytesMax, deliver));
    },
  };
}

function byteRequest(request: ApiRequest, options: SocketClientOptions): ByteRequest {
  const path = encodePath(request.path);
  const token = options.bearerToken?.();
  const headers: Record<string, string> = {
    accept: request.accept,
    "user-agent": options.userAgent,
  };
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  if (request.body !== undefined) headers["content-type"] = request.contentType;
  return {
    method: request.method,
    target: request.query === "" ? path : `${path}?${request.query}`,
    headers,
    ...(request.body === undefined
      ? {}
      : { body: new TextEncoder().encode(JSON.stringify(request.body)) }),
    signal: request.signal ?? new AbortController().signal,
  };
}

async function socketAnswer(response: ByteResponse, limitBytes: number): Promise<unknown> {
  const bytes = await response.read(limitBytes);
  if (bytes === "too-large") throw new Error(`answer is larger than ${limitBytes} bytes`);
  const body = textOrJson(bytes);
  if (response.status < 400) return body;
  throw apiErrorOf(response.status, body, response.headers["retry-after"]);
}

/** An abort is a clean end; a cut is an error, so the caller knows to back off. */
async function socketWatch(
  response: ByteResponse,
  signal: AbortSignal | undefined,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  try {
    await response.stream((chunk) => {
      if (signal?.aborted !== true) take(chunk);
    });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
