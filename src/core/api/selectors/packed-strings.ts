/**
 * Many strings in one, with the position of each. Thousands of keys and values of a selector take two or four bytes
 * each besides their characters, while separate strings take about forty each.
 *
 * Holds  a sorted range can be searched without making a string; the order is that of `<`.
 */
export class PackedStrings {
  readonly #text: string;
  /** End of each string; the next one begins there. */
  readonly #ends: Uint16Array | Uint32Array;

  constructor(strings: readonly string[]) {
    this.#text = strings.join("");
    this.#ends = numbersUpTo(this.#text.length, strings.length);
    let end = 0;
    for (const [at, string] of strings.entries()) this.#ends[at] = end += string.length;
  }

  get length(): number {
    return this.#ends.length;
  }

  get bytes(): number {
    return this.#text.length + this.#ends.byteLength;
  }

  /** Creates a new string. */
  at(index: number): string {
    return this.#text.slice(this.#start(index), this.#ends[index]);
  }

  /** Whether the sorted strings of [from, to) contain `wanted`. */
  has(wanted: string, from: number, to: number): boolean {
    const at = this.lowerBound(wanted, from, to);
    return at < to && this.compare(at, wanted) === 0;
  }

  /** Index of the first of the sorted strings of [from, to) that is not below `wanted`; `to`: none. */
  lowerBound(wanted: string, from: number, to: number): number {
    let low = from;
    let high = to;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(middle, wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Negative: the string at `index` comes before `wanted`. */
  compare(index: number, wanted: string): number {
    const start = this.#start(index);
    const length = (this.#ends[index] ?? start) - start;
    const common = Math.min(length, wanted.length);
    for (let at = 0; at < common; at++) {
      const difference = this.#text.charCodeAt(start + at) - wanted.charCodeAt(at);
      if (difference !== 0) return difference;
    }
    return length - wanted.length;
  }

  #start(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] ?? 0);
  }
}

/** An array of `length` zeros with elements just large enough for `max`. */
export function numbersUpTo(max: number, length: number): Uint16Array | Uint32Array {
  return max <= 0xffff ? new Uint16Array(length) : new Uint32Array(length);
}
