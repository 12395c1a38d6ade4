/**
 * The set of paths that a value has: leaves, keys of maps, elements of lists, and empty
 * objects. Also the corrections that the schema requires for the other sets of a manager.
 * After  structured-merge-diff typed/tofieldset.go, fieldpath EnsureNamedFieldsAreMembers.
 */
import { isJsonObject } from "../json/json-value.ts";
import type { MutableJson } from "../json/json-value.ts";
import { isEmpty, memberOnly, setNode } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { fieldElement } from "./fields-v1.ts";
import type { Shape } from "./shape.ts";
import { fieldShape, formOf, itemShape, itemsByElement, listOf, objectOf } from "./walk.ts";

/** The set node of `value`: whether its own path is a member, and all paths below it. */
export function setOfValue(value: MutableJson, shape: Shape): FieldSet {
  return nodeOf(value, shape, isVoid);
}

/**
 * Like `setOfValue`, but empty lists are members too: it shows what is left after paths
 * were removed.
 */
export function setOfContent(value: MutableJson, shape: Shape): FieldSet {
  return nodeOf(value, shape, (member) => isVoid(member) || isEmptyList(member));
}

/** null and `{}` have no paths below them, so their own path is owned. */
function isVoid(value: MutableJson): boolean {
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

function isEmptyList(value: MutableJson): boolean {
  return Array.isArray(value) && value.length === 0;
}

type IsOwn = (member: MutableJson) => boolean;

function nodeOf(value: MutableJson, shape: Shape, isOwn: IsOwn): FieldSet {
  const form = formOf(shape, value);
  if (form.kind === "leaf") return memberOnly;
  if (form.kind === "object") {
    const { shape: object } = form;
    const members = Object.entries(objectOf(value)).filter(([, member]) => member !== undefined);
    const children = members.map(([name, member]): [string, FieldSet] => {
      const isKey = object.kind === "map" || object.field(name) === undefined;
      const node = nodeOf(member, fieldShape(object, name), isOwn);
      return [fieldElement(name), withMember(node, isKey || isOwn(member))];
    });
    return setNode(false, children);
  }
  const items = [...itemsByElement(form.shape, listOf(value))];
  return setNode(
    false,
    items.map(([element, same]) => {
      const [item] = same;
      if (same.length > 1 || item === undefined) return [element, memberOnly];
      return [element, withMember(nodeOf(item, itemShape(form.shape), isOwn), true)];
    }),
  );
}

function withMember(set: FieldSet, member: boolean): FieldSet {
  if (!member || set.isMember) return set;
  return isEmpty(set) ? memberOnly : { isMember: true, children: set.children };
}

/** Adds every struct field on the way to a path, because a field in use is itself owned. */
export function withNamedFields(set: FieldSet, shape: Shape): FieldSet {
  if (set.children.size === 0) return set;
  const children = [...set.children].map(([element, child]): [string, FieldSet] => {
    const named = shape.kind === "struct" && element.startsWith("f:");
    const known = named ? shape.field(element.slice(2)) : undefined;
    const deeper = withNamedFields(child, known ?? elementShape(shape, element));
    return [element, withMember(deeper, known !== undefined)];
  });
  return setNode(set.isMember, children);
}

function elementShape(shape: Shape, element: string): Shape {
  switch (shape.kind) {
    case "struct":
    case "map":
      return fieldShape(shape, element.slice(2));
    case "list":
    case "set":
      return itemShape(shape);
    case "leaf":
    case "deduced":
      return shape;
    default:
      return shape satisfies never;
  }
}

/**
 * Reduces a set to what the present schema can hold: paths below a value that has become atomic are replaced by the
 * value's own path. (A value that has become granular is refined by the next write of its manager.)
 */
export function reconcileSet(set: FieldSet, shape: Shape): FieldSet {
  if (set.children.size === 0 || shape.kind === "deduced") return set;
  if (shape.kind === "leaf") return memberOnly;
  let children: Map<string, FieldSet> | undefined;
  for (const [element, child] of set.children) {
    const next = reconcileSet(child, elementShape(shape, element));
    if (next === child) continue;
    children ??= new Map(set.children);
    children.set(element, next);
  }
  return children === undefined ? set : { isMember: set.isMember, children };
}
