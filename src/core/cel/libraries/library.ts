/**
 * How a library is written: functions as data. Each overload has upstream's id, the types of its
 * arguments (the receiver first) and its result, and what it does. Costs are in call-cost.ts, estimates
 * in call-estimate.ts: upstream keeps them by function name too.
 */
import { FunctionError } from "./limits.ts";
import type { Value } from "./values.ts";

/** A type by its CEL name; a parameter (`T`) stands for any single type. */
export interface LibraryType {
  readonly name: string;
  readonly isParameter: boolean;
  readonly parameters: readonly LibraryType[];
}

export interface LibraryOverload {
  readonly id: string;
  /** Whether it is called as `receiver.name(…)`. */
  readonly isMember: boolean;
  readonly args: readonly LibraryType[];
  readonly result: LibraryType;
  /** Pure and synchronous. Throws FunctionError. */
  readonly call: (...args: readonly Value[]) => Value;
}

export interface LibraryFunction {
  readonly name: string;
  readonly overloads: readonly LibraryOverload[];
}

export interface Library {
  /** Upstream's name of the library. */
  readonly name: string;
  /** The first Kubernetes minor version 1.x with it. */
  readonly since: number;
  readonly functions: readonly LibraryFunction[];
}

function plainType(name: string): LibraryType {
  return { name, isParameter: false, parameters: [] };
}

export const types = {
  bool: plainType("bool"),
  int: plainType("int"),
  uint: plainType("uint"),
  double: plainType("double"),
  string: plainType("string"),
  bytes: plainType("bytes"),
  duration: plainType("google.protobuf.Duration"),
  timestamp: plainType("google.protobuf.Timestamp"),
  dyn: plainType("dyn"),
  url: plainType("kubernetes.URL"),
  ip: plainType("net.IP"),
  cidr: plainType("net.CIDR"),
  quantity: plainType("kubernetes.Quantity"),
  semver: plainType("kubernetes.Semver"),
  format: plainType("kubernetes.NamedFormat"),
  authorizer: plainType("kubernetes.authorization.Authorizer"),
  pathCheck: plainType("kubernetes.authorization.PathCheck"),
  groupCheck: plainType("kubernetes.authorization.GroupCheck"),
  resourceCheck: plainType("kubernetes.authorization.ResourceCheck"),
  decision: plainType("kubernetes.authorization.Decision"),
} as const satisfies Record<string, LibraryType>;

export function listOf(element: LibraryType): LibraryType {
  return { name: "list", isParameter: false, parameters: [element] };
}

export function mapOf(key: LibraryType, value: LibraryType): LibraryType {
  return { name: "map", isParameter: false, parameters: [key, value] };
}

export function optionalOf(inner: LibraryType): LibraryType {
  return { name: "optional_type", isParameter: false, parameters: [inner] };
}

export function parameter(name: string): LibraryType {
  return { name, isParameter: true, parameters: [] };
}

type Call = LibraryOverload["call"];

export function member(
  id: string,
  args: readonly LibraryType[],
  result: LibraryType,
  call: Call,
): LibraryOverload {
  return { id, isMember: true, args, result, call };
}

export function free(
  id: string,
  args: readonly LibraryType[],
  result: LibraryType,
  call: Call,
): LibraryOverload {
  return { id, isMember: false, args, result, call };
}

export function declare(name: string, ...overloads: readonly LibraryOverload[]): LibraryFunction {
  return { name, overloads };
}

/** The error for an argument of an undeclared type, which checked expressions never have. */
export function noSuchOverload(): FunctionError {
  return new FunctionError("no such overload");
}

export function textOf(value: Value | undefined): string {
  if (typeof value !== "string") throw noSuchOverload();
  return value;
}

export function intOf(value: Value | undefined): bigint {
  if (typeof value !== "bigint") throw noSuchOverload();
  return value;
}

export function boolOf(value: Value | undefined): boolean {
  if (typeof value !== "boolean") throw noSuchOverload();
  return value;
}

/** Runs a parser and converts its error to a FunctionError with a prefix. */
export function parsed<T>(
  kind: abstract new (message: string) => Error,
  parse: () => T,
  before = "",
): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof kind) throw new FunctionError(before + error.message);
    throw error;
  }
}

/** Whether a parser accepts the text. */
export function accepts(
  kind: abstract new (message: string) => Error,
  parse: () => unknown,
): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    if (error instanceof kind) return false;
    throw error;
  }
}
