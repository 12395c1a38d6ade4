/**
 * Headers that the operator wants on every answer over a socket: which web pages may read it (CORS), and that
 * browsers come over TLS alone (HSTS). Without such wishes the handler stays as it is.
 *
 * Source: k8s.io/apiserver/pkg/server/filters, cors.go and hsts.go, 1.36.
 */
import type { Headers, PlainHandler, PlainResponse } from "#platform/http.ts";

export interface AnswerHeaders {
  /** Whether a page of this origin may read answers; absent: none may. */
  readonly allowsOrigin?: (origin: string) => boolean;
  /** Value of Strict-Transport-Security; absent: it is not sent. */
  readonly transportSecurity?: string;
}

const corsHeaders = {
  "access-control-allow-methods": "POST, GET, OPTIONS, PUT, DELETE, PATCH",
  "access-control-allow-headers":
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
  "access-control-expose-headers": "Date",
  "access-control-allow-credentials": "true",
};

/** A longer one belongs to no browser, and is not matched. */
const originBytesMax = 4_096;

export function withAnswerHeaders(handler: PlainHandler, wanted: AnswerHeaders): PlainHandler {
  const { allowsOrigin, transportSecurity } = wanted;
  if (allowsOrigin === undefined && transportSecurity === undefined) return handler;
  const always =
    transportSecurity === undefined ? {} : { "strict-transport-security": transportSecurity };
  return async (request) => {
    const headers: Readonly<Record<string, string>> = {
      ...always,
      ...originHeaders(request.headers["origin"], allowsOrigin),
    };
    const isPreflight =
      request.method === "OPTIONS" && headers["access-control-allow-origin"] !== undefined;
    if (isPreflight) return { kind: "bytes", status: 204, headers, body: [] };
    return withHeaders(await handler(request), headers);
  };
}

function originHeaders(
  origin: string | undefined,
  allows: AnswerHeaders["allowsOrigin"],
): Readonly<Record<string, string>> {
  if (origin === undefined || origin.length > originBytesMax || allows?.(origin) !== true)
    return {};
  return { "access-control-allow-origin": origin, ...corsHeaders };
}

/** What an answer says itself stays. */
function withHeaders(answer: PlainResponse, headers: Headers): PlainResponse {
  if (answer.kind !== "bytes" && answer.kind !== "stream") return answer;
  return { ...answer, headers: { ...headers, ...answer.headers } };
}
