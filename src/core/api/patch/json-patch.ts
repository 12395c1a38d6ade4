/**
 * JSON patch (RFC 6902) as the Kubernetes API applies it: it accepts what evanphx/json-patch accepts
 * (negative indices, a test of an absent value against null), and refuses what that library refuses.
 *
 * Refusals are ApiErrors: 400 for an invalid patch, 413 for too many operations, and 422 for
 * a patch that does not apply. The 422 carries upstream's one text for all of them; its `cause` says which operation
 * failed and why. The given document is not changed.
 */
import { carryLiteral, literalOf } from "#base/exact-json.ts";
import {
  cloneJson,
  clonePatch,
  freezeType,
  getField,
  isJsonObject,
  jsonEqual,
  jsonKind,
  setField,
} from "../json/json-value.ts";
import type { MutableJson, MutableObject } from "../json/json-value.ts";
import type { JsonValue } from "../object.ts";
import { badRequest, failure } from "../status.ts";

/** Maximum operations per patch. */
export const jsonPatchOperationsMax = 10_000;
/** Maximum bytes of JSON that all `copy` operations of a patch may add. */
const jsonPatchCopyBytesMax = 3 * 1024 * 1024;

type OperationKind = "add" | "remove" | "replace" | "move" | "copy" | "test";

interface Operation {
  readonly op: string;
  readonly path: string | undefined;
  readonly from: string | undefined;
  /** Undefined: the operation has no value; null is a value. */
  readonly value: JsonValue | undefined;
  /** The operation as decoded, for the spelling of its value. */
  readonly item: object;
  /** The spelling of a number, if it is unusual. */
  readonly literal: string | undefined;
}

/** Why an operation cannot be applied; becomes the `cause` of the 422. */
class JsonPatchError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "JsonPatchError";
  }
}

/** Applies `patch`, a decoded JSON document, to `document`. Throws ApiError. */
export function applyJsonPatch(document: JsonValue, patch: unknown): JsonValue {
  const run = new JsonPatchRun(document, patch);
  while (!run.isDone) run.step();
  return run.result();
}

/** Operations per step; each may move all later elements of a list. */
const operationsPerStep = 250;
/** Bytes copied per step; a copy is traversed twice, to make it and to count it. */
const copiedBytesPerStep = 128 * 1024;

/** Applies a patch in steps, between which other requests are served. The methods throw ApiError. */
export class JsonPatchRun {
  readonly #operations: readonly Operation[];
  readonly #state: PatchState;
  #applied = 0;

  constructor(document: JsonValue, patch: unknown) {
    this.#operations = decodeOperations(patch);
    this.#state = { root: cloneJson(document), copiedBytes: 0 };
  }

  get isDone(): boolean {
    return this.#applied >= this.#operations.length;
  }

