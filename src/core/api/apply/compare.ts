/**
 * Compares two values of one shape; the differences are three sets of paths.
 * After  structured-merge-diff typed/compare.go.
 */
import { getField, isJsonObject, jsonEqual } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import { emptySet, memberOnly, setNode } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { fieldElement } from "./fields-v1.ts";
import type { Shape } from "./shape.ts";
import type { Form } from "./walk.ts";
import { fieldShape, formOf, itemShape, itemsByElement, keysOf, listOf, objectOf } from "./walk.ts";

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const same: Comparison = { added: emptySet, modified: emptySet, removed: emptySet };
const wholeAdded: Comparison = { ...same, added: memberOnly };
const wholeModified: Comparison = { ...same, modified: memberOnly };
const wholeRemoved: Comparison = { ...same, removed: memberOnly };

type Side = MutableJson | undefined;

/** Compares `before` with `after`; undefined on either side means absent. */
export function compareValues(before: Side, after: Side, shape: Shape): Comparison {
  return compareSides(before, after, shape, new Set());
}

/** Objects and lists of one side that are known to differ from their counterparts. */
type Different = Set<object>;

function compareSides(before: Side, after: Side, shape: Shape, different: Different): Comparison {
  if (before === after) return same;
  if (before === undefined) return { ...same, added: setOfOneSide(after, shape) };
  if (after === undefined) return { ...same, removed: setOfOneSide(before, shape) };
  // Most of an object is unchanged, and finding equality is far faster than computing a set of differences.
  if (jsonEqual(before, after, different)) return same;
  const form = formOf(shape, before, after);
  if (form.kind === "leaf" || (isVoid(before) && isVoid(after))) return compareLeaf(before, after);
  const members =
    form.kind === "object"
      ? compareFields(before, after, form.shape, different)
      : compareItems(before, after, form.shape, different);
  return {
    added: setNode(
      false,
      members.map(([element, { added }]) => [element, added]),
    ),
    modified: setNode(
      false,
      members.map(([element, { modified }]) => [element, modified]),
    ),
    removed: setNode(
      false,
      members.map(([element, { removed }]) => [element, removed]),
    ),
  };
}

/** All paths of a value whose counterpart is absent: its own and those below it. */
function setOfOneSide(value: Side, shape: Shape): FieldSet {
  if (value === undefined) return emptySet;
  const form = formOf(shape, value);
  if (form.kind === "leaf" || isVoid(value)) return memberOnly;
  if (form.kind === "object") return setOfFields(objectOf(value), form.shape);
  const items = [...itemsByElement(form.shape, listOf(value))];
  return setNode(
    true,
    items.map(([element, all]) => [
      element,
      // Duplicate elements can only be compared as a whole.
      all.length > 1 ? memberOnly : setOfOneSide(all[0], itemShape(form.shape)),
    ]),
  );
}

function setOfFields(object: MutableObject, shape: ObjectShape): FieldSet {
  const fields = Object.keys(object).map((name): [string, FieldSet] => {
    const zero = shape.kind === "struct" ? shape.zero(name) : undefined;
    const value = object[name] ?? (object[name] === undefined ? (zero as Side) : null); // plain JSON
    return [fieldElement(name), setOfOneSide(value, fieldShape(shape, name))];
  });
  return setNode(true, [...fields, ...setOfNulls(object, shape)]);
}

/** Fields that are null in Go; they have the same owner as the struct that contains them. */
function setOfNulls(object: MutableObject, shape: ObjectShape): [string, FieldSet][] {
  if (shape.kind === "map") return [];
  const names = shape.nulls.filter((name) => !Object.hasOwn(object, name));
  return names.map((name) => [fieldElement(name), memberOnly]);
}

function compareLeaf(before: Side, after: Side): Comparison {
  if (before === undefined) return wholeAdded;
  if (after === undefined) return wholeRemoved;
  return jsonEqual(before, after) ? same : wholeModified;
}

/** An empty value: only whether it is absent, null, `{}` or `[]` can differ. */
function isVoid(value: Side): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

type Members = readonly (readonly [string, Comparison])[];

type ObjectShape = Extract<Form, { kind: "object" }>["shape"];

function compareFields(
  before: Side,
  after: Side,
  shape: ObjectShape,
  different: Different,
): Members {
  const [left, right] = [objectOf(before), objectOf(after)];
  return keysOf(left, right).map((name) => {
    // If the object exists, so do its Go structs, whether they are set or not.
    const zero = shape.kind === "struct" ? shape.zero(name) : undefined;
    const side = (whole: Side, object: MutableObject): Side => {
      const value = getField(object, name);
      return value === undefined && whole !== undefined ? (zero as Side) : value; // plain JSON
    };
    const comparison = compareSides(
      side(before, left),
      side(after, right),
      fieldShape(shape, name),
      different,
    );
    return [fieldElement(name), comparison];
  });
}

function compareItems(
  before: Side,
  after: Side,
  shape: Extract<Form, { kind: "list" }>["shape"],
  different: Different,
): Members {
  const left = itemsByElement(shape, listOf(before));
  const right = itemsByElement(shape, listOf(after));
  const elements = new Set([...left.keys(), ...right.keys()]);
  return [...elements].map((element) => {
    const a = left.get(element) ?? [];
    const b = right.get(element) ?? [];
    // Duplicate elements can only be compared as a whole.
    if (a.length > 1 || b.length > 1) {
      return [element, compareLeaf(a.length === 0 ? undefined : a, b.length === 0 ? undefined : b)];
    }
    return [element, compareSides(a[0], b[0], itemShape(shape), different)];
  });
}
