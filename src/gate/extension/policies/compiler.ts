/**
 * Compiles the expressions of one policy or webhook, with the variables that admission expressions have.
 *
 * Holds  an expression can use only the variables declared before it. An expression that does not compile keeps its
 *        error.
 * Source: k8s.io/apiserver pkg/admission/plugin/cel (compile.go, composition.go), 1.36.
 */
import { Environment } from "#cel/environment.ts";
import type { ObjectDeclaration, TypeProvider } from "#cel/declarations.ts";
import { jsonPatchLibrary } from "#cel/libraries/jsonpatch-library.ts";
import { listOf, types } from "#cel/libraries/library.ts";
import type { Value } from "#cel/libraries/values.ts";
import { type SchemaNode, schemaTypes } from "#cel/schema-types.ts";
import { dynType, nullType, objectType, type Type } from "#cel/type.ts";
import type { Expression } from "./expression.ts";
import { limits } from "./limits.ts";
import { mutationType } from "./mutation-types.ts";
import { namespaceNode, requestNode } from "./request-variables.ts";
import { LazyVariables, variablesType } from "./lazy-variables.ts";

/** Names that an expression may use in addition to the objects. */
export interface Declared {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
  /** Whether `Object{...}` and `JSONPatch{...}` are declared. */
  readonly hasPatchTypes?: boolean;
  /** Whether `variables` is declared. Absent: it is. */
  readonly hasVariables?: boolean;
}

export const results = {
  bool: [types.bool],
  string: [types.string],
  stringOrNull: [types.string, nullType],
  object: [objectType("Object")],
  patches: [listOf(objectType("JSONPatch"))],
} as const satisfies Record<string, readonly Type[]>;

const builtin = schemaTypes([requestNode, namespaceNode]);

export class PolicyCompiler {
  /** Types of the variables that are declared so far. */
  readonly #variables = new Map<string, Type>();
  readonly #environments = new Map<string, Environment>();
  readonly #objects: readonly SchemaNode[];

  /** @param objects type of `object` and `oldObject`. Absent: any type. */
  constructor(objects?: SchemaNode) {
    this.#objects = objects === undefined ? [] : [objects];
  }

  compile(text: string, declared: Declared, wanted?: readonly Type[]): Expression {
    const compiled = this.#environment(declared).compile(text, wanted);
    if (compiled.kind === "errors") return failed(text, compiled.message);
    const { program } = compiled;
    return {
      text,
      compileError: undefined,
      type: program.type,
      run(scope) {
        const values = scope as ReadonlyMap<string, Value>; // made by scopesOf
        const outcome = program.evaluate(values, limits.callCost);
        const lazy = values.get("variables");
        const before = lazy instanceof LazyVariables ? lazy.takeCost() : 0;
        return { outcome, cost: outcome.cost + before };
      },
    };
  }

  /** Compiles a variable and declares `variables.name` for later expressions. */
  compileVariable(name: string, text: string, declared: Declared): Expression {
    const expression = this.compile(text, declared);
    this.#variables.set(name, expression.type ?? dynType);
    return expression;
  }

  #environment(declared: Declared): Environment {
    const { hasParams, hasAuthorizer, hasPatchTypes = false, hasVariables = true } = declared;
    const key = `${hasParams} ${hasAuthorizer} ${hasPatchTypes} ${hasVariables}`;
    const known = this.#environments.get(key);
    if (known !== undefined) return known;
    const made = new Environment({
      variables: declaredVariables(declared, this.#objects[0]?.type ?? dynType),
      types: this.#types(hasPatchTypes),
      ...(hasPatchTypes ? { libraries: [jsonPatchLibrary] } : {}),
    });
    this.#environments.set(key, made);
    return made;
  }

  #types(hasPatchTypes: boolean): TypeProvider {
    const own: ObjectDeclaration = {
      type: variablesType,
      field: (name) => this.#variables.get(name),
    };
    const objects = schemaTypes(this.#objects);
    return {
      find: (name) => {
        if (name === variablesType.name) return own;
        const found = builtin.find(name) ?? objects.find(name);
        return found ?? (hasPatchTypes ? mutationType(name) : undefined);
      },
    };
  }
}

function declaredVariables(declared: Declared, object: Type): Map<string, Type> {
  const { hasParams, hasAuthorizer, hasVariables = true } = declared;
  const variables = new Map<string, Type>([
    ["object", object],
    ["oldObject", object],
    ["request", requestNode.type],
    ["namespaceObject", namespaceNode.type],
  ]);
  if (hasVariables) variables.set("variables", variablesType);
  if (hasParams) variables.set("params", dynType);
  if (!hasAuthorizer) return variables;
  return variables
    .set("authorizer", types.authorizer)
    .set("authorizer.requestResource", types.resourceCheck);
}

function failed(text: string, compileError: string): Expression {
  const outcome = { kind: "error", message: compileError } as const;
  return { text, compileError, type: undefined, run: () => ({ outcome, cost: 0 }) };
}
