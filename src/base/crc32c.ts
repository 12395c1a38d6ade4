/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), as used by iSCSI, ext4 and etcd's WAL.
 *
 * Detects every burst error up to 32 bits, and all 1- to 3-bit errors in records below 256 MiB.
 * Cost: 1.3 GB/s over bytes, 2.2 GB/s over words (slicing by 8 and by 16, 16 KiB of tables), measured
 * on the machine of docs/capacity.md.
 */
const polynomial = 0x82f63b78;
const tables = crcTables();
const table = (i: number): Int32Array => tables[i] as Int32Array;
const [t0, t1, t2, t3] = [table(0), table(1), table(2), table(3)];
const [t4, t5, t6, t7] = [table(4), table(5), table(6), table(7)];
const [t8, t9, t10, t11] = [table(8), table(9), table(10), table(11)];
const [t12, t13, t14, t15] = [table(12), table(13), table(14), table(15)];
const littleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** The checksum of `bytes[start, end)`, an unsigned 32-bit number. `seed` chains parts: crc(ab) = crc(b, crc(a)). */
export function crc32c(
  bytes: Uint8Array,
  start: number = 0,
  end: number = bytes.length,
  seed: number = 0,
): number {
  let c = ~seed;
  let i = start;
  // Indices are in range by construction; `as number` only quiets noUncheckedIndexedAccess.
  for (; i + 8 <= end; i += 8) {
    c =
      (t7[(c ^ (bytes[i] as number)) & 255] as number) ^
      (t6[((c >>> 8) ^ (bytes[i + 1] as number)) & 255] as number) ^
      (t5[((c >>> 16) ^ (bytes[i + 2] as number)) & 255] as number) ^
      (t4[(c >>> 24) ^ (bytes[i + 3] as number)] as number) ^
      (t3[bytes[i + 4] as number] as number) ^
      (t2[bytes[i + 5] as number] as number) ^
      (t1[bytes[i + 6] as number] as number) ^
      (t0[bytes[i + 7] as number] as number);
  }
  for (; i < end; i++) c = (t0[(c ^ (bytes[i] as number)) & 255] as number) ^ (c >>> 8);
  return ~c >>> 0;
}

/** The checksum of the bytes of `words[start, end)`: the same number as over bytes, faster. */
export function crc32cWords(
  words: Int32Array,
  start: number,
  end: number,
  seed: number = 0,
): number {
  if (!littleEndian) return crcOfWordBytes(words, start, end, seed);
  let c = ~seed;
  let i = start;
  for (; i + 4 <= end; i += 4) {
    const w = c ^ (words[i] as number);
    const x = words[i + 1] as number;
    const y = words[i + 2] as number;
    const z = words[i + 3] as number;
    c =
      (t15[w & 255] as number) ^
      (t14[(w >>> 8) & 255] as number) ^
      (t13[(w >>> 16) & 255] as number) ^
      (t12[w >>> 24] as number) ^
      (t11[x & 255] as number) ^
      (t10[(x >>> 8) & 255] as number) ^
      (t9[(x >>> 16) & 255] as number) ^
      (t8[x >>> 24] as number) ^
      (t7[y & 255] as number) ^
      (t6[(y >>> 8) & 255] as number) ^
      (t5[(y >>> 16) & 255] as number) ^
      (t4[y >>> 24] as number) ^
      (t3[z & 255] as number) ^
      (t2[(z >>> 8) & 255] as number) ^
      (t1[(z >>> 16) & 255] as number) ^
      (t0[z >>> 24] as number);
  }
  for (; i < end; i++) {
    const w = c ^ (words[i] as number);
    c =
      (t3[w & 255] as number) ^
      (t2[(w >>> 8) & 255] as number) ^
      (t1[(w >>> 16) & 255] as number) ^
      (t0[w >>> 24] as number);
  }
  return ~c >>> 0;
}

function crcOfWordBytes(words: Int32Array, start: number, end: number, seed: number): number {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  return crc32c(bytes, start * 4, end * 4, seed);
}

function crcTables(): Int32Array[] {
  const made = Array.from({ length: 16 }, () => new Int32Array(256));
  const first = made[0] as Int32Array;
  for (let i = 0; i < 256; i++) first[i] = crcOfByte(i);
  for (let t = 1; t < made.length; t++) {
    for (let i = 0; i < 256; i++) {
      const before = (made[t - 1] as Int32Array)[i] as number;
      (made[t] as Int32Array)[i] = (before >>> 8) ^ (first[before & 255] as number);
    }
  }
  return made;
}

function crcOfByte(byte: number): number {
  let c = byte;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ polynomial : c >>> 1;
  return c;
}
