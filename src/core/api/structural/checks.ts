/**
 * The requirements of a schema on a value, read once: the facts behind validation, one object per schema, made when it
 * is first applied to a value. Value validations (allOf, anyOf, oneOf, not) are schemas of this kind too.
 */
import { ownEntry } from "#base/own.ts";
import type { JsonValue } from "../object.ts";
import type { Fields } from "../validation/fields.ts";
import { flag, items, maybe, maybeNumber, text, texts } from "../validation/fields.ts";
import { formatCheck, isKnownFormat } from "./formats.ts";

interface Range {
  readonly bound: number;
  readonly isExclusive: boolean;
}

export class SchemaChecks {
  readonly #schema: Fields;
  /** Allowed types. Empty: any. Two for int-or-string. */
  readonly types: readonly string[];
  readonly isNullable: boolean;
  /** As written; "" when the format has no meaning for this type. */
  readonly format: string;
  /** The number type; "" for any other type. */
  readonly numberType: string;
  readonly isText: ((text: string) => boolean) | undefined;
  readonly enum: readonly JsonValue[];
  readonly pattern: string;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly minimum: Range | undefined;
  readonly maximum: Range | undefined;
  readonly multipleOf: number | undefined;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
  readonly required: readonly string[];
  /** Whether only listed properties are allowed. */
  readonly isClosed: boolean;
  readonly hasJunctors: boolean;
  #properties: Map<string, SchemaChecks> | undefined;
  #below: Map<string, readonly SchemaChecks[]> | undefined;

  constructor(schema: Fields) {
    this.#schema = schema;
    const type = text(schema, "type");
    this.types = typesOf(schema, type);
    this.isNullable = flag(schema, "nullable");
    const format = text(schema, "format");
    const only = this.types.length === 1 ? type : "";
    this.format = format !== "" && isKnownFormat(only, format) ? format : "";
    this.numberType = only === "integer" || only === "number" ? only : "";
    this.isText = this.format === "" ? undefined : formatCheck(this.format);
    this.enum = enumOf(schema);
    this.pattern = text(schema, "pattern");
    this.minLength = maybeNumber(schema, "minLength");
    this.maxLength = maybeNumber(schema, "maxLength");
    this.minimum = rangeOf(schema, "minimum", "exclusiveMinimum");
    this.maximum = rangeOf(schema, "maximum", "exclusiveMaximum");
    this.multipleOf = maybeNumber(schema, "multipleOf");
    this.minItems = maybeNumber(schema, "minItems");
    this.maxItems = maybeNumber(schema, "maxItems");
    this.minProperties = maybeNumber(schema, "minProperties");
    this.maxProperties = maybeNumber(schema, "maxProperties");
    this.required = texts(schema, "required");
    this.isClosed = ownEntry(schema, "additionalProperties") === false;
    this.hasJunctors = ["allOf", "anyOf", "oneOf", "not"].some((name) =>
      Object.hasOwn(schema, name),
    );
  }

  property(name: string): SchemaChecks | undefined {
    const known = this.#properties?.get(name);
    if (known !== undefined) return known;
    const schema = maybe(maybe(this.#schema, "properties") ?? {}, name);
    if (schema === undefined) return undefined;
    const made = new SchemaChecks(schema);
    (this.#properties ??= new Map()).set(name, made);
    return made;
  }

  get items(): SchemaChecks | undefined {
    return this.#one("items");
  }

  get additional(): SchemaChecks | undefined {
    return this.#one("additionalProperties");
  }

  get not(): SchemaChecks | undefined {
    return this.#one("not");
  }

  get allOf(): readonly SchemaChecks[] {
    return this.#list("allOf", items(this.#schema, "allOf"));
  }

  get anyOf(): readonly SchemaChecks[] {
    return this.#list("anyOf", items(this.#schema, "anyOf"));
  }

  get oneOf(): readonly SchemaChecks[] {
    return this.#list("oneOf", items(this.#schema, "oneOf"));
  }

  #one(name: string): SchemaChecks | undefined {
    const schema = maybe(this.#schema, name);
    return schema === undefined ? undefined : this.#list(name, [schema])[0];
  }

  #list(name: string, schemas: readonly Fields[]): readonly SchemaChecks[] {
    const known = this.#below?.get(name);
    if (known !== undefined) return known;
    const made = schemas.map((schema) => new SchemaChecks(schema));
    (this.#below ??= new Map()).set(name, made);
    return made;
  }
}

const intOrString: readonly string[] = Object.freeze(["integer", "string"]);
const anyType: readonly string[] = Object.freeze([]);

function typesOf(schema: Fields, type: string): readonly string[] {
  if (flag(schema, "x-kubernetes-int-or-string")) return intOrString;
  return type === "" ? anyType : [type];
}

function enumOf(schema: Fields): readonly JsonValue[] {
  const values = ownEntry(schema, "enum");
  return Array.isArray(values) ? (values as readonly JsonValue[]) : []; // JSON
}

function rangeOf(schema: Fields, name: string, exclusive: string): Range | undefined {
  const bound = maybeNumber(schema, name);
  return bound === undefined ? undefined : { bound, isExclusive: flag(schema, exclusive) };
}
