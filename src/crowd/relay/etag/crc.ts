/**
 * The CRC-32 of two texts in a row from the CRCs of each, without their bytes: polynomials over GF(2),
 * bits reflected, as zlib's crc32_combine does it.
 */
const polynomial = 0xedb88320;
const one = 0x80000000;

/** a(x) * b(x) mod p(x). */
function product(a: number, b: number): number {
  let sum = 0;
  let power = b;
  for (let bit = one; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) sum ^= power;
    power = (power & 1) === 0 ? power >>> 1 : (power >>> 1) ^ polynomial;
  }
  return sum >>> 0;
}

/** x^(2^k) mod p(x), k = 0..31. */
const squares: readonly number[] = (() => {
  const found = [0x40000000];
  for (let k = 1; k < 32; k++) found.push(product(found[k - 1] ?? 0, found[k - 1] ?? 0));
  return found;
})();

/** Returns the factor for a CRC that is followed by `length` bytes: x^(8 length) mod p(x). */
export function crcShift(length: number): number {
  let shift = one;
  for (let left = length, k = 3; left > 0; left = Math.floor(left / 2), k++) {
    if (left % 2 === 1) shift = product(squares[k % 32] ?? 0, shift);
  }
  return shift >>> 0;
}

/** Returns the CRC of two texts in a row, from their CRCs and the `crcShift` of the second one's length. */
export function combineCrc(first: number, second: number, shift: number): number {
  return (product(shift, first) ^ second) >>> 0;
}
