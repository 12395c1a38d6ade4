/**
 * Types of expressions: how they print, and whether a value of one may stand for another.
 *
 * Source: cel-go checker/types.go and checker/format.go.
 */
import type { LibraryType } from "./libraries/library.ts";

export type Type = LibraryType;

function plain(name: string, ...parameters: readonly Type[]): Type {
  return { name, isParameter: false, parameters };
}

export const nullType = plain("null_type");
export const dynType = plain("dyn");
export const errorType = plain("!error!");
export const boolType = plain("bool");

export function typeType(inner: Type): Type {
  return plain("type", inner);
}

export function objectType(name: string): Type {
  return plain(name);
}

export function isDyn({ name }: Type): boolean {
  return name === "dyn" || name === "!error!" || name === "google.protobuf.Any";
}

export function isOptional({ name }: Type): boolean {
  return name === "optional_type";
}

const printed: ReadonlyMap<string, string> = new Map([
  ["null_type", "null"],
  ["google.protobuf.Duration", "duration"],
  ["google.protobuf.Timestamp", "timestamp"],
  ["google.protobuf.Any", "any"],
]);

export function printType({ name, parameters }: Type): string {
  const shown = printed.get(name) ?? name;
  if (parameters.length === 0) return shown;
  return `${shown}(${parameters.map(printType).join(", ")})`;
}

export function sameType(a: Type, b: Type): boolean {
  return (
    a.name === b.name &&
    a.isParameter === b.isParameter &&
    a.parameters.length === b.parameters.length &&
    a.parameters.every((parameter, at) => sameType(parameter, b.parameters[at] ?? errorType))
  );
}

const scalars: ReadonlySet<string> = new Set(["bool", "bytes", "double", "int", "string", "uint"]);

/** Whether null may be used for the type, which scalars, lists and maps do not allow. */
function isNullable({ name }: Type): boolean {
  return !scalars.has(name) && name !== "list" && name !== "map" && name !== "type";
}

/** The assignments of type parameters. A failed assignment is undone by its trail. */
export class Bindings {
  readonly #bound = new Map<string, Type>();
  readonly #trail: (readonly [string, Type | undefined])[] = [];

  /** Whether all types of `from` can be assigned to those of `to`, pairwise; otherwise nothing stays bound. */
  assignAll(from: readonly Type[], to: readonly Type[]): boolean {
    if (from.length !== to.length) return false;
    const ok = from.every((type, at) => this.#assign(type, to[at] ?? errorType));
    if (!ok) this.#undo();
    this.#trail.length = 0;
    return ok;
  }

  assign(from: Type, to: Type): boolean {
    return this.assignAll([from], [to]);
  }

  /** The type with known parameters replaced; unbound ones stay, or become dyn. */
  substitute(type: Type, unboundToDyn: boolean): Type {
    if (type.isParameter) {
      const found = this.#bound.get(type.name);
      if (found !== undefined) return this.substitute(found, unboundToDyn);
      return unboundToDyn ? dynType : type;
    }
    if (type.parameters.length === 0) return type;
    const parameters = type.parameters.map((one) => this.substitute(one, unboundToDyn));
    return { ...type, parameters };
  }

  #assign(a: Type, b: Type): boolean {
    if (b.isParameter) {
      const { valid, hasBinding } = this.#bind(a, b);
      if (valid || hasBinding) return valid;
    }
    if (a.isParameter) return this.#bind(b, a).valid;
    if (isDyn(a) || isDyn(b)) return true;
    if (a.name === "null_type") return isNullable(b);
    if (b.name === "null_type") return isNullable(a);
    if (a.name === "type") return b.name === "type";
    if (a.name !== b.name || a.parameters.length !== b.parameters.length) return false;
    return a.parameters.every((one, at) => this.#assign(one, b.parameters[at] ?? errorType));
  }

  /** Binds parameter `b` to `a`, unless it is bound to another type. */
  #bind(a: Type, b: Type): { readonly valid: boolean; readonly hasBinding: boolean } {
    if (sameType(a, b)) return { valid: true, hasBinding: true };
    const known = this.#bound.get(b.name);
    if (known === undefined) {
      if (this.#occurs(b, a)) return { valid: false, hasBinding: false };
      this.#set(b.name, a);
      return { valid: true, hasBinding: false };
    }
    if (sameType(a, known)) return { valid: true, hasBinding: true };
    if (!this.#assign(a, known)) return { valid: false, hasBinding: true };
    const general = mostGeneral(a, known);
    if (!this.#occurs(b, general)) this.#set(b.name, general);
    return { valid: true, hasBinding: true };
  }

  #set(name: string, type: Type): void {
    this.#trail.push([name, this.#bound.get(name)]);
    this.#bound.set(name, type);
  }

  #undo(): void {
    for (const [name, before] of this.#trail.toReversed()) {
      if (before === undefined) this.#bound.delete(name);
      else this.#bound.set(name, before);
    }
  }

  #occurs(parameter: Type, within: Type): boolean {
    if (sameType(parameter, within)) return true;
    if (within.isParameter) {
      const known = this.#bound.get(within.name);
      return known !== undefined && this.#occurs(parameter, known);
    }
    return within.parameters.some((one) => this.#occurs(parameter, one));
  }
}

/** The more general of two compatible types. */
export function mostGeneral(a: Type, b: Type): Type {
  return isLessSpecific(a, b) ? a : b;
}

function isLessSpecific(a: Type, b: Type): boolean {
  if (isDyn(a) || a.isParameter) return true;
  if (isDyn(b) || b.isParameter) return false;
  if (a.name !== b.name || a.parameters.length !== b.parameters.length) return false;
  if (a.name === "type") return true;
  return a.parameters.every((one, at) => isLessSpecific(one, b.parameters[at] ?? errorType));
}
