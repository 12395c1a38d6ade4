/** The form in which values lie below a store's readers: sealed where the operator wants secrets encrypted at rest. */
import type { Key } from "./store.ts";

export interface AtRest {
  /**
   * What is stored for `value`. `path` is authenticated: a stored value that is moved to another path does not open.
   * Throws ApiError 500 while the provider that seals has no key.
   */
  seal(key: Key, path: string, value: Uint8Array): Uint8Array;
  /** Throws SealedValueError when the value cannot be opened. */
  open(key: Key, path: string, stored: Uint8Array): Uint8Array;
  /**
   * Undefined: `open` has every key that these values need. Otherwise resolves when it has, or knows that a key will
   * not be given. Never rejects.
   */
  prepare(values: Iterable<StoredValue>): Promise<void> | undefined;
  /** Names the provider and key of a stored value; empty: it is not sealed. Short, and the same text for many values. */
  sealOf(key: Key, stored: Uint8Array): string;
  /** A value of this seal is not in the form that `seal` gives now: the next write of its object renews it. */
  isStale(key: Key, seal: string): boolean;
}

export interface StoredValue {
  readonly key: Key;
  readonly value: Uint8Array;
}

/** A stored value that does not open: another key, another path, or damaged. */
export class SealedValueError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SealedValueError";
  }
}

/** Its key is being asked for: another reading may open it. */
export class KeyAwayError extends SealedValueError {}

const sealedPrefix = new TextEncoder().encode("k8s:enc:");

export function isSealed(stored: Uint8Array): boolean {
  return stored[0] === sealedPrefix[0] && sealedPrefix.every((byte, at) => stored[at] === byte);
}
