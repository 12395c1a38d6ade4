/**
 * SHA-256 of short texts in pure code, for names that others compute too: pure rooms have no host crypto.
 * Not for secrets and not for bulk: it is not constant-time and some ten times slower than the host's.
 * After  FIPS 180-4, section 6.2.
 */
const initial = fractions(8, 1 / 2);
const rounds = fractions(64, 1 / 3);

/** Returns the digest of the text's UTF-8 bytes in lower-case hex. */
export function sha256Hex(text: string): string {
  const bytes = padded(new TextEncoder().encode(text));
  const view = new DataView(bytes.buffer);
  const state = Uint32Array.from(initial);
  const schedule = new Uint32Array(64);
  for (let at = 0; at < bytes.length; at += 64) {
    for (let i = 0; i < 16; i++) schedule[i] = view.getUint32(at + 4 * i);
    compress(state, schedule);
  }
  return [...state].map((word) => word.toString(16).padStart(8, "0")).join("");
}

/** Returns the first 32 bits of the fractional parts of a root of the first `count` primes. */
function fractions(count: number, exponent: number): readonly number[] {
  const words: number[] = [];
  for (let n = 2; words.length < count; n++) {
    if (!isPrime(n)) continue;
    const root = n ** exponent;
    words.push(Math.floor((root - Math.floor(root)) * 2 ** 32) >>> 0);
  }
  return words;
}

function isPrime(n: number): boolean {
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}

function padded(bytes: Uint8Array): Uint8Array {
  const length = Math.ceil((bytes.length + 9) / 64) * 64;
  const all = new Uint8Array(length);
  all.set(bytes);
  all[bytes.length] = 0x80;
  new DataView(all.buffer).setUint32(length - 4, bytes.length * 8);
  return all;
}

function compress(state: Uint32Array, w: Uint32Array): void {
  for (let i = 16; i < 64; i++) {
    const [x, y] = [w[i - 15] ?? 0, w[i - 2] ?? 0];
    const low = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const high = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[i] = (w[i - 16] ?? 0) + low + (w[i - 7] ?? 0) + high;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const mixed = (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) >>> 0;
    const chosen = ((e & f) ^ (~e & g)) >>> 0;
    const first = h + mixed + chosen + (rounds[i] ?? 0) + (w[i] ?? 0);
    const spread = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) >>> 0;
    const majority = ((a & b) ^ (a & c) ^ (b & c)) >>> 0;
    [h, g, f, e, d, c, b] = [g, f, e, (d + first) >>> 0, c, b, a];
    a = (first + spread + majority) >>> 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = (state[i] ?? 0) + word;
  });
}

function rotate(x: number, by: number): number {
  return ((x >>> by) | (x << (32 - by))) >>> 0;
}
