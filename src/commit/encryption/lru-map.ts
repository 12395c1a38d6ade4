/** A map of at most `entriesMax` entries. A surplus removes the entry that was used longest ago. */
export class LruMap<T> {
  readonly #entriesMax: number;
  readonly #entries = new Map<string, T>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): T | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  entries(): Iterable<[string, T]> {
    return this.#entries.entries();
  }
}
