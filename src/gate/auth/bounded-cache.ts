/**
 * A Map with a maximum size: when it is full, the least recently used entry is removed. Used for verified credentials,
 * where a miss costs only a signature check.
 */
export class BoundedCache<V> {
  readonly #entries = new Map<string, V>();
  readonly #entriesMax: number;

  constructor(options: { readonly entriesMax: number }) {
    this.#entriesMax = options.entriesMax;
  }

  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#entriesMax) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  get size(): number {
    return this.#entries.size;
  }
}
