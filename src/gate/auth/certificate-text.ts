/**
 * Decodes the text of a name in a certificate by its string type (X.690, RFC 5280 4.1.2.4), with the checks of
 * upstream's parser (Go's crypto/x509).
 *
 * Holds  different values of one type never give the same text. Bytes that are invalid for the type give undefined. A
 *        byte order mark is a character. A NUL, at which a reader in C would end the name, is refused. UniversalString
 *        is refused, as in upstream.
 * Differs from upstream: upstream accepts a NUL, and strips a trailing NUL of a BMPString.
 */
import { type DerValue, Tag } from "./der.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** T.61 is read as Latin-1, as other implementations do. */
const readers = new Map<number, (bytes: Uint8Array) => string | undefined>([
  [Tag.utf8, (bytes) => utf8.decode(bytes)],
  [Tag.printable, (bytes) => matching(/^[A-Za-z0-9 '()+,\-./:=?*&]*$/, bytes)],
  [Tag.ia5, (bytes) => matching(/^[^\x80-\xff]*$/, bytes)],
  [Tag.numeric, (bytes) => matching(/^[0-9 ]*$/, bytes)],
  [Tag.t61, latin1],
  [Tag.bmp, bmpText],
]);

export function textOfName({ tag, content }: DerValue): string | undefined {
  try {
    const text = readers.get(tag)?.(content);
    return text?.includes("\0") === true ? undefined : text;
  } catch {
    return undefined;
  }
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

function matching(pattern: RegExp, bytes: Uint8Array): string | undefined {
  const text = latin1(bytes);
  return pattern.test(text) ? text : undefined;
}

/** Reads UCS-2, big-endian: two octets per character, no surrogates and no noncharacters. */
function bmpText(bytes: Uint8Array): string | undefined {
  if (bytes.length % 2 !== 0) return undefined;
  let text = "";
  for (let at = 0; at < bytes.length; at += 2) {
    const code = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    const isSurrogate = code >= 0xd800 && code <= 0xdfff;
    const isReserved = code >= 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
    if (isSurrogate || isReserved) return undefined;
    text += String.fromCharCode(code);
  }
  return text;
}
