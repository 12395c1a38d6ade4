/**
 * A Map with a most: when full, the entry used longest ago goes. For verified credentials, where a
 * miss costs a signature check and nothing else.
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
