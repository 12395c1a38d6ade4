/**
 * Strategic merge patch: a merge patch that takes from the schema which lists merge by key.
 *
 * Directives, as upstream (apimachinery pkg/util/strategicpatch):
 *   $patch: replace | delete      in a map: the map is replaced or emptied; in a list element: the
 *                                 list is replaced, or the elements with that merge key are removed
 *   $retainKeys: [..]             fields of the original that are not named are removed
 *   $deleteFromPrimitiveList/x    values to take out of the list x
 *   $setElementOrder/x            the order of the elements of x that the client knows
 * null deletes a field. Order of a merged list: patch elements in the patch's order, the others
 * where the original had them relative to those. The original and the patch are not changed.
 * Cost: a copy of both; lists are merged by a map of their keys, so linear except for the sorts of their order.
 */
import { cloneJson, freezeType, getField, isJsonObject, setField } from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import { unprocessable } from "./json-patch.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import type { FieldSchema, ObjectSchema } from "../schema/schema-types.ts";
import { goValue } from "../go/go-value.ts";
import { badRequest, failure } from "../status.ts";
import { checkElementOrder, mergeOrder, partition } from "./strategic-order.ts";

/** Finds a definition by name; undefined: unknown. */
type SchemaLookup = (name: string) => ObjectSchema | undefined;

const patchDirective = "$patch";
const retainKeysDirective = "$retainKeys";
const deleteListPrefix = "$deleteFromPrimitiveList/";
const elementOrderPrefix = "$setElementOrder/";

/** The patch is well-formed JSON but not a strategic merge patch for this object. */
class StrategicMergeError extends Error {
  /** `format`: the directives are misused (400); `object`: the patch does not fit (422). */
  readonly kind: "format" | "object" | "unexplained";

  constructor(kind: StrategicMergeError["kind"], message: string) {
    super(message);
    this.name = "StrategicMergeError";
    this.kind = kind;
  }
}

/** Applies `patch` to `original`, an object of `schema`. Throws ApiError 400 or 422. */
export function strategicMergePatch(
  original: JsonObject,
  patch: unknown,
  schema: ObjectSchema,
  lookup: SchemaLookup,
): JsonValue {
  if (!isJsonObject(patch)) {
    const given = Array.isArray(patch) ? "array" : typeof patch;
    throw badRequest(
      `json: cannot unmarshal ${given} into Go value of type map[string]interface {}`,
    );
  }
  try {
    const level = { schema: objectLevel(schema), lookup };
    return freezeType(
      mergeMap(cloneJson(original) as MutableObject, cloneJson(patch) as MutableObject, level),
    ); // clones of objects
  } catch (error) {
    if (!(error instanceof StrategicMergeError)) throw error;
    throw refusal(error);
  }
}

/** A case without an explanation in upstream is a 500 with its text. */
function refusal(error: StrategicMergeError): Error {
  switch (error.kind) {
    case "format":
      return badRequest(error.message);
    case "object":
      return unprocessable(error);
    case "unexplained":
      return failure(500, "", error.message);
    default:
      return error.kind satisfies never;
  }
}

/** The fields known at one level of the object; undefined where nothing is known. */
type Level = { readonly schema: LevelSchema | undefined; readonly lookup: SchemaLookup };
type LevelSchema = (field: string) => FieldSchema | undefined;

function objectLevel(schema: ObjectSchema): LevelSchema {
  return (field) => (Object.hasOwn(schema.fields, field) ? schema.fields[field] : undefined);
}

/** The level below `field`: an object's own fields, or for a map the same schema for each key. */
function levelOf(field: FieldSchema | undefined, lookup: SchemaLookup): Level {
  if (field === undefined) return { schema: undefined, lookup };
  if (field.type === "map") return { schema: () => field.items, lookup };
  const object = field.ref === undefined ? undefined : lookup(field.ref);
  return { schema: object === undefined ? undefined : objectLevel(object), lookup };
}

function mergeMap(original: MutableObject, patch: MutableObject, level: Level): MutableObject {
  const directive = getField(patch, patchDirective);
  if (directive !== undefined) return replaceMap(directive, patch);
  retainKeys(original, patch);
  mergeOrderedLists(original, patch, level);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(deleteListPrefix)) {
      deleteFromList(original, key.slice(deleteListPrefix.length), value);
    } else mergeField(original, key, value, level);
  }
  return original;
}

function replaceMap(directive: MutableJson, patch: MutableObject): MutableObject {
  if (directive === "delete") return {};
  if (directive !== "replace") throw badDirective(directive, patch);
  delete patch[patchDirective];
  return patch;
}

