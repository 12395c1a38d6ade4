/**
 * The bytes of a YAML text as characters: UTF-8, or UTF-16 behind a mark, and nothing that YAML does not allow.
 *
 * A byte that cannot be read is not the whole text's fault: what stands before it is read first, as upstream's
 * reader works on pieces of 512 bytes. A mistake in an earlier piece is found before it.
 */

export interface YamlSource {
  /** The text up to the error. */
  readonly text: string;
  readonly fault?: SourceFault;
}

export interface SourceFault {
  readonly message: string;
  /** Position in the text from which on the error is noticed. */
  readonly from: number;
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** Characters forbidden in YAML: control characters, U+FFFE and U+FFFF. */
const forbidden = /[^\t\n\r\x20-\x7e\x85\xa0-\ufffd]/;

export function yamlSource(bytes: Uint8Array): YamlSource {
  const [first, second, third] = bytes;
  if (first === 0xff && second === 0xfe) return wideSource(bytes.subarray(2), 0, 1);
  if (first === 0xfe && second === 0xff) return wideSource(bytes.subarray(2), 1, 0);
  const isMarked = first === 0xef && second === 0xbb && third === 0xbf;
  const rest = isMarked ? bytes.subarray(3) : bytes;
  const text = strictText(rest);
  if (text !== undefined && !forbidden.test(text)) return { text };
  return narrowSource(rest);
}

/** The source of a text that was decoded before. */
export function textSource(text: string): YamlSource {
  const marked = text.startsWith("\ufeff") ? text.slice(1) : text;
  const at = marked.search(forbidden);
  if (at < 0) return { text: marked };
  return { text: marked.slice(0, at), fault: { message: controlCharacter, from: 0 } };
}

function strictText(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

const controlCharacter = "control characters are not allowed";
/** Bytes that upstream's reader reads at once. */
const pieceLength = 512;

/** UTF-8 with an error in it. */
function narrowSource(bytes: Uint8Array): YamlSource {
  for (let at = 0; at < bytes.length;) {
    const found = characterAt(bytes, at);
    if (typeof found !== "number") return faulty(bytes, at, found.message);
    at += found;
  }
  return { text: lenient.decode(bytes) };
}

/** Number of characters that upstream's scanner looks ahead, where available. */
const lookahead = 4;

function faulty(bytes: Uint8Array, at: number, message: string): YamlSource {
  const text = lenient.decode(bytes.subarray(0, at));
  // An incomplete character is only an error at the end.
  const isCut = message.startsWith("incomplete");
  if (isCut) return { text, fault: { message, from: Math.max(text.length + 1 - lookahead, 0) } };
  const piece = at - (at % pieceLength);
  const from = lenient.decode(bytes.subarray(0, piece)).length;
  return { text, fault: { message, from } };
}

/** The number of bytes of the character, or its error. */
function characterAt(bytes: Uint8Array, at: number): number | { readonly message: string } {
  const lead = bytes[at] ?? 0;
  const width = lead < 0x80 ? 1 : widthOf(lead);
  if (width === 0) return { message: "invalid leading UTF-8 octet" };
  if (at + width > bytes.length) return { message: "incomplete UTF-8 octet sequence" };
  let value = width === 1 ? lead : lead & (0x7f >> width);
  for (let next = 1; next < width; next++) {
    const octet = bytes[at + next] ?? 0;
    if ((octet & 0xc0) !== 0x80) return { message: "invalid trailing UTF-8 octet" };
    value = value * 64 + (octet & 0x3f);
  }
  const smallest = [0, 0, 0x80, 0x800, 0x10000][width] ?? 0;
  if (value < smallest) return { message: "invalid length of a UTF-8 sequence" };
  if ((value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff) {
    return { message: "invalid Unicode character" };
  }
  return isAllowed(value) ? width : { message: controlCharacter };
}

function widthOf(lead: number): number {
  if ((lead & 0xe0) === 0xc0) return 2;
  if ((lead & 0xf0) === 0xe0) return 3;
  return (lead & 0xf8) === 0xf0 ? 4 : 0;
}

function isAllowed(value: number): boolean {
  return value > 0xffff || !forbidden.test(String.fromCharCode(value));
}

/** UTF-16; `low` and `high`: positions of the halves within two bytes. */
function wideSource(bytes: Uint8Array, low: number, high: number): YamlSource {
  const unit = (at: number): number => (bytes[at + low] ?? 0) + (bytes[at + high] ?? 0) * 256;
  let text = "";
  const fault = (message: string, at: number): YamlSource => ({
    text,
    fault: { message, from: Math.floor((at - (at % pieceLength)) / 2) },
  });
  for (let at = 0; at < bytes.length;) {
    if (at + 1 >= bytes.length) return fault("incomplete UTF-16 character", at);
    const value = unit(at);
    if ((value & 0xfc00) === 0xdc00) return fault("unexpected low surrogate area", at);
    const isPair = (value & 0xfc00) === 0xd800;
    if (isPair && at + 3 >= bytes.length) return fault("incomplete UTF-16 surrogate pair", at);
    if (isPair && (unit(at + 2) & 0xfc00) !== 0xdc00) {
      return fault("expected low surrogate area", at);
    }
    if (!isPair && !isAllowed(value)) return fault(controlCharacter, at);
    text += isPair ? String.fromCharCode(value, unit(at + 2)) : String.fromCharCode(value);
    at += isPair ? 4 : 2;
  }
  return { text };
}
