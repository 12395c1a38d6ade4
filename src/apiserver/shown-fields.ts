/**
 * Field selectors of custom resources: a field is what the version that was asked for shows, and that may be
 * somebody else's conversion of what is stored. The registry selects by all the rest.
 */
import { type FieldSelector, fieldsMatch } from "#api/selectors/field-selector.ts";
import { plainFieldValue } from "#api/selectors/selectable-fields.ts";
import type { CachedObject } from "#watch/cached-object.ts";
import type { StoredKind } from "./stored-kind.ts";

interface Selection {
  /** For the registry. */
  readonly stored: FieldSelector | undefined;
  /** Of objects that are ready to be shown. Absent: the registry selects by everything. */
  readonly includes?: (cached: CachedObject) => boolean;
}

export function selectionOf(kind: StoredKind, fields: FieldSelector | undefined): Selection {
  const isShown = (field: string): boolean => kind.selectableFields.includes(field);
  const shown = fields?.requirements.filter(({ field }) => isShown(field)) ?? [];
  if (shown.length === 0) return { stored: fields };
  const requirements = fields?.requirements.filter(({ field }) => !isShown(field)) ?? [];
  const includes = (cached: CachedObject): boolean =>
    fieldsMatch({ requirements: shown }, (field) => plainFieldValue(kind.show(cached), field));
  return { stored: { requirements }, includes };
}

/** Those of the objects that are included, which are made ready for that. */
export async function selectShown<Cached extends CachedObject>(
  kind: StoredKind,
  objects: readonly Cached[],
  includes: (cached: CachedObject) => boolean,
): Promise<readonly Cached[]> {
  using _held = await kind.prepared?.hold(objects);
  return objects.filter(includes);
}
