/** Values of object types: declared by a schema, or created by a literal `Type{...}`. */
import { equalValues, OpaqueValue, type Value } from "./libraries/values.ts";

export abstract class ObjectValue extends OpaqueValue {
  /** By the name used in expressions; undefined: not set. */
  abstract field(name: string): Value | undefined;
  abstract has(name: string): boolean;
  /** Names of the fields that are set. */
  abstract names(): readonly string[];

  override get size(): number {
    return this.names().length;
  }

  override equals(other: OpaqueValue): boolean {
    if (this === other) return true;
    if (!(other instanceof ObjectValue)) return false;
    const names = this.names();
    if (names.length !== other.names().length) return false;
    return names.every((name) => {
      const left = this.field(name);
      const right = other.field(name);
      return left !== undefined && right !== undefined && equalValues(left, right);
    });
  }
}

/** Created by an expression. */
export class MadeObject extends ObjectValue {
  readonly #fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super(typeName);
    this.#fields = fields;
  }

  field(name: string): Value | undefined {
    return this.#fields.get(name);
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  names(): readonly string[] {
    return [...this.#fields.keys()];
  }
}
