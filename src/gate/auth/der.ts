/**
 * Encodes and decodes DER, as far as X.509 certificates for EC P-256 need it.
 *
 * In     plain numbers, strings and bytes. Out: definite-length DER (X.690 chapter 10).
 * Bounds derRead checks every length against the available bytes. The caller loops over nested values: there is no
 *        recursion over foreign input.
 * Why own code: the available library loads a reflection polyfill and a decorator container. This subset is one page,
 * and the tests check the result with node:crypto's X509Certificate.
 */

/** Tag numbers of the universal types in use. Bit 6 is set in constructed ones. */
export const Tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  numeric: 0x12,
  printable: 0x13,
  t61: 0x14,
  ia5: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmp: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

export interface DerValue {
  readonly tag: number;
  /** Content octets. They share memory with the input. */
  readonly content: Uint8Array;
  /** Offset of the first byte after this value in the input. */
  readonly end: number;
}

/** Reads the value at `offset`. Undefined: the bytes there are not a complete DER value. */
export function derRead(bytes: Uint8Array, offset: number): DerValue | undefined {
  const tag = bytes[offset];
  const first = bytes[offset + 1];
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) return undefined;
  let length = first;
  let start = offset + 2;
  if (first >= 0x80) {
    const octets = first & 0x7f;
    // Four octets are 4 GiB: a longer length is certainly invalid. 0x80 (indefinite length) is not DER.
    if (octets === 0 || octets > 4) return undefined;
    length = 0;
    for (let i = 0; i < octets; i++) length = length * 256 + (bytes[start + i] ?? 0);
    start += octets;
  }
  if (start + length > bytes.length) return undefined;
  return { tag, content: bytes.subarray(start, start + length), end: start + length };
}

/** Returns the values inside a constructed value. Undefined: they do not fill it exactly. */
export function derChildren(content: Uint8Array): readonly DerValue[] | undefined {
  const children: DerValue[] = [];
  for (let offset = 0; offset < content.length;) {
    const child = derRead(content, offset);
    if (child === undefined) return undefined;
    children.push(child);
    offset = child.end;
  }
  return children;
}

export function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const head = derHead(tag, length);
  const out = new Uint8Array(head.length + length);
  out.set(head);
  let offset = head.length;
  for (const part of parts) {
    out.set(part, offset);
    offset += part.length;
  }
  return out;
}

function derHead(tag: number, length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(tag, length);
  if (length < 0x100) return Uint8Array.of(tag, 0x81, length);
  if (length < 0x10000) return Uint8Array.of(tag, 0x82, length >> 8, length & 0xff);
  return Uint8Array.of(tag, 0x83, length >> 16, (length >> 8) & 0xff, length & 0xff);
}

/** Encodes an unsigned big-endian number as minimal INTEGER, with a leading zero octet if the top bit is set. */
export function derInteger(magnitude: Uint8Array): Uint8Array {
  let start = 0;
  while (start < magnitude.length - 1 && magnitude[start] === 0) start++;
  const minimal = magnitude.subarray(start);
  const padded = (minimal[0] ?? 0) >= 0x80 ? [Uint8Array.of(0), minimal] : [minimal];
  return der(Tag.integer, ...padded);
}

/** Encodes a dotted OID such as `1.2.840.10045.4.3.2` as OBJECT IDENTIFIER. */
export function derOid(dotted: string): Uint8Array {
  const arcs = dotted.split(".").map(Number);
  const [first = 0, second = 0, ...rest] = arcs;
  return der(Tag.oid, Uint8Array.from([first * 40 + second, ...rest.flatMap(derOidArc)]));
}

function derOidArc(arc: number): number[] {
  const out = [arc % 128];
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) {
    out.unshift((rest % 128) + 128);
  }
  return out;
}

/** Encodes named bits, most significant first. Trailing zero bits are not part of the value. */
export function derNamedBits(bits: Uint8Array): Uint8Array {
  const last = bits.at(-1) ?? 0;
  return derBitString(bits, last === 0 ? 0 : Math.clz32(last & -last) ^ 31);
}

export function derText(text: string): Uint8Array {
  return der(Tag.utf8, new TextEncoder().encode(text));
}

export function derBitString(bytes: Uint8Array, unusedBits = 0): Uint8Array {
  return der(Tag.bitString, Uint8Array.of(unusedBits), bytes);
}

/** Encodes whole seconds as UTCTime before 2050, as GeneralizedTime from then on (RFC 5280 4.1.2.5). */
export function derTime(ms: number): Uint8Array {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  const before2050 = Number(digits.slice(0, 4)) < 2050;
  const text = before2050 ? digits.slice(2) : digits;
  return der(before2050 ? Tag.utcTime : Tag.generalizedTime, new TextEncoder().encode(text));
}

/** Returns the milliseconds since 1970 of a UTCTime or GeneralizedTime that ends in Z, or undefined. */
export function derTimeMs(value: DerValue): number | undefined {
  const text = new TextDecoder().decode(value.content);
  const whole = value.tag === Tag.utcTime ? derCentury(text) + text : text;
  const m = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(whole);
  if (m === null) return undefined;
  const ms = Date.parse(`${m[1]}-${m[2]}-${m[3]}T${m[4]}:${m[5]}:${m[6]}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Returns the century of a two-digit year. From 50 on it is 19 (RFC 5280 4.1.2.5.1). */
function derCentury(text: string): string {
  return Number(text.slice(0, 2)) >= 50 ? "19" : "20";
}