function mergeField(original: MutableObject, key: string, value: MutableJson, level: Level): void {
  if (value === null) {
    delete original[key];
    return;
  }
  const old = getField(original, key);
  const field = level.schema?.(key);
  const strategy = listStrategy(field);
  let next: MutableJson | undefined;
  if (isJsonObject(old) && isJsonObject(value)) {
    next = strategy === "replace" ? value : mergeMap(old, value, levelOf(field, level.lookup));
  } else if (Array.isArray(old) && Array.isArray(value)) {
    next = strategy === "merge" ? mergeList(old, value, field, level.lookup) : value;
  } else next = withoutDirectives(withoutNulls(value));
  if (next === undefined) delete original[key];
  else setField(original, key, next);
}

/** The strategy without `retainKeys`, because the patch contains that directive itself. */
function listStrategy(field: FieldSchema | undefined): "merge" | "replace" | undefined {
  const strategy = field?.patchStrategy;
  if (strategy === undefined || strategy === "retainKeys") return undefined;
  return strategy === "replace" ? "replace" : "merge";
}

function deleteFromList(original: MutableObject, key: string, values: MutableJson): void {
  const old = getField(original, key);
  if (!Array.isArray(old) || !Array.isArray(values)) return;
  const gone = new Set(values);
  setField(
    original,
    key,
    old.filter((item) => !gone.has(item)),
  );
}

/** Merges lists of scalars as sets, lists of objects by their merge key. */
function mergeList(
  original: MutableJson[],
  patch: MutableJson[],
  field: FieldSchema | undefined,
  lookup: SchemaLookup,
): MutableJson[] {
  if (original.length === 0 && patch.length === 0) return original;
  if (![...original, ...patch].every(isJsonObject)) return mergeScalars(original, patch);
  const key = field?.patchMergeKey;
  if (key === undefined) {
    throw new StrategicMergeError("object", "cannot merge lists without merge key");
  }
  const start = applyElementDirectives(original, patch, key);
  const level = levelOf(field?.items, lookup);
  const merged = mergeElements([...start.original], start.patch, key, level);
  const { inside, outside } = partition(merged, start.patch, key);
  return mergeOrder(inside, outside, start.patch, start.original, key);
}

function mergeScalars(
  original: readonly MutableJson[],
  patch: readonly MutableJson[],
): MutableJson[] {
  if ([...original, ...patch].some((item) => typeof item === "object" && item !== null)) {
    throw new StrategicMergeError("object", "list element types are not identical");
  }
  const merged = [...new Set([...original, ...patch])];
  const { inside, outside } = partition(merged, patch, undefined);
  return mergeOrder(inside, outside, patch, original, undefined);
}

/** Elements with `$patch`: `delete` removes matching elements, `replace` drops the original list. */
function applyElementDirectives(
  original: readonly MutableJson[],
  patch: readonly MutableJson[],
  key: string,
): { original: readonly MutableJson[]; patch: readonly MutableJson[] } {
  const deleted = new Set<MutableJson>();
  let replace = false;
  const plain: MutableJson[] = [];
  for (const element of patch as readonly MutableObject[]) {
    // checked by the caller
    const directive = getField(element, patchDirective);
    if (directive === undefined) plain.push(element);
    else if (directive === "replace") replace = true;
    else if (directive === "delete") {
      deleted.add(mergeKeyOf(element, key));
      if (deleted.size === 1) checkMergeKeys(original, key);
    } else throw badDirective(directive, element);
  }
  if (replace) return { original: plain, patch: [] };
  if (deleted.size === 0) return { original, patch: plain };
  return { original: original.filter((item) => !deleted.has(mergeKeyOf(item, key))), patch: plain };
}

/** Reports an element without key before later directives are evaluated. */
function checkMergeKeys(list: readonly MutableJson[], key: string): void {
  for (const item of list) mergeKeyOf(item, key);
}

function mergeElements(
  merged: MutableJson[],
  patch: readonly MutableJson[],
  key: string,
  level: Level,
): MutableJson[] {
  const places = new MergeKeyIndex(merged, key);
  for (const element of patch as readonly MutableObject[]) {
    // checked by the caller
    const at = places.find(mergeKeyOf(element, key));
    if (at === -1) merged.push(element);
    else merged[at] = mergeMap(merged[at] as MutableObject, element, level); // a list of objects
  }
  return merged;
}

/** Index of the first element with a given merge key, for a list to which elements are only appended. */
class MergeKeyIndex {
  readonly #list: readonly MutableJson[];
  readonly #key: string;
  readonly #places = new Map<MutableJson, number>();
  #read = 0;

  constructor(list: readonly MutableJson[], key: string) {
    this.#list = list;
    this.#key = key;
  }

