/**
 * What a watcher or a list wants to see, split into a scope (decided by the key alone, served by
 * an index) and a rest that looks at labels and fields.
 *
 * Scope   all, one namespace, or one key. The key of an object never changes, so scope needs no
 *         before-and-after comparison.
 * Rest    label and field requirements the scope does not already guarantee; `selective` says that
 *         there is any. Looking at them parses the object, once for all watchers.
 */
import type { FieldSelector } from "#api/selectors/field-selector.ts";
import { fieldsMatch, findRequiredValue } from "#api/selectors/field-selector.ts";
import type { LabelSelector } from "#api/selectors/label-selector.ts";
import { labelsMatch } from "#api/selectors/label-selector.ts";
import type { CachedObject } from "./cached-object.ts";
import { keyOfText } from "./shared-object.ts";

interface Selection {
  /** "" for all namespaces and for cluster-scoped resources. */
  readonly namespace: string;
  readonly namespaced: boolean;
  readonly labels?: LabelSelector | undefined;
  readonly fields?: FieldSelector | undefined;
}

/** Keys in [from, to). */
interface KeyRange {
  readonly from: string;
  readonly to: string;
}

export interface Predicate extends KeyRange {
  readonly namespace: string;
  /** The one key that can match, when name (and namespace) are given. */
  readonly key: string | undefined;
  readonly selective: boolean;
  /** One text per selection: watchers of the same share what is kept of it. */
  readonly text: string;
  /** Labels that must have one value: let an index serve them. */
  readonly requiredLabels: readonly { readonly key: string; readonly value: string }[];
  /** Labels and fields; the key is known to be in the range. */
  matches(object: CachedObject): boolean;
  /** The value required of a field, when there is one: lets an index serve it. */
  required(field: string): string | undefined;
}

/** Above every key: keys are bytes as chars, and no name holds a byte 0xff (it is never UTF-8). */
const keyEnd = "\xff";
const none: FieldSelector = { requirements: [] };

export function compilePredicate(selection: Selection): Predicate {
  const labels = selection.labels ?? { requirements: [] };
  const scope = compileScope(selection, selection.fields ?? none);
  const range = compileRange(scope);
  const selective = labels.requirements.length > 0 || scope.fields.requirements.length > 0;
  return {
    ...range,
    namespace: scope.namespace,
    key: scope.key,
    selective,
    text: JSON.stringify([range.from, labels.requirements, scope.fields.requirements]),
    requiredLabels: requiredLabels(labels),
    matches: (object) =>
      !selective ||
      ((labels.requirements.length === 0 || labelsMatch(labels, object.labels)) &&
        fieldsMatch(scope.fields, (field) => object.field(field))),
    required: (field) => findRequiredValue(scope.fields, field),
  };
}

function requiredLabels({ requirements }: LabelSelector): Predicate["requiredLabels"] {
  const required: { readonly key: string; readonly value: string }[] = [];
  for (const { key, operator, values } of requirements) {
    const [value] = values;
    const equal = operator === "=" || operator === "==" || operator === "in";
    if (equal && value !== undefined && values.length === 1) required.push({ key, value });
  }
  return required;
}

interface Scope {
  readonly namespace: string;
  readonly key: string | undefined;
  /** What the scope does not guarantee. */
  readonly fields: FieldSelector;
}

function compileScope(selection: Selection, fields: FieldSelector): Scope {
  let rest = fields;
  let namespace = keyOfText(selection.namespace);
  if (selection.namespaced && namespace === "") {
    namespace = keyOfText(findRequiredValue(rest, "metadata.namespace") ?? "");
    if (namespace !== "") rest = without(rest, "metadata.namespace", namespace);
  }
  const name = keyOfText(findRequiredValue(rest, "metadata.name") ?? "");
  if (name === "" || (selection.namespaced && namespace === "")) {
    return { namespace, key: undefined, fields: rest };
  }
  const key = selection.namespaced ? `${namespace}/${name}` : name;
  return { namespace, key, fields: without(rest, "metadata.name", name) };
}

function compileRange(scope: Scope): KeyRange {
  if (scope.key !== undefined) return { from: scope.key, to: `${scope.key}\0` };
  return namespaceRange(scope.namespace);
}

/** `namespace` as key text; "" for all. "0" is the character after "/". */
export function namespaceRange(namespace: string): KeyRange {
  if (namespace === "") return { from: "", to: keyEnd };
  return { from: `${namespace}/`, to: `${namespace}0` };
}

/** The selector less the equalities the scope guarantees; a contradicting one stays and fails. */
function without(selector: FieldSelector, field: string, keyText: string): FieldSelector {
  return {
    requirements: selector.requirements.filter(
      (r) => r.field !== field || r.operator !== "=" || keyOfText(r.value) !== keyText,
    ),
  };
}
