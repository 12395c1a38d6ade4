/**
 * Decodes scalars of typed fields as Go's decoders do: range of integers, quantities and times in
 * canonical form, base64 checked. Messages are upstream's.
 */
import type { FieldSchema } from "./schema-types.ts";
import { QuantityError, canonicalQuantity } from "../values/quantity.ts";
import { formatTime, parseTime } from "../values/time.ts";
import { base64Length } from "../defaults/base64.ts";

type DecodedScalar =
  | { readonly kind: "ok"; readonly value: unknown }
  /** The JSON type is wrong; `literal` is set when it is a number that the type cannot hold. */
  | { readonly kind: "mismatch"; readonly literal?: string }
  | { readonly kind: "error"; readonly message: string };

const int32Max = 2 ** 31 - 1;
const int32Min = -(2 ** 31);

/**
 * Decodes `value`, which is not null; `field.type` is one of the scalar types. `literal`: how a number was written, if
 * that is known and differs from its printed form (`#base/exact-json.ts`).
 */
export function decodeScalar(
  value: unknown,
  field: FieldSchema,
  literal: string | undefined,
): DecodedScalar {
  if (field.type === "string") return decodeString(value, field, literal);
  if (field.type === "integer") return decodeInteger(value, field, literal);
  if (field.type === "boolean") return typeof value === "boolean" ? ok(value) : mismatched;
  return decodeDouble(value, literal);
}

const mismatched: DecodedScalar = { kind: "mismatch" };

function ok(value: unknown): DecodedScalar {
  return { kind: "ok", value };
}

/** `1.0` and `1e3` are not integers; beyond 53 bits only a bigint is exact. */
function decodeInteger(
  value: unknown,
  { format }: FieldSchema,
  literal: string | undefined,
): DecodedScalar {
  if (typeof value === "bigint") {
    return format === "int32" ? { kind: "mismatch", literal: String(value) } : ok(value);
  }
  if (typeof value !== "number") return mismatched;
  const fits =
    format === "int32"
      ? Number.isInteger(value) && value >= int32Min && value <= int32Max
      : Number.isSafeInteger(value);
  const isWritten = literal === undefined || literal === "-0";
  return fits && isWritten ? ok(value) : { kind: "mismatch", literal: literal ?? String(value) };
}

function decodeDouble(value: unknown, literal: string | undefined): DecodedScalar {
  if (typeof value === "bigint") return ok(Number(value));
  if (typeof value !== "number") return mismatched;
  return Number.isFinite(value)
    ? ok(value)
    : { kind: "mismatch", literal: literal ?? String(value) };
}

function decodeString(
  value: unknown,
  field: FieldSchema,
  literal: string | undefined,
): DecodedScalar {
  switch (field.format) {
    case "quantity":
      return decodeQuantity(literal ?? value);
    case "date-time":
      return decodeTime(value);
    case "micro-time":
      return decodeMicroTime(value);
    case "int-or-string":
      return typeof value === "string"
        ? { kind: "ok", value }
        : decodeInteger(value, { type: "integer", format: "int32" }, literal);
    case "byte":
      return decodeBase64(value);
    case undefined:
    case "int32":
    case "int64":
    case "double":
    case "duration":
      return typeof value === "string" ? { kind: "ok", value } : { kind: "mismatch" };
    default:
      return field.format satisfies never;
  }
}

/** One to three digits with a plain suffix are canonical already, like most quantities. */
const canonicalShort = /^[1-9][0-9]{0,2}(?:m|[kMGTPE]i?|Ki)?$/;

function decodeQuantity(value: unknown): DecodedScalar {
  if (typeof value === "string" && canonicalShort.test(value) && !value.endsWith("ki")) {
    return { kind: "ok", value };
  }
  if (typeof value === "bigint") return ok(canonicalQuantity(String(value)));
  if (typeof value !== "string" && typeof value !== "number") return badQuantity();
  try {
    return { kind: "ok", value: canonicalQuantity(value) };
  } catch (error) {
    if (error instanceof QuantityError) return { kind: "error", message: error.message };
    throw error;
  }
}

function badQuantity(): DecodedScalar {
  const message =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  return { kind: "error", message };
}

const layout = "2006-01-02T15:04:05Z07:00";
const microLayout = "2006-01-02T15:04:05.000000Z07:00";
const canonicalTime = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;

function decodeTime(value: unknown): DecodedScalar {
  if (typeof value !== "string") return { kind: "mismatch" };
  const time = parseTime(value);
  if (time === undefined) return badTime(value, layout);
  return { kind: "ok", value: canonicalTime.test(value) ? value : formatTime(time) };
}

/** Microseconds are taken from the text, because a number of milliseconds cannot hold them. */
function decodeMicroTime(value: unknown): DecodedScalar {
  if (typeof value !== "string") return { kind: "mismatch" };
  const time = parseTime(value);
  if (time === undefined) return badTime(value, microLayout);
  const fraction = /\.([0-9]{1,9})/.exec(value)?.[1] ?? "";
  const micros = fraction.padEnd(6, "0").slice(0, 6);
  return { kind: "ok", value: formatTime(time).replace("Z", `.${micros}Z`) };
}

function badTime(value: string, expected: string): DecodedScalar {
  const text = JSON.stringify(value);
  const message = `parsing time ${text} as "${expected}": cannot parse ${text} as "2006"`;
  return { kind: "error", message };
}

function decodeBase64(value: unknown): DecodedScalar {
  if (typeof value !== "string") return { kind: "mismatch" };
  const plain = value.replace(/[\r\n]/g, "");
  if (base64Length(plain) !== undefined) return { kind: "ok", value: plain };
  const good = /^[A-Za-z0-9+/\r\n]*/.exec(value)?.[0].length ?? 0;
  const at = good === value.length ? good - (plain.length % 4) : good;
  return { kind: "error", message: `illegal base64 data at input byte ${at}` };
}
