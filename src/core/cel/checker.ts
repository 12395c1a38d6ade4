/**
 * Types of every part of an expression, and which overloads its calls have.
 *
 * Texts and rules as cel-go's checker: after the first error the rest is checked as far as it can be.
 */
import type { LibraryFunction, LibraryOverload } from "./libraries/library.ts";
import { types } from "./libraries/library.ts";
import { typeName } from "./libraries/values.ts";
import type { Functions, TypeProvider } from "./declarations.ts";
import type { SourceError } from "./source-error.ts";
import { type Call, type Comprehension, type Expr, qualifiedName, type Select } from "./syntax.ts";
import {
  Bindings,
  boolType,
  dynType,
  errorType,
  isDyn,
  isOptional,
  mostGeneral,
  nullType,
  objectType,
  printType,
  sameType,
  type Type,
} from "./type.ts";

interface Scope {
  readonly variables: ReadonlyMap<string, Type>;
  readonly functions: Functions;
  readonly types: TypeProvider;
}

/** The resolution of a call. */
export interface Resolved {
  /** `a.b.f(x)` may call the function `a.b.f`, which then has no target. */
  readonly name: string;
  readonly hasTarget: boolean;
  readonly overloads: readonly LibraryOverload[];
}

export interface Checked {
  readonly expr: Expr;
  typeOf(expr: Expr): Type;
  resolved(call: Call): Resolved | undefined;
  /** The variable named by a dotted name; undefined: it is a field selection. */
  variable(expr: Expr): string | undefined;
}

export type CheckResult =
  | { readonly kind: "checked"; readonly checked: Checked; readonly type: Type }
  | { readonly kind: "errors"; readonly errors: readonly SourceError[] };

export function check(expr: Expr, scope: Scope): CheckResult {
  const checker = new Checker(scope);
  const type = checker.check(expr);
  if (checker.errors.length > 0) return { kind: "errors", errors: checker.errors };
  return { kind: "checked", checked: checker.finish(expr), type: checker.finalType(type) };
}

class Checker {
  readonly errors: SourceError[] = [];
  readonly #scope: Scope;
  readonly #types = new Map<Expr, Type>();
  readonly #resolved = new Map<Call, Resolved>();
  readonly #variables = new Map<Expr, string>();
  readonly #bindings = new Bindings();
  readonly #locals: (readonly [string, Type])[] = [];
  #free = 0;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  finish(expr: Expr): Checked {
    return {
      expr,
      typeOf: (one) => this.finalType(this.#types.get(one) ?? dynType),
      resolved: (call) => this.#resolved.get(call),
      variable: (one) => this.#variables.get(one),
    };
  }

  finalType(type: Type): Type {
    return this.#bindings.substitute(type, true);
  }

  check(expr: Expr): Type {
    const type = this.#check(expr);
    this.#types.set(expr, type);
    return type;
  }

