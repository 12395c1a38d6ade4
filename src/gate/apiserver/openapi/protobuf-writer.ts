/**
 * A protobuf writer that fills its buffer from the end. A message's length is known when its tag is written, so no
 * message is measured twice, and bytes are copied only when the buffer grows.
 *
 * Fields therefore come out in the reverse of the order of calls: write the last field first, and
 * the elements of a repeated field backwards (`repeated` does).
 */
const encoder = new TextEncoder();

export class ProtobufWriter {
  #bytes: Uint8Array;
  /** Start of the written bytes, which extend to the end of the buffer. */
  #start: number;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
    this.#start = capacity;
  }

  /** Returns the message. The writer must not be used afterwards. */
  finish(): Uint8Array {
    return this.#bytes.subarray(this.#start);
  }

  /** Writes nothing for undefined and for "", the default of proto3. */
  string(field: number, value: string | undefined): void {
    if (value !== undefined && value !== "") this.oneofString(field, value);
  }

  oneofString(field: number, value: string): void {
    this.#text(value);
    this.#tag(field, 2);
  }

  /** Writes a repeated string; elements may be empty. */
  strings(field: number, values: readonly string[] | undefined): void {
    for (const value of [...(values ?? [])].reverse()) this.oneofString(field, value);
  }

  bool(field: number, value: boolean | undefined): void {
    if (value === true) this.oneofBool(field, value);
  }

  /** Writes a member of a oneof, even the default value, because the field number selects the member. */
  oneofBool(field: number, value: boolean): void {
    this.#varint(value ? 1 : 0);
    this.#tag(field, 0);
  }

  /** Writes a non-negative integer. */
  integer(field: number, value: number | undefined): void {
    if (value === undefined || value === 0) return;
    this.#varint(value);
    this.#tag(field, 0);
  }

  double(field: number, value: number | undefined): void {
    if (value !== undefined && value !== 0) this.oneofDouble(field, value);
  }

  oneofDouble(field: number, value: number): void {
    const at = this.#reserve(8);
    new DataView(this.#bytes.buffer, this.#bytes.byteOffset).setFloat64(at, value, true);
    this.#tag(field, 1);
  }

  message(field: number, write: () => void): void {
    const end = this.begin();
    write();
    this.end(field, end);
  }

  /** Begins a message; its fields are written until `end` is called with the returned position. */
  begin(): number {
    return this.#bytes.length - this.#start;
  }

  end(field: number, begun: number): void {
    this.#varint(this.#bytes.length - this.#start - begun);
    this.#tag(field, 2);
  }

  repeated<T>(field: number, values: readonly T[], write: (value: T) => void): void {
    for (let at = values.length - 1; at >= 0; at--) {
      const value = values[at] as T; // at is an index of values
      this.message(field, () => write(value));
    }
  }

  #text(value: string): void {
    const utf8 = encoder.encode(value);
    const at = this.#reserve(utf8.length);
    this.#bytes.set(utf8, at);
    this.#varint(utf8.length);
  }

  #tag(field: number, wireType: 0 | 1 | 2): void {
    this.#varint(field * 8 + wireType);
  }

  #varint(value: number): void {
    let size = 1;
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
    let at = this.#reserve(size);
    let rest = value;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes[at++] = (rest % 128) | 128;
    this.#bytes[at] = rest;
  }

  /** Makes room in front of the written bytes and returns the room's start. */
  #reserve(size: number): number {
    if (size > this.#start) this.#grow(size);
    this.#start -= size;
    return this.#start;
  }

  #grow(size: number): void {
    const written = this.#bytes.length - this.#start;
    const capacity = Math.max(this.#bytes.length * 2, written + size);
    const larger = new Uint8Array(capacity);
    larger.set(this.#bytes.subarray(this.#start), capacity - written);
    this.#bytes = larger;
    this.#start = capacity - written;
  }
}
