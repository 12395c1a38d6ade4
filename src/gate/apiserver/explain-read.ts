/** The source and index of a read's answer, for callers that ask for them (`#server/explanation.ts`). */
import { findRequiredValue } from "#api/selectors/field-selector.ts";
import type { AnswerIndex, AnswerSource } from "#server/explanation.ts";
import type { RequestContext } from "#server/context.ts";
import { compilePredicate } from "#watch/predicate.ts";
import type { ListQuery } from "./list-options.ts";
import type { StoredKind } from "./stored-kind.ts";

/** The field by which the registry's caches index watches, for kinds that have it. */
const indexedField = "spec.nodeName";

export function explainRead(
  { explanation }: RequestContext,
  source: AnswerSource,
  index: AnswerIndex,
): void {
  if (explanation === undefined) return;
  explanation.source = source;
  explanation.index = index;
}

/** Index of a list: objects are ordered by key. */
export function listIndex({ place }: RequestContext, { fields }: ListQuery): AnswerIndex {
  const isNamed = fields !== undefined && findRequiredValue(fields, "metadata.name") !== undefined;
  if (isNamed) return "key";
  return place.namespace === "" ? "none" : "namespace";
}

/** Index of a watch, chosen as a cache finds its cursors (`#watch/cursor-index.ts`). */
export function watchIndex(
  { place }: RequestContext,
  { resource }: StoredKind,
  { labels, fields }: ListQuery,
): AnswerIndex {
  const { namespaced } = resource;
  const predicate = compilePredicate({ namespace: place.namespace, namespaced, labels, fields });
  if (place.name !== "" || predicate.key !== undefined) return "key";
  if (predicate.required(indexedField) !== undefined) return "field";
  if (predicate.requiredLabels.length > 0) return "label";
  return predicate.namespace === "" ? "none" : "namespace";
}