  #check(expr: Expr): Type {
    switch (expr.kind) {
      case "literal":
        return expr.value === null ? nullType : objectType(typeName(expr.value));
      case "ident":
        return this.#ident(expr, expr.name);
      case "select":
        return this.#select(expr);
      case "call":
        return this.#call(expr);
      case "list":
        return this.#list(expr);
      case "map":
        return this.#map(expr);
      case "struct":
        return this.#struct(expr);
      case "comprehension":
        return this.#comprehension(expr);
      default:
        return expr satisfies never;
    }
  }

  #fail(at: number, message: string): Type {
    this.errors.push({ at, message });
    return errorType;
  }

  #lookup(name: string): Type | undefined {
    for (let at = this.#locals.length - 1; at >= 0; at -= 1) {
      if (this.#locals[at]?.[0] === name) return this.#locals[at]?.[1];
    }
    return this.#scope.variables.get(name) ?? this.#typeNamed(name);
  }

  /** The name of a type is a value of type `type`. */
  #typeNamed(name: string): Type | undefined {
    if (basicTypes.has(name))
      return { name: "type", isParameter: false, parameters: [objectType(name)] };
    if (this.#scope.types.find(name) === undefined) return undefined;
    return { name: "type", isParameter: false, parameters: [objectType(name)] };
  }

  #ident(expr: Expr, name: string): Type {
    const type = this.#lookup(name);
    if (type === undefined) {
      return this.#fail(expr.at, `undeclared reference to '${name}' (in container '')`);
    }
    this.#variables.set(expr, name);
    return type;
  }

  #select(expr: Select): Type {
    const name = qualifiedName(expr);
    const variable = name === undefined ? undefined : this.#lookup(name);
    if (name !== undefined && variable !== undefined) {
      this.#variables.set(expr, name);
      return variable;
    }
    const type = this.#field(expr, this.check(expr.operand), expr.field, false);
    return expr.isTest ? boolType : this.#bindings.substitute(type, false);
  }

  #field(expr: Expr, operand: Type, field: string, makesOptional: boolean): Type {
    const given = this.#bindings.substitute(operand, false);
    const target = isOptional(given) ? (given.parameters[0] ?? dynType) : given;
    const type = this.#fieldOf(expr, target, field);
    return isOptional(given) || makesOptional ? optionalOf(type) : type;
  }

  #fieldOf({ at }: Expr, target: Type, field: string): Type {
    if (target.isParameter) {
      this.#bindings.assign(dynType, target);
      return dynType;
    }
    if (target.name === "map") return target.parameters[1] ?? dynType;
    const declared = this.#scope.types.find(target.name);
    if (declared !== undefined) {
      return declared.field(field) ?? this.#fail(at, `undefined field '${field}'`);
    }
    if (!isDyn(target)) {
      // Kubernetes declares these object types without any fields.
      const isUnregistered = target.name.startsWith("kubernetes.");
      const what = isUnregistered
        ? `unexpected failed resolution of '${target.name}'`
        : `type '${printType(target)}' does not support field selection`;
      this.#fail(at, what);
    }
    return dynType;
  }

  #call(expr: Call): Type {
    if (expr.name === "_?._") return this.#optionalSelect(expr);
    const { target, args } = expr;
    if (target !== undefined) {
      const prefix = qualifiedName(target);
      const whole = prefix === undefined ? undefined : `${prefix}.${expr.name}`;
      const named = whole === undefined ? undefined : this.#scope.functions.get(whole);
      if (named !== undefined) return this.#resolve(expr, named, undefined, args);
    }
    // As upstream, arguments are checked before the target, which determines the order of errors.
    const found = this.#scope.functions.get(expr.name);
    if (found === undefined) {
      for (const arg of args) this.check(arg);
      if (target !== undefined) this.check(target);
      return this.#fail(expr.at, `undeclared reference to '${expr.name}' (in container '')`);
    }
    return this.#resolve(expr, found, target, args);
  }

  #optionalSelect({ args, at }: Call): Type {
    const [operand, field] = args;
    if (operand === undefined || field?.kind !== "literal" || typeof field.value !== "string") {
      return this.#fail(at, "unsupported optional field selection");
    }
    const type = this.#field({ ...operand, at }, this.check(operand), field.value, true);
    this.#types.set(field, types.string);
    return this.#bindings.substitute(type, false);
  }

  #resolve(
    expr: Call,
    { name, overloads }: LibraryFunction,
    target: Expr | undefined,
    args: readonly Expr[],
  ): Type {
    const argTypes = args.map((arg) => this.check(arg));
    const given = target === undefined ? argTypes : [this.check(target), ...argTypes];
    if (name === "_&&_" || name === "_||_") return this.#logical(expr, given, overloads);
    const fitting: LibraryOverload[] = [];
    let result: Type | undefined;
    for (const overload of overloads) {
      if (overload.isMember !== (target !== undefined)) continue;
      const fresh = this.#instantiate(overload);
      if (!this.#bindings.assignAll(given, fresh.args)) continue;
      fitting.push(overload);
      const made = this.#bindings.substitute(fresh.result, false);
      if (result === undefined) result = made;
      else if (!isDyn(result) && !sameType(made, result)) result = dynType;
    }
    if (result === undefined) return this.#noOverload(expr, name, given, target !== undefined);
    this.#resolved.set(expr, { name, hasTarget: target !== undefined, overloads: fitting });
    return result;
  }

  #logical(expr: Call, given: readonly Type[], overloads: readonly LibraryOverload[]): Type {
    let isGood = true;
    given.forEach((type, at) => {
      if (this.#bindings.assign(type, boolType)) return;
      isGood = false;
      this.#mismatch(expr.args[at]?.at ?? expr.at, boolType, type);
    });
    if (!isGood) return errorType;
    this.#resolved.set(expr, { name: expr.name, hasTarget: false, overloads });
    return boolType;
  }

  #noOverload(expr: Call, name: string, given: readonly Type[], hasTarget: boolean): Type {
    const shown = given.map((type) => printType(this.#bindings.substitute(type, true)));
    const [first = "", ...rest] = shown;
    const signature = hasTarget ? `${first}.(${rest.join(", ")})` : `(${shown.join(", ")})`;
    return this.#fail(
      expr.at,
      `found no matching overload for '${name}' applied to '${signature}'`,
    );
  }

  #mismatch(at: number, expected: Type, actual: Type): Type {
    const [wanted, found] = [expected, actual].map((type) =>
      printType(this.#bindings.substitute(type, false)),
    );
    return this.#fail(at, `expected type '${wanted}' but found '${found}'`);
  }

  #freshType(): Type {
    this.#free += 1;
    return { name: `_var${this.#free - 1}`, isParameter: true, parameters: [] };
  }

  /** The overload with fresh type variables. */
  #instantiate({ args, result }: LibraryOverload): {
    readonly args: readonly Type[];
    readonly result: Type;
  } {
    const fresh = new Map<string, Type>();
    const replace = (type: Type): Type => {
      if (type.isParameter) {
        const known = fresh.get(type.name) ?? this.#freshType();
        fresh.set(type.name, known);
        return known;
      }
      if (type.parameters.length === 0) return type;
      return { ...type, parameters: type.parameters.map(replace) };
    };
    return { args: args.map(replace), result: replace(result) };
  }

  #list({ items, optional }: Extract<Expr, { kind: "list" }>): Type {
    let element: Type | undefined;
    items.forEach((item, at) => {
      const type = this.#unwrapped(item, this.check(item), optional.has(at));
      element = this.#join(element, type);
    });
    return listType(element ?? this.#freshType());
  }

  #map({ entries }: Extract<Expr, { kind: "map" }>): Type {
    let keyType: Type | undefined;
    let valueType: Type | undefined;
    for (const { key, value, isOptional: isOpt } of entries) {
      keyType = this.#join(keyType, this.check(key));
      valueType = this.#join(valueType, this.#unwrapped(value, this.check(value), isOpt));
    }
    const parameters = [keyType ?? this.#freshType(), valueType ?? this.#freshType()];
    return { name: "map", isParameter: false, parameters };
  }

  /** The type within an optional element. */
  #unwrapped({ at }: Expr, type: Type, isOptionalElement: boolean): Type {
    if (!isOptionalElement) return type;
    const known = this.#bindings.substitute(type, false);
    if (isOptional(known)) return known.parameters[0] ?? dynType;
    if (!isDyn(known)) this.#mismatch(at, optionalOf(known), known);
    return known;
  }

  /** Mixed literals are refused later where they are not allowed (literal-checks.ts). */
  #join(before: Type | undefined, next: Type): Type {
    if (before === undefined) return next;
    return this.#bindings.assign(before, next) ? mostGeneral(before, next) : dynType;
  }

  #struct({ type, fields, at }: Extract<Expr, { kind: "struct" }>): Type {
    const declared = this.#scope.types.find(type);
    if (declared === undefined) {
      for (const { value } of fields) this.check(value);
      return this.#fail(at, `undeclared reference to '${type}' (in container '')`);
    }
    for (const { name, value, isOptional: isOpt, at: place } of fields) {
      const given = this.#unwrapped(value, this.check(value), isOpt);
      const wanted = declared.field(name);
      if (wanted === undefined) this.#fail(place, `undefined field '${name}'`);
      else if (!this.#bindings.assign(wanted, given)) {
        const [expected, actual] = [wanted, given].map(printType);
        this.#fail(
          place,
          `expected type of field '${name}' is '${expected}' but provided type is '${actual}'`,
        );
      }
    }
    return declared.type;
  }

  #comprehension(expr: Comprehension): Type {
    const range = this.#bindings.substitute(this.check(expr.range), false);
    const accumulated = this.check(expr.init);
    this.#locals.push([expr.accuVar, accumulated]);
    const [first, second] = this.#iterationTypes(expr, range);
    this.#locals.push([expr.iterVar, first]);
    if (expr.iterVar2 !== undefined) this.#locals.push([expr.iterVar2, second]);
    this.#assertType(expr.condition, boolType);
    this.#assertType(expr.step, accumulated);
    this.#locals.length -= expr.iterVar2 === undefined ? 1 : 2;
    const result = this.check(expr.result);
    this.#locals.pop();
    return this.#bindings.substitute(result, false);
  }

  #assertType(expr: Expr, wanted: Type): void {
    const type = this.check(expr);
    if (!this.#bindings.assign(wanted, type)) this.#mismatch(expr.at, wanted, type);
  }

  #iterationTypes({ range: { at }, iterVar2 }: Comprehension, range: Type): readonly [Type, Type] {
    const [first = dynType, second = dynType] = range.parameters;
    if (range.name === "list") return iterVar2 === undefined ? [first, first] : [types.int, first];
    if (range.name === "map") return [first, second];
    if (isDyn(range) || range.isParameter) {
      this.#bindings.assign(dynType, range);
      return [dynType, dynType];
    }
    const why = "cannot be range of a comprehension (must be list, map, or dynamic)";
    this.#fail(at, `expression of type '${printType(range)}' ${why}`);
    return [errorType, errorType];
  }
}

const basicTypes: ReadonlySet<string> = new Set(
  `bool bytes double int list map null_type string type uint google.protobuf.Timestamp google.protobuf.Duration
   optional_type`.split(/\s+/),
);

function listType(element: Type): Type {
  return { name: "list", isParameter: false, parameters: [element] };
}

function optionalOf(inner: Type): Type {
  return { name: "optional_type", isParameter: false, parameters: [inner] };
}
