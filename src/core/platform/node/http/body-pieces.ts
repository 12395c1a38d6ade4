/**
 * A body as it arrives: small pieces are joined with their neighbours, so that a client that sends it byte by byte
 * holds its bytes, not an object for each.
 *
 * Holds  at most one piece per `pieceBytesMin`, and some twenty more.
 * Cost   each byte of small pieces is copied a few times (as by a binary counter), those of usual ones once.
 */
const pieceBytesMin = 1_024;

export class BodyPieces {
  readonly #pieces: Uint8Array[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#pieces.length;
  }

  /** Keeps the chunk. */
  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    let last = chunk;
    for (let before = this.#pieces.at(-1); before !== undefined; before = this.#pieces.at(-1)) {
      if (last.length >= pieceBytesMin || before.length > last.length) break;
      this.#pieces.pop();
      last = Buffer.concat([before, last]);
    }
    this.#pieces.push(last);
  }

  /** Returns the whole body; a single piece is not copied. */
  joined(): Uint8Array {
    const [only] = this.#pieces;
    if (only === undefined || this.#pieces.length > 1)
      return Buffer.concat(this.#pieces, this.#bytes);
    return only;
  }
}
