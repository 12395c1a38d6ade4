/**
 * Reads a call's head from the fields of a request's header block. Returns nothing when HTTP/2 calls the fields
 * malformed (RFC 9113, 8.2 and 8.3).
 */
import type { HeaderField } from "#wire/grpc-hpack.ts";
import type { CallHead } from "./call-head.ts";

type MutableHead = { -readonly [name in keyof CallHead]: CallHead[name] };

/** One bit per pseudo-header field. */
const Seen = { method: 1, path: 2, scheme: 4, authority: 8 } as const;
const needed = Seen.method | Seen.path | Seen.scheme;

/** Undefined: the fields are malformed. */
export function requestHead(fields: readonly HeaderField[]): CallHead | undefined {
  const head: MutableHead = {
    method: "",
    path: "",
    contentType: "",
    encoding: "",
    timeout: "",
    authorization: "",
    contentLength: undefined,
  };
  let seen = 0;
  let inPseudo = true;
  for (const field of fields) {
    if (!field.isWellFormed) return undefined;
    if (field.name[0] === ":") {
      const bit = pseudoBit(head, field);
      if (!inPseudo || bit === 0 || (seen & bit) !== 0) return undefined;
      seen |= bit;
    } else {
      inPseudo = false;
      if (!takeField(head, field)) return undefined;
    }
  }
  return (seen & needed) === needed && head.path !== "" ? head : undefined;
}

/** gRPC uses no request trailers, but they must be well-formed and without pseudo-header fields. */
export function areTrailers(fields: readonly HeaderField[]): boolean {
  return fields.every(({ name, isWellFormed }) => isWellFormed && name[0] !== ":");
}

/** Stores the field in `head`. @returns its bit; 0: unknown. */
function pseudoBit(head: MutableHead, { name, value }: HeaderField): number {
  switch (name) {
    case ":path":
      head.path = value;
      return Seen.path;
    case ":method":
      head.method = value;
      return Seen.method;
    case ":scheme":
      return Seen.scheme;
    case ":authority":
      return Seen.authority;
    default:
      return 0;
  }
}

/** @returns false for a field that HTTP/2 forbids. */
function takeField(head: MutableHead, { name, value }: HeaderField): boolean {
  switch (name) {
    case "content-type":
      head.contentType = value;
      return true;
    case "grpc-encoding":
      head.encoding = value;
      return true;
    case "grpc-timeout":
      head.timeout = value;
      return true;
    case "authorization":
      // Two different credentials are joined, so that neither is valid.
      head.authorization = head.authorization === "" ? value : `${head.authorization}, ${value}`;
      return true;
    case "te":
      return value === "trailers";
    case "content-length":
      // A repeated length must have the same value.
      if (!/^\d{1,15}$/.test(value)) return false;
      if (head.contentLength !== undefined && head.contentLength !== Number(value)) return false;
      head.contentLength = Number(value);
      return true;
    case "connection":
    case "keep-alive":
    case "proxy-connection":
    case "transfer-encoding":
    case "upgrade":
      return false;
    default:
      return true;
  }
}
