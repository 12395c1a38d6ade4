/** Base64 of UTF-8 text and its decoded length, without host types. */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const encoder = new TextEncoder();

export function encodeBase64Text(text: string): string {
  return encodeBase64(encoder.encode(text));
}

export function encodeBase64(bytes: Uint8Array): string {
  let out = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const word = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    out += digit(word >> 18) + digit(word >> 12);
    out += left > 1 ? digit(word >> 6) : "=";
    out += left > 2 ? digit(word) : "=";
  }
  return out;
}

function digit(bits: number): string {
  return alphabet.charAt(bits & 63);
}

/** Bytes that `encoded` stands for; undefined when it is no standard base64. */
export function base64Length(encoded: string): number | undefined {
  const text = encoded.replace(/[\r\n]/g, "");
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  let padding = 0;
  if (text.endsWith("==")) padding = 2;
  else if (text.endsWith("=")) padding = 1;
  return (text.length / 4) * 3 - padding;
}

/** The text that `encoded` stands for, or undefined when it is no base64 of UTF-8 text. */
export function decodeBase64Text(encoded: string): string | undefined {
  const bytes = decodeBase64(encoded);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function decodeBase64(encoded: string): Uint8Array | undefined {
  const length = base64Length(encoded);
  if (length === undefined) return undefined;
  const text = encoded.replace(/[\r\n=]/g, "");
  const bytes = new Uint8Array(length);
  let word = 0;
  let bits = 0;
  let at = 0;
  for (const character of text) {
    word = ((word << 6) | alphabet.indexOf(character)) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at] = (word >> bits) & 0xff;
    at += 1;
  }
  return bytes;
}
