/**
 * Numbers as `format` prints them: exact decimals of doubles, rounded half to even, with the separators
 * of the locale en-US for `%f` and `%e` as upstream prints them since strings library version 1.
 */

/** Maximum digits after the point; upstream's printer accepts no larger precision. */
const precisionMax = 1_000_000;
/** The precision that upstream's printer uses beyond that. */
const precisionFallback = 65;

/** `%.Nf` of plain Go: no separators, and a minus before a negative zero. */
export function plainFixed(value: number, precision: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  return sign + magnitudeFixed(Math.abs(value), precision);
}

/** `1,234.500000`; a negative zero has no sign. */
export function localeFixed(value: number, precision: number): string {
  const special = specialText(value);
  if (special !== undefined) return special;
  const digits = precision > precisionMax ? precisionFallback : precision;
  const [whole = "", fraction] = magnitudeFixed(Math.abs(value), digits).split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  const sign = value < 0 ? "-" : "";
  return sign + grouped + (fraction === undefined ? "" : `.${fraction}`);
}

/** `1.052033×10⁰³`. Upstream uses the precision as width: there are always six digits after the point. */
export function localeScientific(value: number, width: number): string {
  const text = specialText(value) ?? scientificText(value);
  return text.padStart(Math.min(width, precisionMax), " ");
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function scientificText(value: number): string {
  const [digits = "", exponent = "0"] = Math.abs(value).toExponential(6).split("e");
  const power = exponent.replace(/^[+-]/, "").padStart(2, "0");
  const raised = power.replace(/\d/g, (digit) => superscripts.charAt(Number(digit)));
  return `${value < 0 ? "-" : ""}${digits}×10${exponent.startsWith("-") ? "⁻" : ""}${raised}`;
}

function specialText(value: number): string | undefined {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return undefined;
  return value > 0 ? "∞" : "-∞";
}

/** Exact, because a double is an integer multiple of 2^-1074. */
function magnitudeFixed(value: number, precision: number): string {
  const { mantissa, exponent } = splitDouble(value);
  // Beyond 1,074 digits there are only zeros.
  const digits = Math.min(precision, 1_074);
  const scaled = mantissa * 10n ** BigInt(digits);
  const rounded =
    exponent >= 0 ? scaled << BigInt(exponent) : roundShift(scaled, BigInt(-exponent));
  const text = rounded.toString().padStart(digits + 1, "0");
  if (precision === 0) return text;
  const point = text.length - digits;
  return `${text.slice(0, point)}.${text.slice(point).padEnd(precision, "0")}`;
}

function roundShift(value: bigint, shift: bigint): bigint {
  const down = value >> shift;
  const rest = value - (down << shift);
  const half = 1n << (shift - 1n);
  const up = rest > half || (rest === half && (down & 1n) === 1n);
  return up ? down + 1n : down;
}

function splitDouble(value: number): { readonly mantissa: bigint; readonly exponent: number } {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const word = bits.getBigUint64(0);
  const biased = Number((word >> 52n) & 0x7ffn);
  const fraction = word & 0xfffffffffffffn;
  if (biased === 0) return { mantissa: fraction, exponent: -1_074 };
  return { mantissa: fraction | 0x10000000000000n, exponent: biased - 1_075 };
}
