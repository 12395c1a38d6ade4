/**
 * The only mapping from thrown values to Status, and from Status to an answer.
 *
 * ApiError carries its Status. Any other thrown value is a bug or an environment failure: it becomes 500, the chain
 * logs it, and its text is kept (as in upstream's InternalError).
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
