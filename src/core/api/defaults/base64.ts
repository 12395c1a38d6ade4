/** Base64 of UTF-8 text and its decoded length, without host types. Linear, without backtracking. */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const encoder = new TextEncoder();
const latin = new TextDecoder("latin1");

const digits = encoder.encode(alphabet);
const padding = "=".charCodeAt(0);
/** The six bits of each character code; `none` if the character is not a digit. */
const none = 64;
const bitsOf = new Uint8Array(128).fill(none);
digits.forEach((code, bits) => {
  bitsOf[code] = bits;
});

export function encodeBase64Text(text: string): string {
  return encodeBase64(encoder.encode(text));
}

export function encodeBase64(bytes: Uint8Array): string {
  const out = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  let to = 0;
  for (let at = 0; at < bytes.length; at += 3) {
    const left = bytes.length - at;
    const word = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    out[to++] = digit(word >> 18);
    out[to++] = digit(word >> 12);
    out[to++] = left > 1 ? digit(word >> 6) : padding;
    out[to++] = left > 2 ? digit(word) : padding;
  }
  return latin.decode(out);
}

function digit(bits: number): number {
  return digits[bits & 63] ?? 0;
}

/** Number of bytes that `encoded` stands for; undefined when it is not standard base64. */
export function base64Length(encoded: string): number | undefined {
  const text = withoutBreaks(encoded);
  if (text.length % 4 !== 0) return undefined;
  const padded = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const end = text.length - padded;
  for (let at = 0; at < end; at++) {
    if ((bitsOf[text.charCodeAt(at)] ?? none) === none) return undefined;
  }
  return (text.length / 4) * 3 - padded;
}

function withoutBreaks(text: string): string {
  return text.includes("\n") || text.includes("\r") ? text.replace(/[\r\n]/g, "") : text;
}

/** The text that `encoded` stands for; undefined when it is not base64 of UTF-8 text. */
export function decodeBase64Text(encoded: string): string | undefined {
  const bytes = decodeBase64(encoded);
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Undefined when it is not standard base64. */
export function decodeBase64(encoded: string): Uint8Array | undefined {
  const length = base64Length(encoded);
  if (length === undefined) return undefined;
  const text = withoutBreaks(encoded);
  const bytes = new Uint8Array(length);
  let word = 0;
  let bits = 0;
  let at = 0;
  for (let from = 0; at < length; from++) {
    word = ((word << 6) | (bitsOf[text.charCodeAt(from)] ?? 0)) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at] = (word >> bits) & 0xff;
    at += 1;
  }
  return bytes;
}
