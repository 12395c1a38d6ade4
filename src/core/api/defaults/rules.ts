/**
 * The building blocks of defaulting rules. A rule takes an object and returns the object to continue
 * with: the same one when nothing changes, so "unchanged" is a reference comparison at every level.
 */
import type { Fields } from "../validation/fields.ts";
import { isFields } from "../validation/fields.ts";

export type Rule = (fields: Fields) => Fields;

export function chain(...rules: readonly Rule[]): Rule {
  return (fields) => rules.reduce((at, rule) => rule(at), fields);
}

export function set(fields: Fields, field: string, value: unknown): Fields {
  return fields[field] === value ? fields : { ...fields, [field]: value };
}

/** For fields that are pointers in upstream: fills only absent or null ones. */
export function fill(defaults: Fields): Rule {
  const entries = Object.entries(defaults);
  return (fields) => fillEntries(fields, entries, isUnset);
}

/** For fields that are plain values in upstream: fills "" and 0 too. */
export function fillZero(defaults: Fields): Rule {
  const entries = Object.entries(defaults);
  return (fields) => fillEntries(fields, entries, isZero);
}

function fillEntries(
  fields: Fields,
  entries: readonly (readonly [string, unknown])[],
  missing: (value: unknown) => boolean,
): Fields {
  let filled: Record<string, unknown> | undefined;
  for (const [field, value] of entries) {
    if (!missing(fields[field])) continue;
    filled ??= { ...fields };
    filled[field] = value;
  }
  return filled ?? fields;
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null;
}

function isZero(value: unknown): boolean {
  return isUnset(value) || value === "" || value === 0;
}

/** Applies rules to a nested object, if it exists. */
export function within(field: string, ...rules: readonly Rule[]): Rule {
  const rule = chain(...rules);
  return (fields) => {
    const value = fields[field];
    return isFields(value) ? set(fields, field, rule(value)) : fields;
  };
}

/** Applies rules to a nested object, creating it if absent: for Go structs that are not pointers. */
export function always(field: string, ...rules: readonly Rule[]): Rule {
  const rule = chain(...rules);
  return (fields) => {
    const value = fields[field];
    return set(fields, field, rule(isFields(value) ? value : empty));
  };
}

const empty: Fields = Object.freeze({});

/** Runs rules on every item of a list. */
export function each(field: string, ...rules: readonly Rule[]): Rule {
  const rule = chain(...rules);
  return (fields) => {
    const value: unknown = fields[field];
    if (!Array.isArray(value)) return fields;
    let changed = false;
    const next = value.map((item: unknown) => {
      if (!isFields(item)) return item;
      const ruled = rule(item);
      changed ||= ruled !== item;
      return ruled;
    });
    return changed ? { ...fields, [field]: next } : fields;
  };
}

/** Runs rules only when the test holds. */
export function when(test: (fields: Fields) => boolean, ...rules: readonly Rule[]): Rule {
  const rule = chain(...rules);
  return (fields) => (test(fields) ? rule(fields) : fields);
}
