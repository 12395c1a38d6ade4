/**
 * The one mapping from thrown things to Status, and from Status to an answer.
 *
 * ApiError carries its Status; anything else is a bug or a broken world: 500, logged by the chain, its
 * text kept (as upstream's InternalError does).
 */
import { type Status, toStatus } from "#api/status.ts";
import type { Headers, PlainRequest, PlainResponse } from "#platform/http.ts";
import { negotiateError } from "#forms/negotiate.ts";
import { objectResponse } from "./respond.ts";

/** Retry-After mirrors details.retryAfterSeconds. */
function statusHeaders(status: Status): Headers {
  const seconds = status.details?.retryAfterSeconds ?? 0;
  return seconds > 0 ? { "retry-after": String(seconds) } : {};
}

export function statusResponse(
  request: PlainRequest,
  query: URLSearchParams,
  error: unknown,
): PlainResponse {
  const status = toStatus(error);
  const form = negotiateError(request.headers, query);
  return objectResponse(request, status.code ?? 500, status, form, statusHeaders(status));
}
