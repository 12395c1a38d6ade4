/** Values as Go's `%#v` prints them, for messages that name a key. */
import type { ScalarValue } from "./resolve.ts";

function goQuoted(text: string): string {
  const escaped = text.replaceAll(/["\\\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu, (character) => {
    const named = namedEscapes.get(character);
    if (named !== undefined) return named;
    const code = character.codePointAt(0) ?? 0;
    const digits = (length: number): string => code.toString(16).padStart(length, "0");
    if (code < 0x80) return `\\x${digits(2)}`;
    return code > 0xffff ? `\\U${digits(8)}` : `\\u${digits(4)}`;
  });
  return `"${escaped}"`;
}

const namedEscapes: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
]);

export function goScalar(value: ScalarValue): string {
  if (value === null) return "<nil>";
  return typeof value === "string" ? goQuoted(value) : goNumber(value);
}

function goNumber(value: number | bigint | boolean): string {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  return String(value).replace(/e([-+])(\d)$/, "e$10$2");
}

/** Prints a list or object, cut where it is long. */
export function goValue(value: unknown, left = { parts: 100 }): string {
  if (--left.parts < 0) return "...";
  if (value === null) return "interface {}(nil)";
  if (Array.isArray(value)) {
    return `[]interface {}{${value.map((item) => goValue(item, left)).join(", ")}}`;
  }
  if (typeof value !== "object") return goScalar(value as ScalarValue); // a value of YAML
  const members = Object.entries(value).map(
    ([key, member]) => `${goQuoted(key)}:${goValue(member, left)}`,
  );
  return `map[interface {}]interface {}{${members.join(", ")}}`;
}
