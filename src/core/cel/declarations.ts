/** What an expression may name: variables, functions, and types with fields. */
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

/** Finds the fields of object types by the types' names. */
export interface TypeProvider {
  /** Undefined: there is no such type. */
  find(name: string): ObjectDeclaration | undefined;
}

export interface ObjectDeclaration {
  readonly type: Type;
  /** Undefined: there is no such field. */
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

/** Functions of several libraries under one name are one function. */
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
