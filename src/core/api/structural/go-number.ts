/** Prints and classifies numbers as Go does in validation. */

/** `%v` of a float64: an exponent below 1e-4 and from 1e21 on, with two digits at least. */
export function goFloat(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e21) return String(value);
  if (size >= 1e-4 && size < 1e21) return String(value);
  const [digits = "", exponent = ""] = value.toExponential().split("e");
  const sign = exponent.startsWith("-") ? "-" : "+";
  return `${digits}e${sign}${exponent.replace(/^[+-]/, "").padStart(2, "0")}`;
}

const int64Max = 2 ** 63;

/** Whether Go's decoder would keep the number as int64. JSON's 1.0 is not distinguished from 1 here. */
export function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -int64Max && value < int64Max;
}

const epsilon = 1e-9;

/** Whether a float is nearly an integer, and small enough to be exact. */
export function isAlmostInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(value);
  if (whole === value) return true;
  if (value === 0 || whole === 0) return false;
  return Math.abs(value - whole) / (Math.abs(value) + Math.abs(whole)) < epsilon;
}
