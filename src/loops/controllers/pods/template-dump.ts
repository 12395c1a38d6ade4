/**
 * A pod template as upstream prints it for its hash: Go's `%#v` of the typed struct, as go-spew writes it
 * with sorted keys and without pointer addresses.
 *
 * In     a template as the API server returns it: quantities in canonical form, no nulls.
 * Holds  every field of every struct is printed in Go's order, even if it is not set. So the text changes with the Go
 *        types, and a new minor version of upstream gives new hashes.
 */
import type { PodTemplateSpec } from "#api/gen/types.ts";
import { int64Max } from "#api/go/go-integer.ts";
import { isRecord } from "#base/is-record.ts";
import { type GoType, fieldsOf } from "./template-fields.ts";

type Bag = Readonly<Record<string, unknown>>;

const nothing: Bag = Object.freeze({});
/** Templates contain no times. */
const zeroTime = "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}";

export function dumpTemplate(template: PodTemplateSpec): string {
  const type: GoType = { kind: "struct", name: "v1.PodTemplateSpec" };
  return dump(type, template, true);
}

/** `showsType`: false for elements, whose type is shown by their list or map. */
function dump(type: GoType, value: unknown, showsType: boolean): string {
  if (type.kind === "pointer") return dumpPointer(type.of, value, showsType);
  return (showsType ? `(${type.name})` : "") + dumpValue(type, value);
}

function dumpPointer(to: GoType, value: unknown, showsType: boolean): string {
  if (value === undefined || value === null) return showsType ? `(*${to.name})<nil>` : "<nil>";
  return `${showsType ? `(*${to.name})` : "<*>"}${dump(to, value, false)}`;
}

function dumpValue(type: GoType, value: unknown): string {
  switch (type.kind) {
    case "scalar":
      return scalarText(value ?? type.zero);
    case "slice":
      if (!Array.isArray(value) || value.length === 0) return "<nil>";
      return `[${value.map((item) => dump(type.of, item, false)).join(" ")}]`;
    case "map":
      return dumpMap(type.of, isRecord(value) ? value : nothing);
    case "struct":
      return dumpStruct(type.name, value);
    case "pointer":
      return dumpPointer(type.of, value, false);
    default:
      return type satisfies never;
  }
}

function scalarText(value: unknown): string {
  return isRecord(value) && typeof value["rawJSON"] === "string" ? value["rawJSON"] : String(value);
}

function dumpMap(of: GoType, map: Bag): string {
  const keys = Object.keys(map).sort();
  if (keys.length === 0) return "<nil>";
  return `map[${keys.map((key) => `${key}:${dump(of, map[key], false)}`).join(" ")}]`;
}

function dumpStruct(name: string, value: unknown): string {
  if (name === "v1.Time") return zeroTime;
  if (name === "resource.Quantity") return dumpQuantity(value);
  if (name === "intstr.IntOrString") return dumpIntOrString(value);
  const bag = isRecord(value) ? value : nothing;
  const fields = fieldsOf(name).map(({ goName, jsonName, type, isEmbedded }) => {
    const inner = isEmbedded ? bag : bag[jsonName];
    return `${goName}:${dump(type, inner, true)}`;
  });
  return `{${fields.join(" ")}}`;
}

function dumpIntOrString(value: unknown): string {
  const isText = typeof value === "string";
  const number = isText ? 0 : (value ?? 0);
  const text = isText ? value : "";
  return `{Type:(intstr.Type)${isText ? 1 : 0} IntVal:(int32)${scalarText(number)} StrVal:(string)${text}}`;
}

const decimalExponents: ReadonlyMap<string, number> = new Map(
  ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].map((suffix, at) => [suffix, 3 * at - 9]),
);
const binaryExponents: ReadonlyMap<string, number> = new Map(
  ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, at) => [suffix, 10 * at + 10]),
);

interface ParsedQuantity {
  readonly digits: string;
  readonly exponent: number;
  readonly format: "DecimalSI" | "BinarySI" | "DecimalExponent";
}

function dumpQuantity(value: unknown): string {
  const text = scalarText(value ?? "");
  if (text === "" || text === "0") {
    return quantityText({ format: text === "" ? "" : "DecimalSI", text });
  }
  const parsed = parseCanonical(text);
  return isSmall(parsed) ? dumpSmall(parsed, text) : dumpLarge(parsed);
}

/** Canonical quantities have no fraction. */
function parseCanonical(text: string): ParsedQuantity {
  const [, digits = "", suffix = ""] = /^(-?\d+)(.*)$/.exec(text) ?? [];
  const binary = binaryExponents.get(suffix);
  if (binary !== undefined) return { digits, exponent: binary, format: "BinarySI" };
  const decimal = decimalExponents.get(suffix);
  if (decimal !== undefined) return { digits, exponent: decimal, format: "DecimalSI" };
  return { digits, exponent: Math.trunc(Number(suffix.slice(1))), format: "DecimalExponent" };
}

/** Upstream's test whether an int64 with a scale is precise enough. */
function isSmall({ digits, exponent, format }: ParsedQuantity): boolean {
  const count = digits.replace("-", "").length;
  if (format !== "BinarySI") return count <= 18;
  return 15 - count - Math.trunc((exponent * 3) / 10) - 1 >= 0;
}

/** The text is kept if upstream's quick check recognises it as canonical. */
function dumpSmall({ digits, exponent, format }: ParsedQuantity, text: string): string {
  const number = BigInt(digits);
  if (format === "BinarySI") {
    const kept = (number & 7n) === 0n ? "" : text;
    return quantityText({ value: number << BigInt(exponent), format, text: kept });
  }
  const isCanonical = exponent % 3 === 0 && !digits.endsWith("000");
  return quantityText({ value: number, scale: exponent, format, text: isCanonical ? text : "" });
}

/** Upstream rounds large decimals to billionths. */
const billionths = 10n ** 9n;

function dumpLarge({ digits, exponent, format }: ParsedQuantity): string {
  const isBinary = format === "BinarySI";
  const number = BigInt(digits);
  const whole = isBinary ? number << BigInt(exponent) : number * 10n ** BigInt(exponent + 9);
  const isCapped = isBinary && whole > int64Max;
  const unscaled = isCapped ? int64Max : isBinary ? whole * billionths : whole;
  const words = [];
  for (let left = unscaled < 0n ? -unscaled : unscaled; left > 0n; left >>= 64n) {
    words.push(BigInt.asUintN(64, left));
  }
  const big = `{neg:(bool)${unscaled < 0n} abs:(big.nat)[${words.join(" ")}]}`;
  const decimal = `(*inf.Dec){unscaled:(big.Int)${big} scale:(inf.Scale)${isCapped ? 0 : 9}}`;
  return quantityText({ format, text: "", decimal });
}

function quantityText(parts: {
  readonly value?: bigint;
  readonly scale?: number;
  readonly format: string;
  readonly text: string;
  readonly decimal?: string;
}): string {
  const { value = 0n, scale = 0, format, text, decimal = "(*inf.Dec)<nil>" } = parts;
  const amount = `(resource.int64Amount){value:(int64)${value} scale:(resource.Scale)${scale}}`;
  const large = `(resource.infDecAmount){Dec:${decimal}}`;
  return `{i:${amount} d:${large} s:(string)${text} Format:(resource.Format)${format}}`;
}
