/**
 * The handshake of a watch over WebSocket, with the answers of the library in upstream's server.
 *
 * Holds  a client must send an Origin that is a URI, else it gets 403; any URI is accepted. It may offer at most one
 *        subprotocol, which is accepted. The subprotocol that carries its token is not counted, and never sent back.
 */
import type { PlainRequest, PlainResponse } from "#platform/http.ts";
import { handshakeAnswer, offeredProtocols } from "#wire/websocket/frames.ts";
import { isBearerProtocol } from "#platform/bearer-token.ts";

type Handshake =
  | { readonly kind: "none" }
  /** `headers`: headers of the 101. */
  | { readonly kind: "agreed"; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: "refused"; readonly response: PlainResponse };

export function isWebSocket({ upgrade }: PlainRequest): boolean {
  return upgrade?.toLowerCase() === "websocket";
}

/** Checks the handshake. "none": the request does not ask for a WebSocket. */
export function handshakeOf(request: PlainRequest): Handshake {
  if (!isWebSocket(request)) return { kind: "none" };
  const { headers } = request;
  const key = headers["sec-websocket-key"] ?? "";
  if (key === "") return refused(400, "mismatch challenge/response");
  if (headers["sec-websocket-version"] !== "13") {
    const spoken = { "sec-websocket-version": "13" };
    return refused(400, "missing or bad WebSocket Version", spoken);
  }
  if (!isOrigin(headers["origin"] ?? "")) return refused(403);
  const protocols = offeredProtocols(headers).filter((one) => !isBearerProtocol(one));
  if (protocols.length > 1) return refused(400);
  return { kind: "agreed", headers: handshakeAnswer(key, protocols[0] ?? "") };
}

/** Whether the text is an absolute URI or path; `null`, which browsers send for opaque origins, is neither. */
function isOrigin(text: string): boolean {
  return /^(?:\/|[a-z][a-z\d+.-]*:)[^\s]*$/i.test(text);
}

/** Refusal with the text of upstream's library, which sends no content type. */
function refused(
  status: number,
  text = "",
  headers: Readonly<Record<string, string>> = {},
): Handshake {
  const body = text === "" ? [] : [Buffer.from(text)];
  return { kind: "refused", response: { kind: "bytes", status, headers, body } };
}
