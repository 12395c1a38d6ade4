/**
 * Reads configuration files of apiserver.config.k8s.io into typed values. It is strict: a field with a wrong name is
 * refused, not ignored.
 *
 * In     the content of the YAML, with the shape of its kind. Out: the value, absent texts as "", absent lists as [].
 * Fails  with ConfigurationError and upstream's texts (wrong types as in Go's decoder, all unknown fields at once).
 */
import { isRecord } from "#base/is-record.ts";
import { dictionary } from "#base/own.ts";
import { parseGoDuration } from "#api/go/go-duration.ts";

/** The configuration cannot be used. The message is for the operator. */
export class ConfigurationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigurationError";
  }
}

export type Shape =
  | "text"
  /** A text whose absence differs from "". */
  | "maybe-text"
  | "flag"
  | "maybe-flag"
  /** A duration in milliseconds. Absent: undefined. */
  | "duration"
  | { readonly list: Shape }
  /** `struct`: name of upstream's Go type, which error messages contain. */
  | { readonly struct: string; readonly fields: Readonly<Record<string, Shape>> }
  /** An optional value. Absent: undefined. */
  | { readonly maybe: Shape };

type Fields = Readonly<Record<string, unknown>>;

interface KindShape {
  readonly group: string;
  readonly versions: readonly string[];
  readonly kind: string;
  readonly shape: Extract<Shape, { readonly struct: string }>;
}

const typeMeta: Readonly<Record<string, Shape>> = { apiVersion: "text", kind: "text" };

/** @throws ConfigurationError */
export function decodeConfiguration(value: unknown, kind: KindShape): Fields {
  if (!isFields(value)) throw new ConfigurationError(noKind(nameOf(value)));
  checkKind(value, kind);
  const unknown: string[] = [];
  const { struct, fields } = kind.shape;
  const shape = { struct, fields: { ...typeMeta, ...fields } };
  const decoded = decode(value, shape, { path: "", owner: "" }, unknown);
  if (unknown.length > 0) {
    const texts = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
    throw new ConfigurationError(`strict decoding error: ${texts.join(", ")}`);
  }
  return decoded as Fields; // of a struct
}

function noKind(found: string): string {
  return `couldn't get version/kind; json parse error: json: cannot unmarshal ${found} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
}

function checkKind(value: Fields, { group, versions, kind }: KindShape): void {
  const [found, version] = [textOf(value["kind"]), textOf(value["apiVersion"])];
  if (found === "") {
    throw new ConfigurationError(`Object 'Kind' is missing in '${JSON.stringify(value)}'`);
  }
  if (!versions.some((one) => `${group}/${one}` === version)) {
    const what = `no kind ${JSON.stringify(found)} is registered for version ${JSON.stringify(version)}`;
    throw new ConfigurationError(`${what} in scheme "pkg/runtime/scheme.go:111"`);
  }
  if (found !== kind) {
    throw new ConfigurationError(`expected ${kind}, got *apiserver.${found}`);
  }
}

/** `owner`: the Go struct of a field. Messages contain it and the path without indexes. */
interface At {
  readonly path: string;
  readonly owner: string;
}

function decode(value: unknown, shape: Shape, at: At, unknown: string[]): unknown {
  if (typeof shape === "string") return decodePlain(value ?? undefined, shape, at);
  if ("maybe" in shape) {
    return value === undefined || value === null
      ? undefined
      : decode(value, shape.maybe, at, unknown);
  }
  if ("list" in shape) return decodeList(value ?? [], shape.list, at, unknown);
  const { struct, fields } = shape;
  if (!isFields(value ?? {})) throw mismatch(value, at, `apiserver.${struct}`);
  return decodeFields((value ?? {}) as Fields, struct, fields, { ...at, owner: struct }, unknown);
}

function decodeList(value: unknown, item: Shape, at: At, unknown: string[]): unknown {
  if (!Array.isArray(value)) throw mismatch(value, at, `[]${goType(item)}`);
  return value.map((each: unknown, place) =>
    decode(each, item, { ...at, path: `${at.path}[${place}]` }, unknown),
  );
}

function decodeFields(
  value: Fields,
  struct: string,
  fields: Readonly<Record<string, Shape>>,
  { path }: At,
  unknown: string[],
): Fields {
  const decoded = dictionary<unknown>();
  const names = [...new Set([...Object.keys(value), ...Object.keys(fields)])];
  for (const name of names.toSorted()) {
    const inner = path === "" ? name : `${path}.${name}`;
    const shape = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const own = Object.hasOwn(value, name) ? value[name] : undefined;
    if (shape === undefined) unknown.push(inner);
    else decoded[name] = decode(own, shape, { path: inner, owner: struct }, unknown);
  }
  return decoded;
}

function decodePlain(value: unknown, shape: Exclude<Shape, object>, at: At): unknown {
  switch (shape) {
    case "text":
      return plain(value ?? "", "string", at);
    case "maybe-text":
      return value === undefined ? undefined : plain(value, "string", at);
    case "flag":
      return plain(value ?? false, "boolean", at);
    case "maybe-flag":
      return value === undefined ? undefined : plain(value, "boolean", at);
    case "duration":
      return value === undefined ? undefined : duration(value, at);
    default:
      return shape satisfies never;
  }
}

function plain(value: unknown, type: "string" | "boolean", at: At): unknown {
  if (typeof value === type) return value;
  throw mismatch(value, at, type === "string" ? "string" : "bool");
}

function duration(value: unknown, at: At): number {
  if (typeof value !== "string") throw mismatch(value, at, "string");
  const ms = parseGoDuration(value);
  if (ms === undefined)
    throw new ConfigurationError(`time: invalid duration ${JSON.stringify(value)}`);
  return ms;
}

function mismatch(value: unknown, { path, owner }: At, type: string): ConfigurationError {
  const field = `${owner}.${path.replaceAll(/\[\d+\]/g, "")}`;
  return new ConfigurationError(
    `json: cannot unmarshal ${nameOf(value)} into Go struct field ${field} of type ${type}`,
  );
}

function goType(shape: Shape): string {
  if (typeof shape === "object" && "struct" in shape) return `apiserver.${shape.struct}`;
  return "string";
}

/** Returns the type of a value as Go's JSON decoder names it. */
function nameOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isFields(value: unknown): value is Fields {
  return isRecord(value);
}
