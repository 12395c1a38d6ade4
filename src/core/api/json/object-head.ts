/**
 * The fields by which a local copy identifies an object. Objects that are decoded when they are read carry these fields
 * beside their bytes, so that a copy of many objects is kept without decoding any.
 */
import type { KubeObject } from "../object.ts";

interface ObjectHead {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface KeptHead extends ObjectHead {
  /** `namespace/name`, or `name`. */
  readonly key: string;
}

/** Key under which such an object has its head; not enumerable, so copies made by spreading are plain objects. */
export const headKey: unique symbol = Symbol("head");

const none: ObjectHead = Object.freeze({});

/** Undefined: an ordinary object. */
export function keptHead(object: KubeObject): KeptHead | undefined {
  // The key is a symbol, so no kind has a field of this name.
  return (object as { readonly [headKey]?: KeptHead })[headKey];
}

export function headOf(object: KubeObject): ObjectHead {
  return keptHead(object) ?? object.metadata ?? none;
}
