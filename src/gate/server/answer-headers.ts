/**
 * Headers that the operator configures for every answer over a socket: the web origins that may read the answer (CORS),
 * and HSTS, which makes browsers use TLS only. Without configuration the handler is unchanged.
 *
 * Source: k8s.io/apiserver/pkg/server/filters, cors.go and hsts.go, 1.36.
 */
import type { Headers, PlainHandler, PlainResponse } from "#platform/http.ts";

export interface AnswerHeaders {
  /** Whether a page of this origin may read answers. Absent: no page may. */
  readonly allowsOrigin?: (origin: string) => boolean;
  /** Value of Strict-Transport-Security. Absent: the header is not sent. */
  readonly transportSecurity?: string;
}

const corsHeaders = {
  "access-control-allow-methods": "POST, GET, OPTIONS, PUT, DELETE, PATCH",
  "access-control-allow-headers":
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
  "access-control-expose-headers": "Date",
  "access-control-allow-credentials": "true",
};

/** Maximum length of an origin. Browsers send none that long; a longer one is not matched. */
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

/** Adds headers; headers that the answer already has stay. */
function withHeaders(answer: PlainResponse, headers: Headers): PlainResponse {
  if (answer.kind !== "bytes" && answer.kind !== "stream") return answer;
  return { ...answer, headers: { ...headers, ...answer.headers } };
}