  step(): void {
    const until = this.#applied + operationsPerStep;
    const copiedMax = this.#state.copiedBytes + copiedBytesPerStep;
    try {
      while (this.#applied < until && this.#state.copiedBytes < copiedMax) {
        const operation = this.#operations[this.#applied++];
        if (operation === undefined) return;
        applyOperation(this.#state, operation);
      }
    } catch (error) {
      if (error instanceof JsonPatchError) throw unprocessable(error);
      throw error;
    }
  }

  /** Call once, after the last step. */
  result(): JsonValue {
    return freezeType(this.#state.root);
  }
}

/** 422 with upstream's text for any well-formed patch that does not fit the object. */
export function unprocessable(cause: Error): Error {
  const text = "the server rejected our request due to an error in our request";
  const error = failure(422, "Invalid", text, {});
  error.cause = cause;
  return error;
}

function decodeOperations(patch: unknown): Operation[] {
  if (patch === null) return [];
  if (!Array.isArray(patch)) {
    const text = `json: cannot unmarshal ${jsonKind(patch)} into Go value of type jsonpatch.Patch`;
    throw badRequest(text);
  }
  if (patch.length > jsonPatchOperationsMax) {
    const text = `Request entity is too large: The allowed maximum operations in a JSON patch is ${jsonPatchOperationsMax}, got ${patch.length}`;
    throw failure(413, "RequestEntityTooLarge", text);
  }
  return patch.map(decodeOperation);
}

function decodeOperation(given: unknown): Operation {
  const item = given ?? {};
  if (!isJsonObject(item)) {
    throw badRequest(
      `json: cannot unmarshal ${jsonKind(item)} into Go value of type jsonpatch.Operation`,
    );
  }
  const [op, path, from] = ["op", "path", "from"].map((field) => {
    const value = getField(item, field);
    return typeof value === "string" ? value : undefined;
  });
  return {
    op: op ?? "unknown",
    path,
    from,
    value: getField(item, "value"),
    item,
    literal: literalOf(item, "value"),
  };
}

interface PatchState {
  root: MutableJson;
  copiedBytes: number;
}

const kinds: Readonly<Record<OperationKind, (state: PatchState, operation: Operation) => void>> = {
  add: (state, operation) => {
    const place = findPlace(state.root, requirePath(operation), "add");
    addAt(place, clonePatch(operation.value ?? null));
    spellAt(place, operation);
  },
  remove: (state, operation) => {
    const path = requirePath(operation);
    const place = findPlace(state.root, path, "remove");
    if (!Array.isArray(place.container) && valueAt(place) === undefined) {
      const why = `Unable to remove nonexistent key: ${place.key}: missing value`;
      throw new JsonPatchError(`error in remove for path: '${path}': ${why}`);
    }
    removeAt(place, "remove");
  },
  replace: (state, operation) => {
    const place = findPlace(state.root, requirePath(operation), "replace");
    // As in upstream's library, a missing map field is set, but a missing index is refused.
    if (Array.isArray(place.container)) requireValueAt(place, "replace");
    replaceAt(place, clonePatch(operation.value ?? null));
    spellAt(place, operation);
  },
  move: (state, operation) => {
    const source = findPlace(state.root, requireFrom(operation), "move");
    const value = requireValueAt(source, "move");
    removeAt(source, "move");
    addAt(findPlace(state.root, requirePath(operation), "move"), value);
  },
  copy: (state, operation) => {
    const source = findPlace(state.root, requireFrom(operation), "copy");
    const found = Array.isArray(source.container)
      ? requireValueAt(source, "copy")
      : valueAt(source);
    const value = cloneJson(found ?? null);
    countCopy(state, value);
    addAt(findPlace(state.root, requirePath(operation), "copy"), value);
  },
  test: (state, operation) => {
    const path = requirePath(operation);
    const actual = path === "" ? state.root : valueAt(findPlace(state.root, path, "test"));
    // Upstream compares texts: 1.0 differs from 1.
    const isSpelledOtherwise =
      operation.literal !== undefined && operation.literal !== JSON.stringify(actual);
    if (!isSpelledOtherwise && jsonEqual(actual ?? null, operation.value ?? null)) return;
    throw new JsonPatchError(`testing value ${path} failed: test failed`);
  },
};

function applyOperation(state: PatchState, operation: Operation): void {
  if (!Object.hasOwn(kinds, operation.op)) {
    throw new JsonPatchError(`Unexpected kind: ${operation.op}`);
  }
  kinds[operation.op as OperationKind](state, operation); // a key of the table
}

function countCopy(state: PatchState, value: MutableJson): void {
  state.copiedBytes += new TextEncoder().encode(JSON.stringify(value)).byteLength;
  if (state.copiedBytes <= jsonPatchCopyBytesMax) return;
  throw new JsonPatchError(
    `Unable to complete the copy, the accumulated size increase of copy is ${state.copiedBytes}, exceeding the limit ${jsonPatchCopyBytesMax}`,
  );
}

function requirePath(operation: Operation): string {
  if (operation.path !== undefined) return operation.path;
  throw new JsonPatchError(`${operation.op} operation failed to decode path: missing value`);
}

function requireFrom(operation: Operation): string {
  if (operation.from !== undefined) return operation.from;
  throw new JsonPatchError(`${operation.op} operation failed to decode from: missing value`);
}

/** The end of a path: a container and a key in it. */
interface Place {
  readonly container: MutableJson[] | MutableObject;
  readonly key: string;
}

function findPlace(root: MutableJson, path: string, op: string): Place {
  // The path is not split as a whole, so that a path of a million segments ends where the document does.
  let at: MutableJson | undefined = root;
  let from = path.indexOf("/") + 1;
  while (from > 0 && isContainer(at)) {
    const to = path.indexOf("/", from);
    const key = decodeSegment(to < 0 ? path.slice(from) : path.slice(from, to));
    if (to < 0) return { container: at, key };
    at = valueAt({ container: at, key });
    from = to + 1;
  }
  throw new JsonPatchError(
    `${op} operation does not apply: doc is missing path: "${path}": missing value`,
  );
}

function isContainer(value: MutableJson | undefined): value is MutableJson[] | MutableObject {
  return typeof value === "object" && value !== null;
}

function decodeSegment(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

function valueAt({ container, key }: Place): MutableJson | undefined {
  if (!Array.isArray(container)) return getField(container, key);
  const index = parseIndex(key);
  return container[index < 0 ? container.length + index : index];
}

function requireValueAt(place: Place, op: string): MutableJson {
  const value = valueAt(place);
  if (value !== undefined) return value;
  throw new JsonPatchError(
    `${op} operation does not apply: doc is missing key: ${place.key}: missing value`,
  );
}

function addAt({ container, key }: Place, value: MutableJson): void {
  if (!Array.isArray(container)) setField(container, key, value);
  else if (key === "-") container.push(value);
  else container.splice(indexWithin(key, container.length + 1), 0, value);
}

function replaceAt({ container, key }: Place, value: MutableJson): void {
  if (!Array.isArray(container)) setField(container, key, value);
  else container[indexWithin(key, container.length)] = value;
}

/** A number keeps its spelling in an object field. In a list it does not, because indexes change. */
function spellAt({ container, key }: Place, { item }: Operation): void {
  if (!Array.isArray(container)) carryLiteral(item, "value", container, key);
}

function removeAt(place: Place, op: string): void {
  requireValueAt(place, op);
  const { container, key } = place;
  if (!Array.isArray(container)) delete container[key];
  else container.splice(indexWithin(key, container.length), 1);
}

function parseIndex(key: string): number {
  if (/^[+-]?[0-9]{1,15}$/.test(key)) return Number(key);
  throw new JsonPatchError(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`);
}

/** -1 is the last of `length` elements. */
function indexWithin(key: string, length: number): number {
  const index = parseIndex(key);
  const place = index < 0 ? length + index : index;
  if (place >= 0 && place < length) return place;
  throw new JsonPatchError(`Unable to access invalid index: ${index}: invalid index referenced`);
}
