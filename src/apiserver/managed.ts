/** Placeholder seam for managedFields tracking: see api/apply. */
import type { AnyObject } from "#api/object.ts";
import type { ServedKind } from "./kind.ts";

export interface Manager {
  readonly manager: string;
  readonly nowMs: number;
}

export function ownedByCreate(_kind: ServedKind, object: AnyObject, _manager: Manager): AnyObject {
  return object;
}

export function ownedByUpdate(
  _kind: ServedKind,
  next: AnyObject,
  _old: AnyObject,
  _manager: Manager & { readonly subresource: string },
): AnyObject {
  return next;
}
