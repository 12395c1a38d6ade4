/** Whether a client already has the content (RFC 9110, 13.1): If-None-Match, or else a date. */
import type { PlainRequest } from "#platform/http.ts";

const codings = ["", "+gzip", "+zstd"];

/** Weak comparison: the tag of any coding identifies the content. `changedMs` is compared in whole seconds. */
export function hasContent(request: PlainRequest, etag: string, changedMs: number): boolean {
  const tags = request.headers["if-none-match"];
  if (tags !== undefined) return namesTag(tags, etag);
  const date = request.headers["if-modified-since"];
  if (date === undefined) return false;
  const sinceMs = Date.parse(date);
  return Number.isFinite(sinceMs) && Math.floor(changedMs / 1000) * 1000 <= sinceMs;
}

/**
 * Whether the header is `*`, or a list of tags, with or without `W/`, that contains `etag`; the relay's tags contain
 * no quote and no comma.
 */
function namesTag(header: string, etag: string): boolean {
  if (header.trim() === "*") return true;
  for (const part of header.split(",")) {
    const tag = /^(?:W\/)?"([^"]*)"$/.exec(part.trim())?.[1];
    if (tag !== undefined && codings.some((coding) => tag === etag + coding)) return true;
  }
  return false;
}
