/**
 * The log owner's knowledge of its slots: a mark every `segmentBytes`, where a checkpoint may trim and a
 * tail may begin. Memory is a few numbers per mark, however small the batches are.
 */
interface Segment {
  /** Its first slot; a batch begins there. */
  readonly first: number;
  /** Head revision after its last batch. */
  lastRevision: number;
  bytes: number;
}

export class Segments {
  readonly #segmentBytes: number;
  readonly #segments: Segment[] = [];
  #bytes = 0;

  constructor(options: { readonly segmentBytes: number }) {
    this.#segmentBytes = options.segmentBytes;
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a batch that begins in slot `first`. */
  add(first: number, bytes: number, lastRevision: number): void {
    const last = this.#segments.at(-1);
    this.#bytes += bytes;
    if (last === undefined || last.bytes >= this.#segmentBytes) {
      this.#segments.push({ first, lastRevision, bytes });
      return;
    }
    last.bytes += bytes;
    last.lastRevision = lastRevision;
  }

  /** Log bytes that a checkpoint at `revision` would free. */
  bytesBefore(revision: number): number {
    let bytes = 0;
    for (const segment of this.#segments.slice(0, this.#trimmable(revision))) {
      bytes += segment.bytes;
    }
    return bytes;
  }

  /** First slot of the log after a checkpoint at `revision`; undefined: unchanged. */
  startAfter(
    revision: number,
  ): { readonly first: number; readonly trimmedRevision: number } | undefined {
    const count = this.#trimmable(revision);
    if (count === 0) return undefined;
    const { first } = this.#segments[count] as Segment;
    return { first, trimmedRevision: (this.#segments[count - 1] as Segment).lastRevision };
  }

  /** Removes the segments before slot `first`. */
  trim(first: number): void {
    while ((this.#segments[0]?.first ?? first) < first) {
      this.#bytes -= (this.#segments.shift() as Segment).bytes;
    }
  }

  /** A kept slot at or before every batch with changes at or after `revision`. */
  slotBefore(revision: number): number | undefined {
    const segment = this.#segments.find(({ lastRevision }) => lastRevision >= revision);
    return (segment ?? this.#segments.at(-1))?.first;
  }

  /** The newest segment is kept, and lease records at `revision` itself, which may be newer than the checkpoint. */
  #trimmable(revision: number): number {
    let count = 0;
    while (
      count + 1 < this.#segments.length &&
      (this.#segments[count] as Segment).lastRevision < revision
    )
      count++;
    return count;
  }
}
