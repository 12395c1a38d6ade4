/**
 * HPACK (RFC 7541), the receiving half: header blocks into names and values. What we send needs no
 * table: a handful of constant blocks.
 *
 * Holds  the dynamic table follows the sender's exactly, so every block must be decoded, in order,
 *        wanted or not; strings, blocks and what a block expands to are bounded; a malformed block throws.
 * Cost   about 0.3 us for a block of indexed fields, as clients send from their second call on.
 */
import { Buffer } from "node:buffer";

/** The compression state is lost, so the connection must end. */
export class HpackError extends Error {
  /** The block is well-formed but expands to more than `headerListBytesMax`. */
  readonly isTooLarge: boolean;

  constructor(message: string, tooLarge: boolean = false) {
    super(message);
    this.name = "HpackError";
    this.isTooLarge = tooLarge;
  }
}

export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Size as counted by HPACK: both texts plus 32 bytes. */
  readonly bytes: number;
  /** Whether the name is a lower-case token, optionally after a colon, and the value is a single line. */
  readonly isWellFormed: boolean;
}

/** The table size that we announce: HTTP/2's default. */
const tableBytesMax = 4096;
const entryOverhead = 32;
/**
 * What we announce as SETTINGS_MAX_HEADER_LIST_SIZE. One byte of a block may refer to a table entry of
 * 4 KiB, so a block of 64 KiB could otherwise expand to 256 MiB.
 */
export const headerListBytesMax = 64 * 1024;
/** Before a block's first field the table may be resized twice: to the smallest size in between, and to the last. */
const resizesMax = 2;
/** Maximum length of a decoded string, Huffman-coded ones included. */
const stringBytesMax = 16 * 1024;

const nameForm = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
// oxlint-disable-next-line no-control-regex -- these are what must not be there
const valueBreak = /[\0\r\n]/;

type Pair = readonly [name: string, value: string];

const staticPairs: readonly Pair[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  ...["200", "204", "206", "304", "400", "404", "500"].map((s): Pair => [":status", s]),
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ...[
    "accept-language accept-ranges accept access-control-allow-origin age allow authorization",
    "cache-control content-disposition content-encoding content-language content-length",
    "content-location content-range content-type cookie date etag expect expires from host",
    "if-match if-modified-since if-none-match if-range if-unmodified-since last-modified link",
    "location max-forwards proxy-authenticate proxy-authorization range referer refresh",
    "retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary",
    "via www-authenticate",
  ].flatMap((line) => line.split(" ").map((name): Pair => [name, ""])),
];

const staticTable = staticPairs.map(([name, value]) => makeField(name, value));

export class HpackDecoder {
  /** Dynamic table, newest entry first. */
  readonly #dynamic: HeaderField[] = [];
  #bytes = 0;
  #bytesMax = tableBytesMax;

  /** Throws HpackError. */
  decode(block: Buffer): HeaderField[] {
    const fields: HeaderField[] = [];
    const reader = { block, at: 0 };
    let bytes = 0;
    let resizes = 0;
    while (reader.at < block.length) {
      const first = block[reader.at] as number;
      let field: HeaderField;
      if (first >= 0x80) field = this.#field(readInteger(reader, 7));
      else if (first >= 0x40) field = this.#insert(this.#literal(reader, 6));
      else if (first < 0x20) field = this.#literal(reader, 4);
      else {
        if (fields.length > 0 || ++resizes > resizesMax) throw misplacedResize();
        this.#resize(readInteger(reader, 5));
        continue;
      }
      bytes += field.bytes;
      if (bytes > headerListBytesMax) throw new HpackError("header list too large", true);
      fields.push(field);
    }
    return fields;
  }

