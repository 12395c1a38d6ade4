/**
 * The socket transport: a Client over an injected byte transport, JSON both ways, or protobuf for built-in kinds.
 *
 * Patches, custom resources, discovery and values that protobuf cannot hold are always JSON. A server that refuses
 * a protobuf body (415) has not read it: the request is sent once more, and that kind is JSON from then on.
 *
 * Bounds: an answer of `bodyBytesMax`, a watch frame of `frameBytesMax`; beyond them the call fails
 * with a named error instead of growing the heap. No request is retried here: only the caller knows
 * whether a second try is harmless (`retry.ts`, work queue, reflector).
 */
import type { ByteRequest, ByteResponse, ByteTransport } from "#platform/byte-transport.ts";
import { ApiError } from "#api/status.ts";
import type { Client } from "./client.ts";
import { textOrJson } from "./direct.ts";
import type { ApiRequest, Transport } from "./transport.ts";
import { apiErrorOf, tooLongAnswer } from "./transport.ts";
import { encodePath } from "./path.ts";
import { verbsClient } from "./verbs.ts";
import { acceptedTypes, type ObjectCoding } from "./object-coding.ts";
import { codedWatchFrames, watchFrames } from "./watch-frames.ts";

interface SocketClientOptions {
  readonly userAgent: string;
  /** Called for each request, so that a rotated token is used immediately. Absent: a client certificate. */
  readonly bearerToken?: () => string;
  readonly bodyBytesMax: number;
  readonly frameBytesMax: number;
  /** Absent: only JSON. */
  readonly coding?: ObjectCoding;
}

/** Large enough for 150,000 Pods in one list and for any storable object; used by `cmd`. */
export const socketClientLimits = {
  bodyBytesMax: 448 * 1024 * 1024,
  frameBytesMax: 16 * 1024 * 1024,
} as const;

export function socketClient(deps: { http: ByteTransport }, options: SocketClientOptions): Client {
  return verbsClient(socketExchange(deps.http, options));
}

function socketExchange(http: ByteTransport, options: SocketClientOptions): Transport {
  /** Kinds for which the server demands JSON bodies; at most as many as there are built-in kinds. */
  const refused = new Set<string>();
  return {
    async call(request) {
      const body = codedBody(request, options.coding, refused);
      if (body === undefined) return socketCall(http, request, options, jsonBody(request));
      try {
        return await socketCall(http, request, options, body);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status.code !== 415) throw error;
        refused.add(kindKey(request));
        return socketCall(http, request, options, jsonBody(request));
      }
    },
    async watch(request, deliver) {
      const response = await http.send(byteRequest(request, options, undefined));
      if (response.status >= 400) {
        await socketAnswer(response, request, options);
        return;
      }
      const frames = frameReader(response, request, options, deliver);
      await socketWatch(response, request.signal, frames);
    },
  };
}

interface Body {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

async function socketCall(
  http: ByteTransport,
  request: ApiRequest,
  options: SocketClientOptions,
  body: Body | undefined,
): Promise<unknown> {
  return socketAnswer(await http.send(byteRequest(request, options, body)), request, options);
}

function jsonBody({ body, contentType }: ApiRequest): Body | undefined {
  if (body === undefined) return undefined;
  return { contentType, bytes: new TextEncoder().encode(JSON.stringify(body)) };
}

/** Undefined: the body is sent as JSON. Patches have media types of their own. */
function codedBody(
  request: ApiRequest,
  coding: ObjectCoding | undefined,
  refused: ReadonlySet<string>,
): Body | undefined {
  const { body, kind, method, bodyKind } = request;
  if (coding === undefined || body === undefined || kind === undefined) return undefined;
  if (method === "PATCH" || refused.has(kindKey(request))) return undefined;
  const bytes = coding.encode({ ...bodyKind, ...body });
  return bytes && { contentType: coding.mediaType, bytes };
}

function kindKey({ kind }: ApiRequest): string {
  return `${kind?.apiVersion} ${kind?.kind}`;
}

function byteRequest(
  request: ApiRequest,
  options: SocketClientOptions,
  body: Body | undefined,
): ByteRequest {
  const path = encodePath(request.path);
  const token = options.bearerToken?.();
  const { coding } = options;
  const isCoded = coding !== undefined && request.kind !== undefined;
  const headers: Record<string, string> = {
    accept: isCoded ? acceptedTypes(coding, request.accept) : request.accept,
    "user-agent": options.userAgent,
  };
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = body.contentType;
  return {
    method: request.method,
    target: request.query === "" ? path : `${path}?${request.query}`,
    headers,
    ...(body === undefined ? {} : { body: body.bytes }),
    signal: request.signal ?? new AbortController().signal,
  };
}

async function socketAnswer(
  response: ByteResponse,
  { isLazy, bodyBytesMax: own }: ApiRequest,
  { bodyBytesMax: most, coding }: SocketClientOptions,
): Promise<unknown> {
  const bodyBytesMax = Math.min(own ?? most, most);
  const bytes = await response.read(bodyBytesMax);
  if (bytes === "too-large") throw tooLongAnswer(bodyBytesMax);
  const body = isIn(coding, response) ? coding.decode(bytes, isLazy) : textOrJson(bytes);
  if (response.status < 400) return body;
  throw apiErrorOf(response.status, body, response.headers["retry-after"]);
}

function frameReader(
  response: ByteResponse,
  { isLazy, query }: ApiRequest,
  { frameBytesMax, coding }: SocketClientOptions,
  deliver: Parameters<Transport["watch"]>[1],
): (chunk: Uint8Array) => void {
  if (!isIn(coding, response)) return watchFrames(frameBytesMax, deliver);
  const isFirstState = new URLSearchParams(query).get("sendInitialEvents") === "true";
  return codedWatchFrames(coding, { frameBytesMax, isLazy, isFirstState }, deliver);
}

/** The content type of the answer decides. */
function isIn(coding: ObjectCoding | undefined, { headers }: ByteResponse): coding is ObjectCoding {
  const [type = ""] = headers["content-type"]?.split(";", 1) ?? [];
  return coding !== undefined && type.trim() === coding.mediaType;
}

/** An abort ends the watch cleanly; a broken connection is an error, so that the caller backs off. */
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
