/**
 * A page of metrics as bytes of Prometheus' text format, line by line.
 *
 * Why bytes: after a busy time the page has 23,000 lines. As strings a scrape made 65 MB of garbage, and each
 *            scrape of a quiet server made its young generation grow to its maximum.
 * Cost       what lines of one row share is encoded once and copied; a line allocates nothing but its number.
 */
const chunkBytes = 64 * 1024;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Maximum number of UTF-8 bytes of one UTF-16 unit. */
const unitBytesMax = 3;
/** Maximum length of a number: digits, sign, point and exponent. */
const numberBytesMax = 32;
const newline = 0x0a;

export class Exposition {
  readonly #full: Uint8Array[] = [];
  #chunk = new Uint8Array(chunkBytes);
  #used = 0;
  #head = new Uint8Array(1024);
  /** The used part of `#head`, as a view, because copying a view is several times faster than a loop over its bytes. */
  #rowHead = this.#head.subarray(0, 0);

  /** Number of full chunks: a measure of the work done so far. */
  get fullChunks(): number {
    return this.#full.length;
  }

  /** Appends a whole line, or several lines. */
  line(text: string): void {
    this.#reserve(text.length * unitBytesMax + 1);
    this.#used += encoder.encodeInto(text, this.#chunk.subarray(this.#used)).written;
    this.#chunk[this.#used++] = newline;
  }

  /** Sets the beginning of the lines that `sample` writes from here on. */
  startRow(head: string): void {
    const bytesMax = head.length * unitBytesMax;
    if (bytesMax > this.#head.length) this.#head = new Uint8Array(bytesMax);
    const { written } = encoder.encodeInto(head, this.#head);
    this.#rowHead = this.#head.subarray(0, written);
  }

  /** Appends a line: the head of the row, `tail` and a value. */
  sample(tail: Uint8Array, value: number): void {
    const head = this.#rowHead;
    this.#reserve(head.length + tail.length + numberBytesMax);
    this.#chunk.set(head, this.#used);
    this.#used += head.length;
    this.#append(tail);
    const digits = String(value);
    for (let i = 0; i < digits.length; i++) this.#chunk[this.#used++] = digits.charCodeAt(i);
    this.#chunk[this.#used++] = newline;
  }

  /** Returns the chunks of the finished page. Nothing may be appended afterwards. */
  chunks(): readonly Uint8Array[] {
    return [...this.#full, this.#chunk.subarray(0, this.#used)];
  }

  text(): string {
    return this.chunks()
      .map((chunk) => decoder.decode(chunk))
      .join("");
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes <= this.#chunk.length) return;
    this.#full.push(this.#chunk.subarray(0, this.#used));
    this.#chunk = new Uint8Array(Math.max(chunkBytes, bytes));
    this.#used = 0;
  }

  /** For a few bytes: up to some twenty, a loop is faster than a call that copies. */
  #append(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) this.#chunk[this.#used++] = bytes[i] ?? 0;
  }
}
