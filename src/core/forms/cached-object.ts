/**
 * One object at one revision, as stored bytes. Everything derived from them is made at most once:
 * the wire JSON (resourceVersion spliced in, never re-stringified), the parsed object, the labels
 * and selectable fields, and the requested encodings (protobuf, Table row, watch frames).
 *
 * All holders share one CachedObject per (key, revision); that is what "encode once" means here.
 */
import type { AnyObject } from "#api/object.ts";

export interface CachedObject {
  readonly revision: number;
  readonly resourceVersion: string;
  readonly namespace: string;
  readonly name: string;
  /** Parsed once, on first use. Must not be changed (tests freeze it deeply). */
  readonly object: AnyObject;
  /** Complete JSON in the storage version, including resourceVersion. Shared and immutable. */
  readonly json: Uint8Array;
  /** Size of the stored value. */
  readonly bytes: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The value of a selectable field, "" when absent. */
  field(name: string): string;
  /** The bytes for `format` (a short constant key); `make` creates them on first use. */
  encoded(format: string, make: (object: CachedObject) => Uint8Array): Uint8Array;
}
