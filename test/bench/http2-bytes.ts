/** As much of HTTP/2 (RFC 9113) and HPACK (RFC 7541) as the counting clients of the benchmarks say. */

export const headLength = 9;
export const frame = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
};
export const flag = { ack: 1, endStream: 1, endHeaders: 4 };
const windowMax = 2 ** 31 - 1;
const windowDefault = 65_535;

export function frameOf(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** What a client says first, with windows that no run can fill. */
export function preface(): Buffer {
  const settings = Buffer.alloc(6);
  settings.writeUInt16BE(4, 0); // INITIAL_WINDOW_SIZE
  settings.writeUInt32BE(windowMax, 2);
  const window = Buffer.alloc(4);
  window.writeUInt32BE(windowMax - windowDefault);
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frameOf(frame.settings, 0, 0, settings),
    frameOf(frame.windowUpdate, 0, 0, window),
  ]);
}

/** Names of HPACK's static table that are asked with. */
const staticNames = { ":authority": 1, ":path": 4, authorization: 23, "if-none-match": 41 };
export type HeadFields = Partial<Record<keyof typeof staticNames, string>>;

const getOverHttps = Buffer.of(0x82, 0x87);
/** The static table has 61 entries; the newest of a connection's own follows. */
const newestIndex = 62;

/** A GET whose fields the server must index, and the same again by their numbers in its table (4 KB). */
export function requestHeads(fields: HeadFields): {
  readonly first: Buffer;
  readonly again: Buffer;
} {
  const names = Object.keys(fields) as (keyof typeof staticNames)[];
  const told = names.map((name) => {
    const value = fields[name] ?? "";
    return Buffer.concat([
      Buffer.of(0x40 | staticNames[name]),
      lengthOf(value),
      Buffer.from(value),
    ]);
  });
  const numbers = names.map((_name, at) => 0x80 | (newestIndex + names.length - 1 - at));
  return {
    first: Buffer.concat([getOverHttps, ...told]),
    again: Buffer.concat([getOverHttps, Buffer.from(numbers)]),
  };
}

/** Of a string literal: a prefix of seven bits (RFC 7541 5.1). */
function lengthOf({ length }: string): Buffer {
  if (length < 127) return Buffer.of(length);
  const bytes = [127];
  let left = length - 127;
  for (; left >= 128; left >>= 7) bytes.push((left & 127) | 128);
  return Buffer.from([...bytes, left]);
}