  #literal(reader: Reader, prefixBits: number): HeaderField {
    const index = readInteger(reader, prefixBits);
    if (index === 0) return makeField(readString(reader), readString(reader));
    const { name } = this.#field(index);
    return makeField(name, readString(reader));
  }

  #field(index: number): HeaderField {
    const found =
      index <= staticTable.length
        ? staticTable[index - 1]
        : this.#dynamic[index - staticTable.length - 1];
    if (found === undefined) throw new HpackError(`no header field ${index}`);
    return found;
  }

  #insert(field: HeaderField): HeaderField {
    this.#dynamic.unshift(field);
    this.#bytes += field.bytes;
    this.#evict();
    return field;
  }

  #resize(bytes: number): void {
    if (bytes > tableBytesMax) throw new HpackError(`table of ${bytes} bytes`);
    this.#bytesMax = bytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#bytes > this.#bytesMax) {
      this.#bytes -= (this.#dynamic.pop() as HeaderField).bytes;
    }
  }
}

function misplacedResize(): HpackError {
  return new HpackError("a table size update where none may be");
}

/** Checks the field once; entries of the table are used many times. */
function makeField(name: string, value: string): HeaderField {
  const bytes = name.length + value.length + entryOverhead;
  return { name, value, bytes, isWellFormed: nameForm.test(name) && !valueBreak.test(value) };
}

interface Reader {
  readonly block: Buffer;
  at: number;
}

function readInteger(reader: Reader, prefixBits: number): number {
  const mask = (1 << prefixBits) - 1;
  let value = readByte(reader) & mask;
  if (value < mask) return value;
  for (let shift = 0; shift <= 21; shift += 7) {
    const byte = readByte(reader);
    value += (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw new HpackError("an integer is too large");
}

function readByte(reader: Reader): number {
  const byte = reader.block[reader.at++];
  if (byte === undefined) throw new HpackError("a header block ends early");
  return byte;
}

function readString(reader: Reader): string {
  const coded = ((reader.block[reader.at] ?? 0) & 0x80) !== 0;
  const length = readInteger(reader, 7);
  const end = reader.at + length;
  if (end > reader.block.length) throw new HpackError("a header block ends early");
  if (length > stringBytesMax) throw new HpackError("a header is too long");
  const start = reader.at;
  reader.at = end;
  return coded
    ? huffmanDecode(reader.block, start, end)
    : reader.block.toString("latin1", start, end);
}

// --- Huffman code of appendix B: it is canonical, so the codes follow from their lengths ---

/** Code lengths of the symbols 0 to 255, one base-32 digit each; the last code is the end-of-string symbol's. */
const codeLengths =
  "dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca" +
  "d67777777777777777777777878djde6f56565666577666567655677777fbeds" +
  "kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn" +
  "qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq";
const codeBitsMax = 30;

/** Per length: the first code, the number of codes, and the index of their first symbol in `symbols`. */
const { firstCode, count, firstSymbol, symbols } = huffmanTables();

function huffmanTables() {
  const lengths = Array.from(codeLengths, (digit) => Number.parseInt(digit, 32));
  const symbols: number[] = [];
  const [firstCode, count, firstSymbol] = [[0], [0], [0]] as [number[], number[], number[]];
  let code = 0;
  for (let bits = 1; bits <= codeBitsMax; bits++) {
    code *= 2;
    const ofLength = lengths.flatMap((length, symbol) => (length === bits ? [symbol] : []));
    firstCode[bits] = code;
    count[bits] = ofLength.length;
    firstSymbol[bits] = symbols.length;
    symbols.push(...ofLength);
    code += ofLength.length;
  }
  return { firstCode, count, firstSymbol, symbols };
}

function huffmanDecode(block: Buffer, start: number, end: number): string {
  const out: number[] = [];
  let code = 0;
  let bits = 0;
  for (let at = start; at < end; at++) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + (((block[at] as number) >> bit) & 1);
      bits++;
      const offset = code - (firstCode[bits] as number);
      if (offset < (count[bits] as number)) {
        out.push(symbols[(firstSymbol[bits] as number) + offset] as number);
        code = 0;
        bits = 0;
      } else if (bits === codeBitsMax) throw new HpackError("a Huffman code that is none");
    }
  }
  // The padding must be the first bits of the end-of-string code: fewer than eight ones.
  if (bits > 7 || code !== 2 ** bits - 1) throw new HpackError("bad padding");
  return out.length > stringBytesMax ? tooLong() : String.fromCharCode(...out);
}

function tooLong(): never {
  throw new HpackError("a header is too long");
}
