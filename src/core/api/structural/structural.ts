/**
 * The schema of a custom resource, compiled: pruning, defaulting, validation and apply walk it.
 *
 * A node keeps the schema as its definition holds it and reads the rest on first use: a definition whose
 * objects are never used costs one small object per version. Children are made once each and kept.
 *
 * Holds  the visible content of a node never changes; two requests for one child return the same node.
 * After  apiextensions-apiserver pkg/apiserver/schema (structural.go, convert.go).
 */
import { isRecord } from "#base/is-record.ts";
import { ownEntry } from "#base/own.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import type { FieldError } from "../status.ts";
import { byText, flag, items, maybe, part, text, texts } from "../validation/fields.ts";
import { append, invalidValue } from "../validation/errors.ts";
import { structuralErrors, unsupportedField } from "./structural-rules.ts";

export interface Structural {
  /** The schema in the definition; shared, not copied. */
  readonly schema: JsonObject;
  /** "" when the schema has no type (int-or-string, preserved fields). */
  readonly type: string;
  readonly isNullable: boolean;
  readonly isIntOrString: boolean;
  readonly isEmbeddedResource: boolean;
  readonly preservesUnknownFields: boolean;
  /** Absent on a list: atomic. */
  readonly listType: string | undefined;
  readonly listMapKeys: readonly string[];
  /** Absent on an object: granular. */
  readonly mapType: string | undefined;
  /** As written; undefined: no default, or a null one. default.ts completes it. */
  readonly defaultValue: JsonValue | undefined;
  readonly items: Structural | undefined;
  /** In Go's order, so that findings have a fixed order. */
  readonly propertyNames: readonly string[];
  /** Names of properties with a default at or below them. */
  readonly namesWithDefaults: readonly string[];
  property(name: string): Structural | undefined;
  /** The schema of all further fields; a boolean: whether they are kept; undefined: none are allowed. */
  readonly additional: Structural | boolean | undefined;
  /** False: there are no defaults at or below this node, so a walk can skip it. */
  readonly hasDefaults: boolean;
  /** False: there are no embedded resources at or below this node. */
  readonly hasEmbedded: boolean;
  /** False: there are no sets and keyed lists at or below this node. */
  readonly hasKeyedLists: boolean;
}

const none: readonly string[] = Object.freeze([]);

class StructuralNode implements Structural {
  readonly schema: JsonObject;
  #properties: Map<string, StructuralNode> | undefined;
  #names: readonly string[] | undefined;
  #defaulted: readonly string[] | undefined;
  #items: StructuralNode | undefined;
  #additional: StructuralNode | undefined;
  #traits: Traits | undefined;

  constructor(schema: JsonObject) {
    this.schema = schema;
  }

  get type(): string {
    return text(this.schema, "type");
  }

  get isNullable(): boolean {
    return flag(this.schema, "nullable");
  }

  get isIntOrString(): boolean {
    return flag(this.schema, "x-kubernetes-int-or-string");
  }

  get isEmbeddedResource(): boolean {
    return flag(this.schema, "x-kubernetes-embedded-resource");
  }

  get preservesUnknownFields(): boolean {
    return flag(this.schema, "x-kubernetes-preserve-unknown-fields");
  }

  get listType(): string | undefined {
    return text(this.schema, "x-kubernetes-list-type") || undefined;
  }

  get listMapKeys(): readonly string[] {
    return texts(this.schema, "x-kubernetes-list-map-keys");
  }

  get mapType(): string | undefined {
    return text(this.schema, "x-kubernetes-map-type") || undefined;
  }

  get defaultValue(): JsonValue | undefined {
    return ownEntry(this.schema, "default") ?? undefined;
  }

  get items(): Structural | undefined {
    const items = ownEntry(this.schema, "items");
    if (!isRecord(items)) return undefined;
    this.#items ??= new StructuralNode(items as JsonObject);
    return this.#items;
  }

  get propertyNames(): readonly string[] {
    this.#names ??= namesOf(ownEntry(this.schema, "properties"));
    return this.#names;
  }

