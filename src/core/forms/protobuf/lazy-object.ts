/**
 * Objects that are kept as their bytes, and decoded field by field when they are read.
 *
 *   { apiVersion, kind, metadata: getter, spec: getter, status: getter, [headKey]: KeptBytes }
 *
 * Holds  it has the keys and values of the object that `decodeDefinition` makes: copies, JSON and comparisons show
 *        no difference. Its fields cannot be assigned, and the result of a getter must not be changed.
 *        A message that is broken inside a field throws ProtobufError when that field is read.
 *        managedFields are a third of the metadata and hardly ever read. They have a getter of their own, and appear
 *        as a getter when the metadata is printed.
 */
import { headKey } from "#api/json/object-head.ts";
import type { AnyObject } from "#api/object.ts";
import { objectMetaDefinition } from "#api/schema/schema.ts";
import { ProtobufCursor } from "#wire/protobuf-cursor.ts";
import { type DecodeOptions, decodeOneField } from "./decode.ts";
import { type ReadField, readPlan, withoutField } from "./decode-plan.ts";
import type { TypeMeta } from "./envelope.ts";
import { KeptBytes, type Span } from "./kept-bytes.ts";

/** The fields that exist are marked in the bits of one number. */
const fieldsMax = 30;
const metadataNumber = 1;
const managedFieldsNumber = 17;
/** Index of the decoded managedFields, which are cached besides the fields. */
const managedFieldsPlace = 0;
const inspectKey = Symbol.for("nodejs.util.inspect.custom");
const bytesKey = Symbol("bytes");

const cursor = new ProtobufCursor();

interface Property {
  readonly key: string | symbol;
  readonly descriptor: PropertyDescriptor;
}

/** Makes a printed object show its values instead of `[Getter]`. */
const printed: Property = { key: inspectKey, descriptor: { value: plainCopy } };

/** Stores and reads objects of one kind lazily. */
export class LazyForm {
  readonly #type: TypeMeta;
  readonly #definition: string;
  readonly #options: DecodeOptions;
  readonly #fields: readonly (ReadField | undefined)[];
  readonly #getters: readonly (Property | undefined)[];
  readonly #managedFields: Property;
  readonly #shapes = new Map<number, readonly Property[]>();

  constructor(type: TypeMeta, definition: string, options: DecodeOptions) {
    this.#type = type;
    this.#definition = definition;
    this.#options = options;
    this.#fields = readPlan(definition).fields;
    this.#getters = this.#fields.map((field, number) => field && this.#getter(field, number));
    this.#managedFields = this.#managedFieldsGetter();
  }

  /** The object encoded in `span`, whose bytes it keeps referring to. Throws ProtobufError. */
  object(span: Span, isFirstState: boolean): AnyObject {
    const kept = new KeptBytes(span, isFirstState);
    cursor.open(span.bytes);
    cursor.at = span.start;
    const present = this.#scan(kept, span.end);
    cursor.close();
    const { apiVersion, kind } = this.#type;
    const object = { apiVersion, kind };
    Object.defineProperty(object, headKey, { value: kept });
    define(object, this.#shape(present));
    return object;
  }

  /** Finds the fields that exist; as in `decodeDefinition`, a field that Go omits does not. */
  #scan(kept: KeptBytes, end: number): number {
    let present = 0;
    while (cursor.next(end)) {
      const { number } = cursor;
      const field = this.#fields[number];
      if (field === undefined) this.#options.unknownField(this.#definition, number);
      else if (!isLeftOut(field)) present |= 1 << number;
      if (number === metadataNumber) kept.readHead(cursor);
    }
    return present;
  }

  #shape(present: number): readonly Property[] {
    let shape = this.#shapes.get(present);
    if (shape === undefined) {
      const isPresent = (_: unknown, number: number): boolean => (present & (1 << number)) !== 0;
      const getters = this.#getters.filter(isPresent);
      shape = [printed, ...getters.filter((getter) => getter !== undefined)];
      this.#shapes.set(present, shape);
    }
    return shape;
  }

  #getter(field: ReadField, number: number): Property {
    const options = this.#options;
    const isMetadata = number === metadataNumber;
    const what = { field: isMetadata ? withoutField(field, managedFieldsNumber) : field, number };
    const decode = (kept: KeptBytes, span: Span): unknown => {
      const value = decodeOneField(what, span, options);
      if (isMetadata && kept.hasManagedFields) this.#addManagedFields(value as object, kept);
      return value;
    };
    return getter(field.name, headKey, (kept) => kept.decoded(number, decode));
  }

  #addManagedFields(metadata: object, kept: KeptBytes): void {
    Object.defineProperty(metadata, bytesKey, { value: kept });
    define(metadata, [this.#managedFields]);
  }

  #managedFieldsGetter(): Property {
    const field = this.#fields[metadataNumber];
    const what = field && { field, number: metadataNumber };
    const decode = (_: KeptBytes, span: Span): unknown => {
      const metadata = what && decodeOneField(what, span, this.#options);
      return (metadata as AnyObject["metadata"])?.managedFields;
    };
    return getter("managedFields", bytesKey, (kept) => kept.decoded(managedFieldsPlace, decode));
  }
}

/** Whether objects of a kind can be lazy; others are decoded immediately. */
export function canBeLazy(definition: string): boolean {
  const { fields } = readPlan(definition);
  const metadata = fields[metadataNumber];
  return metadata?.leaf.definition === objectMetaDefinition && fields.every(isPlain);
}

/** Whether the bytes show, without decoding, that the object has the field. */
function isPlain(field: ReadField | undefined, number: number): boolean {
  if (field === undefined) return true;
  const { kind } = field.leaf;
  if (number >= fieldsMax || field.many === "embedded") return false;
  return field.many !== "one" || (kind !== "formatted" && kind !== "free");
}

/** Whether the current field is a zero or empty and therefore not in the object. */
function isLeftOut({ many, leaf, omitsZero }: ReadField): boolean {
  if (!omitsZero || many !== "one" || leaf.kind === "message") return false;
  return leaf.kind === "text" ? cursor.start === cursor.end : cursor.isZero;
}

function getter(
  name: string,
  at: typeof headKey | typeof bytesKey,
  read: (kept: KeptBytes) => unknown,
): Property {
  const get = function (this: Readonly<Record<typeof at, KeptBytes>>): unknown {
    return read(this[at]);
  };
  return { key: name, descriptor: { get, enumerable: true, configurable: true } };
}

/** Takes half the time of defineProperties. The order is fixed, so that objects share their layout. */
function define(object: object, properties: readonly Property[]): void {
  for (const { key, descriptor } of properties) Object.defineProperty(object, key, descriptor);
}

function plainCopy(this: object): object {
  return { ...this };
}
