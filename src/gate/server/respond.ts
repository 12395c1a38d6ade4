/** Makes answers: objects and Status as bytes (`#forms/body.ts`), unencoded for direct callers; gzip only above 128 KiB. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Holding } from "#platform/ledger.ts";
import { bodyOf } from "#forms/body.ts";
import { bodyBytes, charge } from "./charges.ts";
import { acceptsGzip, gzipBytesMin, gzipLevel } from "#forms/gzip.ts";
import type { Negotiated } from "#forms/negotiate.ts";

const compress = promisify(gzip);
const encoder = new TextEncoder();

/** Answers with a whole object. Direct callers get it frozen and by reference. */
export function objectResponse(
  request: PlainRequest,
  status: number,
  object: object,
  form: Negotiated,
  headers: Headers = {},
): PlainResponse {
  if (request.peer.kind === "direct") return { kind: "object", status, headers, object };
  return bytesResponse(status, [bodyOf(object, form)], form.mediaType, headers);
}

export function bytesResponse(
  status: number,
  body: readonly Uint8Array[],
  mediaType: string,
  headers: Headers = {},
): Extract<PlainResponse, { kind: "bytes" }> {
  return { kind: "bytes", status, headers: { "content-type": mediaType, ...headers }, body };
}

export function textResponse(status: number, text: string, headers: Headers = {}): PlainResponse {
  const plain = { "x-content-type-options": "nosniff", ...headers };
  return bytesResponse(status, [encoder.encode(text)], "text/plain; charset=utf-8", plain);
}

/** Compresses an answer if the client accepts gzip and the body is long enough. @throws ApiError 429, 413. */
export async function compressBody(
  request: PlainRequest,
  response: PlainResponse,
  holding: Holding,
): Promise<PlainResponse> {
  if (response.kind !== "bytes" || response.headers["content-encoding"] !== undefined) {
    return response;
  }
  const length = bodyBytes(response.body);
  if (length < gzipBytesMin || !acceptsGzip(request.headers["accept-encoding"])) return response;
  // Several pieces are first copied into one, and then packed; a single piece keeps its packed form.
  const isShared = response.body.length === 1 && response.isShared === true;
  if (response.body.length > 1) charge(holding, "answer", length);
  const packed = await packedBody(response.body);
  const headers = { ...response.headers, "content-encoding": "gzip", vary: "Accept-Encoding" };
  return { ...response, headers, body: [packed], isShared };
}

/** Compressed forms of bodies that are sent repeatedly (OpenAPI); each is freed with its body. */
const packedBodies = new WeakMap<Uint8Array, Promise<Uint8Array>>();

function packedBody(body: readonly Uint8Array[]): Promise<Uint8Array> {
  const [only] = body;
  if (only === undefined || body.length > 1)
    return compress(Buffer.concat(body), { level: gzipLevel });
  const packed = packedBodies.get(only) ?? compress(only, { level: gzipLevel });
  packedBodies.set(only, packed);
  return packed;
}
