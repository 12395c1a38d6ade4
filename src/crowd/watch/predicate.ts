/**
 * The selection of a watcher or a list, split into a scope (decided by the key alone, served by an index) and a
 * rest that depends on labels and fields.
 *
 * Scope   all, one namespace, or one key. The key of an object never changes, so the scope needs no
 *         before-and-after comparison.
 * Rest    label and field requirements that the scope does not already guarantee; `selective` says whether
 *         there are any. Checking them parses the object, once for all watchers. They are kept compact: the
 *         parsed form of the selector's text is released (`#api/selectors/compact-selector.ts`).
 */
import type { Clause } from "#api/selectors/clauses.ts";
import { compactFields, compactLabels } from "#api/selectors/compact-selector.ts";
import { type FieldSelector, findRequiredValue } from "#api/selectors/field-selector.ts";
import type { LabelSelector } from "#api/selectors/label-selector.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { keyOfText } from "#forms/shared-object.ts";

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
  /** Equal selections have equal texts; watchers with the same text share what is cached for it. */
  readonly text: string;
  /** Memory that the predicate takes, in bytes. */
  readonly bytes: number;
  /** Number of distinct keys and values of its selectors. */
  readonly size: number;
  /** The selectors exceed what people write: such watches are served separately, and `SelectorPool` shares the selectors. */
  readonly isLong: boolean;
  /** Labels that must have one given value; an index can serve them. */
  readonly requiredLabels: readonly { readonly key: string; readonly value: string }[];
  /** Evaluates label and field selectors; the key is known to be in the range. */
  matches(object: CachedObject): boolean;
  /** The same for labels and fields of another form of the object. */
  selects(labels: CachedObject["labels"], fieldOf: CachedObject["field"]): boolean;
  /** The value that the selector requires of `field`, if any; an index can serve it. */
  required(field: string): string | undefined;
}

/** Selectors up to this many keys and values need no special treatment: 500 such watchers take a few ms per turn. */
const sizeMax = 32;
/** Memory of the record itself, with its functions. */
const recordBytes = 600;

/** Greater than every key: a key is a string of bytes, and the byte 0xff never occurs in UTF-8. */
const keyEnd = "\xff";
const none = { requirements: [] };

export function compilePredicate(selection: Selection): Predicate {
  const scope = compileScope(selection, selection.fields ?? none);
  const range = compileRange(scope);
  const labels = compactLabels(selection.labels ?? none);
  const fields = compactFields(scope.fields);
  const size = labels.size + fields.size;
  const text = `${range.from}\n${labels.text}\n\n${fields.text}`;
  const requiredFields = requiredOf(fields.clauses);
  return {
    ...range,
    namespace: scope.namespace,
    key: scope.key,
    selective: size > 0,
    text,
    bytes: recordBytes + labels.bytes + fields.bytes + text.length,
    size,
    isLong: size > sizeMax,
    requiredLabels: requiredOf(labels.clauses),
    matches: (object) =>
      size === 0 ||
      ((labels.size === 0 || labels.matches(object.labels)) &&
        (fields.size === 0 || fields.matches((field) => object.field(field)))),
    selects: (own, fieldOf) => labels.matches(own) && fields.matches(fieldOf),
    required: (field) => requiredFields.find(({ key }) => key === field)?.value,
  };
}

/** The required label values. None for a long selector, so that it is indexed by namespace. */
function requiredOf(clauses: readonly Clause[]): Predicate["requiredLabels"] {
  return clauses.flatMap(({ key, operator, values }) => {
    const [value] = values;
    const isOne = operator === "in" && values.length === 1 && value !== undefined;
    return isOne ? [{ key, value }] : [];
  });
}

interface Scope {
  readonly namespace: string;
  readonly key: string | undefined;
  /** The part of the field selector that the scope does not guarantee. */
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

/** The selector without the equality that the scope guarantees; a contradicting one remains and matches nothing. */
function without(selector: FieldSelector, field: string, keyText: string): FieldSelector {
  return {
    requirements: selector.requirements.filter(
      (r) => r.field !== field || r.operator !== "=" || keyOfText(r.value) !== keyText,
    ),
  };
}
