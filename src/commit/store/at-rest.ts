/** The form in which values are stored: encrypted where the operator configured encryption at rest. */
import type { Key } from "./store.ts";

export interface AtRest {
  /**
   * Returns the stored form of `value`. `path` is authenticated: a stored value that is moved to another path does
   * not open. Throws ApiError 500 while the provider that seals has no key.
   */
  seal(key: Key, path: string, value: Uint8Array): Uint8Array;
  /** Decrypts a stored value. Throws SealedValueError when that fails. */
  open(key: Key, path: string, stored: Uint8Array): Uint8Array;
  /**
   * Fetches the keys that `values` need. Undefined: `open` has all of them already. Otherwise resolves when `open` has
   * them, or when it is known that a key will not be given. Never rejects.
   */
  prepare(values: Iterable<StoredValue>): Promise<void> | undefined;
  /** Names the provider and key that sealed a stored value; "" when it is not sealed. Short, and equal for many values. */
  sealOf(key: Key, stored: Uint8Array): string;
  /** Whether `seal` now uses another form than this one; the next write of the object renews it. */
  isStale(key: Key, seal: string): boolean;
}

export interface StoredValue {
  readonly key: Key;
  readonly value: Uint8Array;
}

/** A stored value cannot be decrypted: it has another key or path, or is damaged. */
export class SealedValueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SealedValueError";
  }
}

/** The key is still being fetched; a later read may succeed. */
export class KeyAwayError extends SealedValueError {}

const sealedPrefix = new TextEncoder().encode("k8s:enc:");

export function isSealed(stored: Uint8Array): boolean {
  return stored[0] === sealedPrefix[0] && sealedPrefix.every((byte, at) => stored[at] === byte);
}
