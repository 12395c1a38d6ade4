/**
 * A second encoding of objects beside JSON, passed to the socket transport by `cmd`: protobuf
 * (`#forms/protobuf/coding.ts`). Only built-in kinds have it. Requests accept JSON as well, so a server
 * without it answers in JSON.
 */
import type { AnyObject } from "#api/object.ts";

export interface ObjectCoding {
  readonly mediaType: string;
  /**
   * Decodes an answer: an object, a list or a Status, which names its kind. `isLazy`: its objects are read-only, and
   * their fields are decoded when they are read. Throws on invalid bytes.
   */
  decode(body: Uint8Array, isLazy: boolean): AnyObject;
  /**
   * Decodes one frame of a watch, without its length. `isFirstState`: the frame belongs to the state that the watch
   * begins with. Throws as `decode`.
   */
  event(
    frame: Uint8Array,
    isLazy: boolean,
    isFirstState: boolean,
  ): { readonly type: string; readonly object: AnyObject };
  /** Undefined: the object has no such form, or the form would lose data. */
  encode(object: object): Uint8Array | undefined;
}

/** JSON comes last, for kinds and servers without the other form. */
export function acceptedTypes(coding: ObjectCoding, accept: string): string {
  const [json = "", ...parameters] = accept.split(",", 1)[0]?.split(";") ?? [];
  return [[coding.mediaType, ...parameters].join(";"), [json, ...parameters].join(";")]
    .concat(accept.includes(",") ? [json] : [])
    .join(",");
}
