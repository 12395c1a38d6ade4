/** Answers that are the same for many clients: cached bytes with an ETag; 304 when the client has them. */
import type { Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import { bytesResponse } from "#server/respond.ts";
import type { EncodedDocument } from "./openapi/encoded-document.ts";

export function documentResponse(
  request: PlainRequest,
  document: EncodedDocument,
  contentType: string,
  headers: Headers,
): PlainResponse {
  const etag = `"${document.hash}"`;
  const all = { ...headers, etag };
  if (hasTag(request.headers["if-none-match"], etag)) {
    return { kind: "bytes", status: 304, headers: all, body: [] };
  }
  return bytesResponse(200, [document.body], contentType, all);
}

function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((part) => {
    const tag = part.trim();
    return tag === "*" || tag.replace(/^W\//, "") === etag;
  });
}
