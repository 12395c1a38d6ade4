/** Declarations for an expression: variables, functions, and types with fields. */
import { librariesOf } from "./libraries/kubernetes.ts";
import type { Library, LibraryFunction } from "./libraries/library.ts";
import { arithmeticLibrary } from "./standard/arithmetic.ts";
import { conversionLibrary } from "./standard/conversions.ts";
import { logicLibrary } from "./standard/logic.ts";
import { optionalLibrary } from "./standard/optionals.ts";
import { relationsLibrary } from "./standard/relations.ts";
import { textLibrary } from "./standard/texts.ts";
import { timeLibrary } from "./standard/time.ts";
import type { Type } from "./type.ts";

/** Finds object types and their fields by name. */
export interface TypeProvider {
  /** Undefined: the type does not exist. */
  find(name: string): ObjectDeclaration | undefined;
}

export interface ObjectDeclaration {
  readonly type: Type;
  /** Undefined: the field does not exist. */
  field(name: string): Type | undefined;
}

export type Functions = ReadonlyMap<string, LibraryFunction>;

const standard: readonly Library[] = [
  logicLibrary,
  relationsLibrary,
  arithmeticLibrary,
  conversionLibrary,
  textLibrary,
  timeLibrary,
  optionalLibrary,
];

/** Functions with the same name in several libraries are merged. */
function functionsOf(libraries: readonly Library[]): Functions {
  const functions = new Map<string, LibraryFunction>();
  for (const { functions: more } of libraries) {
    for (const { name, overloads } of more) {
      const known = functions.get(name)?.overloads ?? [];
      const ids = new Set(known.map(({ id }) => id));
      const added = overloads.filter(({ id }) => !ids.has(id));
      functions.set(name, { name, overloads: [...known, ...added] });
    }
  }
  return functions;
}

/** The functions of Kubernetes 1.`minor`. */
export function kubernetesFunctions(minor: number, more: readonly Library[] = []): Functions {
  return functionsOf([...standard, ...librariesOf(minor), ...more]);
}
