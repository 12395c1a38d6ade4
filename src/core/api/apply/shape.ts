/**
 * Shapes: the facts of a schema that server-side apply needs: where an object is one leaf, where it
 * has fields of its own, and what identifies the elements of a list.
 *
 * leaf      a scalar of a type, or a list or map that is owned as a whole (atomic). An applied value is
 *           checked against both; without either it may be anything
 * struct    an object with named fields; others are refused in an applied configuration
 * map       an object whose keys are data
 * set       a list of distinct scalars
 * list      a list whose elements are identified by the values of `keys`
 * deduced   no schema: objects are maps of deduced values, everything else is a leaf
 *
 * Shapes are made on demand, once per definition, so recursive definitions are possible.
 */
import type { JsonValue } from "../object.ts";
import type { FieldSchema, ObjectSchema } from "../schema/schema-types.ts";

export type Shape =
  | { readonly kind: "leaf"; readonly scalar?: Scalar; readonly parts?: Parts }
  | { readonly kind: "deduced" }
  | SetShape
  | StructShape
  | MapShape
  | ListShape;

/** "untyped": all others (times, quantities, formatted texts). */
export type Scalar = "string" | "numeric" | "boolean" | "untyped";

/** Parts of an atomic value: elements by index, members by name. */
export type Parts = StructShape | MapShape | { readonly kind: "items"; readonly items: Shape };

interface MapShape {
  readonly kind: "map";
  readonly items: Shape;
}

export interface SetShape {
  readonly kind: "set";
  readonly items: Shape;
}

export interface ListShape {
  readonly kind: "list";
  readonly keys: readonly string[];
  /** The value that an absent key stands for, for keys with a default. */
  readonly keyDefaults: Readonly<Record<string, JsonValue>>;
  readonly items: Shape;
}

export interface StructShape {
  readonly kind: "struct";
  /** Undefined: the field does not exist. */
  field(name: string): Shape | undefined;
  /** Undeclared fields are allowed, and their shape is deduced. */
  readonly isOpen: boolean;
  /** The value of an unset field that Go always writes; undefined for all others, and for custom resources. */
  zero(name: string): JsonValue | undefined;
  /** Fields whose `zero` is null; objects do not contain them here. */
  readonly nulls: readonly string[];
  /** Nulls in fields of built-in kinds are dropped; custom resources keep them. */
  readonly dropsNulls: boolean;
}

export const leaf: Shape = { kind: "leaf" };
export const deduced: Shape = { kind: "deduced" };
export const scalars: Readonly<Record<Scalar, Shape>> = {
  string: { kind: "leaf", scalar: "string" },
  numeric: { kind: "leaf", scalar: "numeric" },
  boolean: { kind: "leaf", scalar: "boolean" },
  untyped: { kind: "leaf", scalar: "untyped" },
};

type Lookup = (name: string) => ObjectSchema | undefined;

const metadataDefinition = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const builtInPrefix = "io.k8s.";

/** Defaults of list keys that the published schema lacks. */
const builtInKeyDefaults: Readonly<Record<string, Readonly<Record<string, JsonValue>>>> = {
  "io.k8s.api.core.v1.ContainerPort": { protocol: "TCP" },
  "io.k8s.api.core.v1.ServicePort": { protocol: "TCP" },
  "io.k8s.api.core.v1.LocalObjectReference": { name: "" },
  "io.k8s.api.core.v1.ObjectReference": { name: "" },
};

/** Creates the shapes for one set of definitions; keep it as long as they are served. */
export class ShapeSource {
  readonly #lookup: Lookup;
  readonly #structs = new Map<ObjectSchema, StructShape>();

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  /** The shape of a whole object. `schema` undefined: only the metadata is known. */
  root(schema: ObjectSchema | undefined): StructShape {
    const typed = schema === undefined ? undefined : this.#struct(schema);
    const metadata = this.#lookup(metadataDefinition);
    return {
      kind: "struct",
      field: (name) => {
        if (name === "apiVersion" || name === "kind") return leaf;
        if (name === "metadata" && metadata !== undefined) return this.#struct(metadata);
        return typed?.field(name);
      },
      isOpen: typed === undefined,
      zero: (name) => (name === "metadata" ? {} : typed?.zero(name)),
      nulls: typed?.nulls ?? [],
      dropsNulls: typed?.dropsNulls ?? false,
    };
  }

