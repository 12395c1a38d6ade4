/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), as used by iSCSI, ext4 and etcd's WAL.
 *
 * Detects every burst error up to 32 bits, and all 1- to 3-bit errors in records below 256 MiB.
 * Cost: 1.3 GB/s over bytes, 2.2 GB/s over words (slicing by 8 and by 16, 16 KiB of tables), measured
 * on the machine of docs/capacity.md.
 */
const polynomial = 0x82f63b78;
/** Sixteen tables of 256 numbers, one behind the other: one array is a quarter faster than sixteen. */
const tables = crcTables();
const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Returns the checksum of `bytes[start, end)`, an unsigned 32-bit number. `seed` chains parts: crc(ab) = crc(b, crc(a)). */
export function crc32c(
  bytes: Uint8Array,
  start: number = 0,
  end: number = bytes.length,
  seed: number = 0,
): number {
  const t = tables;
  let c = ~seed;
  let i = start;
  // Indices are in range by construction; `as number` only satisfies noUncheckedIndexedAccess.
  for (; i + 8 <= end; i += 8) {
    c =
      (t[1792 + ((c ^ (bytes[i] as number)) & 255)] as number) ^
      (t[1536 + (((c >>> 8) ^ (bytes[i + 1] as number)) & 255)] as number) ^
      (t[1280 + (((c >>> 16) ^ (bytes[i + 2] as number)) & 255)] as number) ^
      (t[1024 + ((c >>> 24) ^ (bytes[i + 3] as number))] as number) ^
      (t[768 + (bytes[i + 4] as number)] as number) ^
      (t[512 + (bytes[i + 5] as number)] as number) ^
      (t[256 + (bytes[i + 6] as number)] as number) ^
      (t[bytes[i + 7] as number] as number);
  }
  for (; i < end; i++) c = (t[(c ^ (bytes[i] as number)) & 255] as number) ^ (c >>> 8);
  return ~c >>> 0;
}

/** Returns the checksum of the bytes of `words[start, end)`: the same number as over bytes, but faster. */
export function crc32cWords(
  words: Int32Array,
  start: number,
  end: number,
  seed: number = 0,
): number {
  if (!littleEndian) return crcOfWordBytes(words, start, end, seed);
  const t = tables;
  let c = ~seed;
  let i = start;
  for (; i + 4 <= end; i += 4) {
    const w = c ^ (words[i] as number);
    const x = words[i + 1] as number;
    const y = words[i + 2] as number;
    const z = words[i + 3] as number;
    c =
      (t[3840 + (w & 255)] as number) ^
      (t[3584 + ((w >>> 8) & 255)] as number) ^
      (t[3328 + ((w >>> 16) & 255)] as number) ^
      (t[3072 + (w >>> 24)] as number) ^
      (t[2816 + (x & 255)] as number) ^
      (t[2560 + ((x >>> 8) & 255)] as number) ^
      (t[2304 + ((x >>> 16) & 255)] as number) ^
      (t[2048 + (x >>> 24)] as number) ^
      (t[1792 + (y & 255)] as number) ^
      (t[1536 + ((y >>> 8) & 255)] as number) ^
      (t[1280 + ((y >>> 16) & 255)] as number) ^
      (t[1024 + (y >>> 24)] as number) ^
      (t[768 + (z & 255)] as number) ^
      (t[512 + ((z >>> 8) & 255)] as number) ^
      (t[256 + ((z >>> 16) & 255)] as number) ^
      (t[z >>> 24] as number);
  }
  for (; i < end; i++) {
    const w = c ^ (words[i] as number);
    c =
      (t[768 + (w & 255)] as number) ^
      (t[512 + ((w >>> 8) & 255)] as number) ^
      (t[256 + ((w >>> 16) & 255)] as number) ^
      (t[w >>> 24] as number);
  }
  return ~c >>> 0;
}

function crcOfWordBytes(words: Int32Array, start: number, end: number, seed: number): number {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  return crc32c(bytes, start * 4, end * 4, seed);
}

function crcTables(): Int32Array {
  const made = new Int32Array(16 * 256);
  for (let i = 0; i < 256; i++) made[i] = crcOfByte(i);
  for (let i = 256; i < made.length; i++) {
    const before = made[i - 256] as number;
    made[i] = (before >>> 8) ^ (made[before & 255] as number);
  }
  return made;
}

function crcOfByte(byte: number): number {
  let c = byte;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ polynomial : c >>> 1;
  return c;
}