  get namesWithDefaults(): readonly string[] {
    if (!this.hasDefaults) return none;
    const properties = part(this.schema, "properties");
    this.#defaulted ??= this.propertyNames.filter(
      (name) => (addBits(properties[name], 0) & 1) !== 0,
    );
    return this.#defaulted;
  }

  property(name: string): StructuralNode | undefined {
    const known = this.#properties?.get(name);
    if (known !== undefined) return known;
    const properties = ownEntry(this.schema, "properties");
    const schema = isRecord(properties) ? ownEntry(properties, name) : undefined;
    if (!isRecord(schema)) return undefined;
    const node = new StructuralNode(schema as JsonObject);
    (this.#properties ??= new Map()).set(name, node);
    return node;
  }

  get additional(): Structural | boolean | undefined {
    const additional = ownEntry(this.schema, "additionalProperties");
    if (typeof additional === "boolean") return additional;
    if (!isRecord(additional)) return undefined;
    this.#additional ??= new StructuralNode(additional as JsonObject);
    return this.#additional;
  }

  get hasDefaults(): boolean {
    return this.#traitsOf().hasDefaults;
  }

  get hasEmbedded(): boolean {
    return this.#traitsOf().hasEmbedded;
  }

  get hasKeyedLists(): boolean {
    return this.#traitsOf().hasKeyedLists;
  }

  #traitsOf(): Traits {
    this.#traits ??= traitsOf(this.schema);
    return this.#traits;
  }
}

function namesOf(properties: unknown): readonly string[] {
  if (!isRecord(properties)) return none;
  return Object.keys(properties)
    .filter((name) => isRecord(properties[name]))
    .sort(byText);
}

/** Features that occur at or below a schema. One of eight shared objects, so that nodes need no object of their own. */
interface Traits {
  readonly hasDefaults: boolean;
  readonly hasEmbedded: boolean;
  readonly hasKeyedLists: boolean;
}

const traitTable: readonly Traits[] = Array.from({ length: 8 }, (_, bits) => ({
  hasDefaults: (bits & 1) !== 0,
  hasEmbedded: (bits & 2) !== 0,
  hasKeyedLists: (bits & 4) !== 0,
}));

const allBits = 7;

/** Not cached per schema, which would take megabytes for a thousand definitions. */
function traitsOf(schema: JsonObject): Traits {
  return traitTable[addBits(schema, 0)] as Traits; // three bits
}

function addBits(schema: unknown, found: number): number {
  if (!isRecord(schema) || found === allBits) return found;
  const raw = schema["default"];
  let bits = raw === undefined || raw === null ? found : found | 1;
  if (schema["x-kubernetes-embedded-resource"] === true) bits |= 2;
  const listType = schema["x-kubernetes-list-type"];
  if (listType === "set" || listType === "map") bits |= 4;
  bits = addBits(schema["items"], addBits(schema["additionalProperties"], bits));
  const properties = schema["properties"];
  if (!isRecord(properties)) return bits;
  for (const name of Object.keys(properties)) bits = addBits(properties[name], bits);
  return bits;
}

interface Compiled {
  /** Absent when the schema is not structural. */
  readonly structural?: Structural;
  readonly errors: readonly FieldError[];
}

/** `errors`: why the schema is not structural, with upstream's texts and paths that start with `path`. */
export function compileStructural(schema: JsonObject, path = ""): Compiled {
  const unsupported = unsupportedField(schema);
  if (unsupported !== undefined) return { errors: [invalidValue(path, "", unsupported)] };
  const structural = new StructuralNode(schema);
  const errors = structuralErrors(schema, path);
  return errors.length === 0 ? { structural, errors } : { errors };
}

/**
 * Makes a node for a definition that was validated when it was written: nothing is checked again, and nothing is walked
 * before it is used.
 */
export function trustStructural(schema: JsonObject): Structural {
  return new StructuralNode(schema);
}

/** The condition NonStructuralSchema of a definition; undefined when its schemas are structural. */
export function nonStructuralCondition(
  definition: JsonObject,
):
  | { readonly status: "True" | "Unknown"; readonly reason: string; readonly message: string }
  | undefined {
  const spec = part(definition, "spec");
  const found: FieldError[] = [];
  if (flag(spec, "preserveUnknownFields")) {
    found.push(invalidValue("spec.preserveUnknownFields", true, "must be false"));
  }
  for (const [at, version] of items(spec, "versions").entries()) {
    const schema = maybe(part(version, "schema"), "openAPIV3Schema");
    if (schema === undefined) continue;
    const unsupported = unsupportedField(schema);
    if (unsupported !== undefined) {
      const name = text(version, "name");
      const message = `failed to check validation schema for version ${name}: ${unsupported}`;
      return { status: "Unknown", reason: "StructuralError", message };
    }
    append(found, structuralErrors(schema, `spec.versions[${at}].schema.openAPIV3Schema`));
  }
  if (found.length === 0) return undefined;
  const texts = [...new Set(found.map(({ field, message }) => `${field}: ${message}`))];
  const message = texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`;
  return { status: "True", reason: "Violations", message };
}
