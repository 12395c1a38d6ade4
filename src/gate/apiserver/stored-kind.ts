/** A served kind that has a store; the ordinary verbs work on these. */
import { methodNotAllowed } from "./method.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import type { ServedKind } from "./kind.ts";

export interface StoredKind extends ServedKind {
  readonly store: ResourceStore;
}

/** @throws ApiError 405 for a non-persisted kind. */
export function storedKind(kind: ServedKind): StoredKind {
  if (kind.store === undefined) throw methodNotAllowed(kind);
  return kind as StoredKind; // the store is there: checked
}
