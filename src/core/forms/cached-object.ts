/**
 * One object at one revision, as stored bytes with everything derived from them made at most once:
 * the wire JSON (resourceVersion spliced in, never re-stringified), the parsed object, the labels
 * and selectable fields, and the encodings asked for (protobuf, Table row, watch frames).
 *
 * All holders share one CachedObject per (key, revision); that is what "encode once" means here.
 */
import type { AnyObject } from "#api/object.ts";

export interface CachedObject {
  readonly revision: number;
  readonly resourceVersion: string;
  readonly namespace: string;
  readonly name: string;
  /** Parsed once on first use; deeply frozen in tests, never to be changed anywhere. */
  readonly object: AnyObject;
  /** Complete JSON in the storage version, resourceVersion included. Shared; never changed. */
  readonly json: Uint8Array;
  /** Of the stored value. */
  readonly bytes: number;
  readonly labels: Readonly<Record<string, string>>;
  /** A selectable field's value, "" when absent. */
  field(name: string): string;
  /** The bytes for `format` (a short constant key), made by `make` the first time. */
  encoded(format: string, make: (object: CachedObject) => Uint8Array): Uint8Array;
}
