/** A document that is sent to many: its bytes, and the hash that names them. */
import { createHash } from "node:crypto";

export interface EncodedDocument {
  readonly body: Uint8Array;
  /** Upper-case hex SHA-512 of the body, without quotes: upstream's ETag and `hash` parameter. */
  readonly hash: string;
}

const encoder = new TextEncoder();

export function encodeJson(document: object): EncodedDocument {
  return withHash(encoder.encode(JSON.stringify(document)));
}

export function withHash(body: Uint8Array): EncodedDocument {
  return { body, hash: createHash("sha512").update(body).digest("hex").toUpperCase() };
}
