/**
 * The bearer token that a request carries: in its Authorization header, or, of WebSocket clients, which cannot set
 * headers, as a subprotocol.
 *
 * Source: k8s.io/apiserver pkg/authentication/request/bearertoken and request/websocket, 1.36. The header is
 *         trimmed and split at single spaces: the second word is the token, and a third word is not looked at.
 */
import type { PlainRequest } from "./http.ts";

export type CarriedToken =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "none" }
  /** A token that a subprotocol carries cannot be read: a bad credential, not the lack of one. */
  | { readonly kind: "unreadable"; readonly message: string };

type Headers = PlainRequest["headers"];

const none: CarriedToken = { kind: "none" };
const scheme = "bearer";
/** A character that Go trims. JavaScript's `trim` would keep U+0085 and remove the byte order mark. */
const space = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;
const subprotocolPrefix = "base64url.bearer.authorization.k8s.io.";

/** Upstream's warning for a token behind a second space, which makes the request anonymous. */
export const extraSpaceWarning =
  "the provided Authorization header contains extra space before the bearer token, and is ignored";

export function hasExtraSpace(headers: Headers): boolean {
  return secondWord(headers["authorization"] ?? "") === "";
}

/** Returns the token of an Authorization header. `header`: the header's value. */
export function tokenOfHeader(header: string): CarriedToken {
  const token = secondWord(header) ?? "";
  return token === "" ? none : { kind: "token", token };
}

/** Returns the word behind `Bearer `; undefined: there is none. One pass, because a client may send a header of spaces. */
function secondWord(header: string): string | undefined {
  const text = trimmed(header);
  const isBearer = text.slice(0, scheme.length).toLowerCase() === scheme;
  if (!isBearer || text[scheme.length] !== " ") return undefined;
  const start = scheme.length + 1;
  const end = text.indexOf(" ", start);
  return text.slice(start, end < 0 ? text.length : end);
}

function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && space.test(text[start] ?? "")) start++;
  while (end > start && space.test(text[end - 1] ?? "")) end--;
  return text.slice(start, end);
}

export function tokenOfSubprotocols(headers: Headers): CarriedToken {
  if (!isWebSocket(headers)) return none;
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());
  const carrying = offered.filter(isBearerProtocol);
  const [found] = carrying;
  if (found === undefined) return none;
  if (carrying.length > 1)
    return unreadable("multiple base64.bearer.authorization tokens specified");
  const bytes = base64url(found.slice(subprotocolPrefix.length));
  if (bytes === undefined) return unreadable("invalid base64.bearer.authorization token encoding");
  const token = textOf(bytes);
  if (token === undefined) return unreadable("invalid base64.bearer.authorization token");
  if (token === "") return none;
  // The subprotocol with the token is removed, so the client must offer another one for the server to select.
  if (offered.length === 1) return unreadable("missing additional subprotocol");
  return { kind: "token", token };
}

/** Whether an offered subprotocol carries a token, valid or not, so that it is no protocol to select. */
export function isBearerProtocol(protocol: string): boolean {
  return protocol.startsWith(subprotocolPrefix);
}

function isWebSocket({ upgrade = "", connection = "" }: Headers): boolean {
  return upgrade.toLowerCase() === "websocket" && connection.toLowerCase().includes("upgrade");
}

function unreadable(message: string): CarriedToken {
  return { kind: "unreadable", message };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function base64url(text: string): Uint8Array | undefined {
  const isEncoding = /^[A-Za-z0-9_-]*$/.test(text) && text.length % 4 !== 1;
  return isEncoding ? Buffer.from(text, "base64url") : undefined;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