  /** -1: none. Reads no further than necessary, so that an element without key fails as late as in a search. */
  find(value: MutableJson): number {
    const known = this.#places.get(value);
    if (known !== undefined) return known;
    for (; this.#read < this.#list.length; this.#read++) {
      const found = mergeKeyOf(this.#list[this.#read] ?? null, this.#key);
      const at = this.#read;
      if (!this.#places.has(found)) this.#places.set(found, at);
      if (found !== value) continue;
      this.#read++;
      return at;
    }
    return -1;
  }
}

/** The element's merge key; an element without it cannot be merged. */
function mergeKeyOf(element: MutableJson, key: string): MutableJson {
  const value = isJsonObject(element) ? getField(element, key) : undefined;
  if (value !== undefined) return value;
  throw new StrategicMergeError(
    "unexplained",
    `map: ${goValue(element)} does not contain declared merge key: ${key}`,
  );
}

/** Merges lists with `$setElementOrder` and removes them and their directive from the patch. */
function mergeOrderedLists(original: MutableObject, patch: MutableObject, level: Level): void {
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(elementOrderPrefix)) continue;
    const order = patch[directive];
    delete patch[directive];
    if (!Array.isArray(order)) {
      throw new StrategicMergeError("format", "invalid patch format of setElementOrder list");
    }
    mergeOrderedList(original, patch, directive.slice(elementOrderPrefix.length), order, level);
  }
}

function mergeOrderedList(
  original: MutableObject,
  patch: MutableObject,
  name: string,
  order: MutableJson[],
  level: Level,
): void {
  const oldList = getField(original, name);
  const patchList = getField(patch, name);
  if (patchList === null) return; // the null deletes the list later
  for (const list of [oldList ?? [], patchList ?? []]) {
    if (!Array.isArray(list)) throw new StrategicMergeError("format", `expected a list in ${name}`);
  }
  const field = level.schema?.(name);
  const key = field?.patchMergeKey;
  const finding = checkElementOrder(asList(patchList), order, key, elementOrderPrefix);
  if (finding !== undefined) throw new StrategicMergeError("format", finding);
  const merged = mergeOrderedContent(oldList, patchList, field, level.lookup);
  if (merged === undefined) return;
  const { inside, outside } = partition(merged, order, key);
  setField(original, name, mergeOrder(inside, outside, order, asList(oldList), key));
  delete patch[name];
}

function mergeOrderedContent(
  oldList: MutableJson | undefined,
  patchList: MutableJson | undefined,
  field: FieldSchema | undefined,
  lookup: SchemaLookup,
): MutableJson[] | undefined {
  if (patchList === undefined) return Array.isArray(oldList) ? oldList : undefined;
  if (oldList === undefined || oldList === null) return asList(withoutDirectives(patchList));
  if (listStrategy(field) !== "merge") return asList(patchList);
  return mergeList(asList(oldList), asList(patchList), field, lookup);
}

function asList(value: MutableJson | undefined): MutableJson[] {
  return Array.isArray(value) ? value : [];
}

/** Removes fields that `$retainKeys` does not name; it must name every field that the patch sets. */
function retainKeys(original: MutableObject, patch: MutableObject): void {
  const keys = getField(patch, retainKeysDirective);
  if (keys === undefined) return;
  delete patch[retainKeysDirective];
  if (!Array.isArray(keys)) throw badRetainKeys();
  const retained = new Set(keys);
  for (const [field, value] of Object.entries(patch)) {
    const directive = field.startsWith(deleteListPrefix) || field.startsWith(elementOrderPrefix);
    if (value !== null && !directive && !retained.has(field)) throw badRetainKeys();
  }
  for (const field of Object.keys(original)) {
    if (!retained.has(field)) delete original[field];
  }
}

function badRetainKeys(): StrategicMergeError {
  return new StrategicMergeError("format", "invalid patch format of retainKeys");
}

function badDirective(directive: MutableJson, map: MutableObject): StrategicMergeError {
  const text = `unknown patch type: ${goValue(directive)} in map: ${goValue(map)}`;
  return new StrategicMergeError("unexplained", text);
}

/** For values that are new in the object: nulls and directives have no effect. */
function withoutNulls(value: MutableJson): MutableJson {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  for (const [field, member] of Object.entries(value)) {
    if (member === null) delete value[field];
    else withoutNulls(member);
  }
  return value;
}

/** Undefined when the value itself is a directive (a map with `$patch`). */
function withoutDirectives(value: MutableJson): MutableJson | undefined {
  if (Array.isArray(value)) {
    return value.map(withoutDirectives).filter((item) => item !== undefined);
  }
  if (!isJsonObject(value)) return value;
  if (Object.hasOwn(value, patchDirective)) return undefined;
  for (const [field, member] of Object.entries(value)) {
    const kept = isDirective(field) ? undefined : withoutDirectives(member);
    if (kept === undefined) delete value[field];
    else setField(value, field, kept);
  }
  return value;
}

function isDirective(field: string): boolean {
  return (
    field === retainKeysDirective ||
    field.startsWith(deleteListPrefix) ||
    field.startsWith(elementOrderPrefix)
  );
}
