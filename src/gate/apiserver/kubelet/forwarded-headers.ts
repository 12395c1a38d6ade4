/**
 * Selects the headers of a request that is passed on, and of its answer.
 *
 * Holds  credentials and identity of the client are not passed on: Authorization, the bearer subprotocol of WebSocket,
 *        Impersonate-* and X-Remote-*. Cookies are passed on, as in upstream, because they belong to the backend.
 *        Headers of one connection (RFC 9110 7.6.1) are not passed on, nor headers that Connection lists.
 */
import { dictionary } from "#base/own.ts";
import type { ByteResponse } from "#platform/byte-transport.ts";
import type { Headers, PlainRequest } from "#platform/http.ts";
import { isBearerProtocol } from "#platform/bearer-token.ts";
import { offeredProtocols } from "#wire/websocket/frames.ts";

const ofOneConnection = [
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
const notForward: ReadonlySet<string> = new Set([
  ...ofOneConnection,
  "authorization",
  "content-length",
  "expect",
]);
const identityPrefixes = ["impersonate-", "x-remote-"];
/** CORS headers, which a backend must not set for this server's origin, as upstream. */
const crossOrigin = ["credentials", "headers", "methods", "origin"].map(
  (name) => `access-control-allow-${name}`,
);
const notBack: ReadonlySet<string> = new Set([...ofOneConnection, ...crossOrigin, "set-cookie"]);

/** Headers of the request to the backend. `more` replaces the client's headers. */
export function forwardedHeaders(
  request: PlainRequest,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const headers = dictionary<string>();
  const listed = new Set(listedIn(request.headers["connection"]));
  for (const [name, value] of Object.entries(request.headers)) {
    const isIdentity = identityPrefixes.some((prefix) => name.startsWith(prefix));
    if (isIdentity || notForward.has(name) || listed.has(name) || name.startsWith(":")) continue;
    headers[name] = value;
  }
  const protocols = offeredProtocols(headers).filter((one) => !isBearerProtocol(one));
  delete headers["sec-websocket-protocol"];
  if (protocols.length > 0) headers["sec-websocket-protocol"] = protocols.join(", ");
  const { peer } = request;
  if (peer.kind === "socket") {
    const before = headers["x-forwarded-for"];
    headers["x-forwarded-for"] = before === undefined ? peer.address : `${before}, ${peer.address}`;
  }
  return Object.assign(headers, more);
}

/** Headers of the answer, without Content-Length, because the body may be sent in other pieces. */
export function returnedHeaders(
  response: ByteResponse,
): Record<string, string | readonly string[]> {
  const headers = dictionary<string | readonly string[]>();
  const listed = new Set(listedIn(response.headers["connection"]));
  for (const [name, value] of Object.entries(response.headers)) {
    if (!notBack.has(name) && !listed.has(name)) headers[name] = value;
  }
  if (response.cookies !== undefined) headers["set-cookie"] = response.cookies;
  delete headers["content-length"];
  return headers;
}

/** Headers of a 101, unchanged except for its framing. */
export function switchedHeaders(response: ByteResponse): Headers {
  const { "content-length": _length, "transfer-encoding": _encoding, ...rest } = response.headers;
  return rest;
}

function listedIn(connection: string | undefined): readonly string[] {
  return (connection ?? "").split(",").map((name) => name.trim().toLowerCase());
}