  #struct(schema: ObjectSchema): StructShape {
    const known = this.#structs.get(schema);
    if (known !== undefined) return known;
    const shape = this.#makeStruct(schema);
    this.#structs.set(schema, shape);
    return shape;
  }

  #makeStruct(schema: ObjectSchema): StructShape {
    const builtIn = schema.name.startsWith(builtInPrefix);
    const shapes = new Map<string, Shape>();
    const field = (name: string): Shape | undefined => {
      if (!Object.hasOwn(schema.fields, name)) return undefined;
      const known = shapes.get(name);
      const shape = known ?? this.#shape(schema.fields[name]);
      shapes.set(name, shape);
      return shape;
    };
    // Looked up for each field that only one of two compared objects has.
    const zeros = new Map<string, JsonValue | undefined>();
    const zero = (name: string): JsonValue | undefined => {
      if (!builtIn || !Object.hasOwn(schema.fields, name)) return undefined;
      if (!zeros.has(name)) zeros.set(name, zeroOf(schema, name));
      return zeros.get(name);
    };
    const nulls = Object.keys(schema.fields).filter((name) => zero(name) === null);
    return { kind: "struct", field, isOpen: false, zero, nulls, dropsNulls: builtIn };
  }

  #shape(field: FieldSchema | undefined): Shape {
    switch (field?.type) {
      case "array":
        return this.#listShape(field);
      case "map":
        return this.#mapShape(field);
      case "object":
        return this.#objectShape(field);
      case "any":
        return field.preserveUnknownFields === true ? deduced : leaf;
      case "string":
        return textShape(field);
      case "integer":
      case "number":
        return scalars.numeric;
      case "boolean":
        return scalars.boolean;
      case undefined:
      default:
        return leaf;
    }
  }

  #mapShape(field: FieldSchema): Shape {
    const shape: MapShape = { kind: "map", items: this.#shape(field.items) };
    return field.mapType === "atomic" ? { kind: "leaf", parts: shape } : shape;
  }

  #objectShape(field: FieldSchema): Shape {
    const schema = field.ref === undefined ? undefined : this.#lookup(field.ref);
    const open = field.preserveUnknownFields === true;
    const isAtomic = (field.mapType ?? schema?.mapType) === "atomic";
    if (schema === undefined) return open && !isAtomic ? deduced : leaf;
    const shape = { ...this.#struct(schema), isOpen: open };
    return isAtomic ? { kind: "leaf", parts: shape } : shape;
  }

  #listShape(field: FieldSchema): Shape {
    if (field.listType === "set") return { kind: "set", items: this.#shape(field.items) };
    if (field.listType !== "map") {
      return { kind: "leaf", parts: { kind: "items", items: this.#shape(field.items) } };
    }
    const item = field.items?.ref === undefined ? undefined : this.#lookup(field.items.ref);
    const keys = field.listMapKeys ?? [];
    return {
      kind: "list",
      keys,
      keyDefaults: keyDefaults(item, keys),
      items: this.#shape(field.items),
    };
  }
}

function textShape({ format }: FieldSchema): Shape {
  if (format === "int-or-string") return leaf;
  return format === undefined || format === "byte" || format === "duration"
    ? scalars.string
    : scalars.untyped;
}

function zeroOf(schema: ObjectSchema, name: string): JsonValue | undefined {
  const { zero, type } = schema.fields[name] ?? {};
  if (zero === "null") return null;
  if (zero !== "written") return undefined;
  return schema.written?.[name] ?? (type === "object" ? {} : null);
}

function keyDefaults(
  item: ObjectSchema | undefined,
  keys: readonly string[],
): Readonly<Record<string, JsonValue>> {
  const defaults: Record<string, JsonValue> = { ...builtInKeyDefaults[item?.name ?? ""] };
  for (const key of keys) {
    const isKnown = Object.hasOwn(defaults, key);
    const value = item?.fields[key]?.default ?? (isKnown ? undefined : goZero(item, key));
    if (value !== undefined) defaults[key] = value;
  }
  return defaults;
}

/** A required field is always present in a Go struct; upstream publishes its zero as the default. */
function goZero(item: ObjectSchema | undefined, key: string): JsonValue | undefined {
  if (item?.name.startsWith(builtInPrefix) !== true || !item.required.includes(key))
    return undefined;
  const type = item.fields[key]?.type;
  if (type === "string") return "";
  return type === "integer" ? 0 : undefined;
}
