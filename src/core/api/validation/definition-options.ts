/**
 * The checks that apply to a definition: all of them on create; on an update not those that the stored definition
 * already fails, so that an old definition can still be changed.
 *
 * After  apiextensions-apiserver pkg/apis/apiextensions/validation (validationOptions, require...).
 */
import { jsonEqual } from "../json/json-value.ts";
import type { JsonObject } from "../object.ts";
import { pruneValue } from "../structural/prune.ts";
import { trustStructural } from "../structural/structural.ts";
import { someSchema, structuralErrors, unsupportedField } from "../structural/structural-rules.ts";
import { conversionBundleFault } from "./ca-bundle.ts";
import { isSplit, keyErrors } from "./definition-lists.ts";
import type { Fields } from "./fields.ts";
import { has, items, maybe, maybeText, part, text, texts } from "./fields.ts";

export interface DefinitionOptions {
  readonly requiresSchema: boolean;
  readonly requiresValidTypes: boolean;
  readonly requiresPrunedDefaults: boolean;
  readonly requiresAtomicSets: boolean;
  readonly requiresGoodKeys: boolean;
  readonly requiresKnownReview: boolean;
  /** False until the definition is established, and while the stored bundle is invalid. */
  readonly requiresGoodBundle: boolean;
  /** Versions that may keep more selectable fields than allowed; "" means all versions. */
  readonly tooManyFields: ReadonlySet<string>;
}

export const strict: DefinitionOptions = {
  requiresSchema: true,
  requiresValidTypes: true,
  requiresPrunedDefaults: true,
  requiresAtomicSets: true,
  requiresGoodKeys: true,
  requiresKnownReview: true,
  requiresGoodBundle: false,
  tooManyFields: new Set(),
};

export const selectableMax = 8;
export const reviewVersions = ["v1", "v1beta1"];
export const types = ["array", "boolean", "integer", "number", "object", "string"];

export function optionsForUpdate(
  spec: Fields,
  old: Fields,
  wasEstablished: boolean,
): DefinitionOptions {
  const schemas = schemasOf(old);
  const none = (test: (schema: Fields) => boolean): boolean =>
    !schemas.some((schema) => someSchema(schema, test));
  const review = texts(part(part(old, "conversion"), "webhook"), "conversionReviewVersions");
  return {
    requiresSchema: schemas.length === items(old, "versions").length,
    requiresValidTypes: none(
      (one) => text(one, "type") !== "" && !types.includes(text(one, "type")),
    ),
    requiresPrunedDefaults: !schemas.some(hasUnprunedDefaults),
    requiresAtomicSets: none(hasSplitSet),
    requiresGoodKeys: none((schema) => keyErrors(schema, "").length > 0),
    requiresKnownReview: review.length === 0 || review.some((one) => reviewVersions.includes(one)),
    requiresGoodBundle: wasEstablished && conversionBundleFault(old) === undefined,
    tooManyFields: keptSelectable(spec, old),
  };
}

function schemasOf(spec: Fields): readonly Fields[] {
  return items(spec, "versions").flatMap((version) => {
    const schema = maybe(part(version, "schema"), "openAPIV3Schema");
    return schema === undefined ? [] : [schema];
  });
}

function hasSplitSet(schema: Fields): boolean {
  const below = maybe(schema, "items");
  const isSet = maybeText(schema, "x-kubernetes-list-type") === "set";
  return isSet && below !== undefined && isSplit(below);
}

function hasUnprunedDefaults(schema: Fields): boolean {
  if (unsupportedField(schema) !== undefined || structuralErrors(schema, "").length > 0)
    return false;
  return someSchema(schema, (one) => {
    if (!has(one, "default")) return false;
    const value = (one as JsonObject)["default"] ?? null;
    return !jsonEqual(pruneValue(value, trustStructural(one as JsonObject)), value);
  });
}

/** An excessive number of fields is accepted where it did not change. */
function keptSelectable(spec: Fields, old: Fields): ReadonlySet<string> {
  const kept = new Set<string>();
  const before = new Map(items(old, "versions").map((version) => [text(version, "name"), version]));
  const versions = items(spec, "versions");
  for (const version of versions) {
    const name = text(version, "name");
    const fields = items(before.get(name) ?? {}, "selectableFields");
    if (fields.length <= selectableMax) continue;
    if (jsonEqual(fields, items(version, "selectableFields"))) kept.add(name);
  }
  if (kept.size === versions.length && kept.size > 0) kept.add("");
  return kept;
}
