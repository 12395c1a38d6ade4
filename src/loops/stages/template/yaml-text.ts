/** Writes JSON values as block YAML like sigs.k8s.io/yaml: sorted keys, and quotes around texts that would be read as another type. */
import { isRecord } from "#base/is-record.ts";

/** The text ends with a newline, as a document does. */
export function yamlText(value: unknown): string {
  return `${block(value, "").replace(/^\n/, "")}\n`;
}

/** Returns the text after `- ` or `key:`: a scalar on the same line, or separate lines. */
function block(value: unknown, pad: string): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return value.map((one: unknown) => `\n${pad}-${item(one, pad)}`).join("");
  }
  if (!isRecord(value)) return scalar(value);
  const names = Object.keys(value).toSorted();
  if (names.length === 0) return "{}";
  return names.map((name) => `\n${pad}${scalar(name)}:${member(value[name], pad)}`).join("");
}

function member(value: unknown, pad: string): string {
  // A list below a key has the same indentation as the key.
  const text = block(value, Array.isArray(value) ? pad : `${pad}  `);
  return text.startsWith("\n") ? text : ` ${text}`;
}

function item(value: unknown, pad: string): string {
  const inner = `${pad}  `;
  const text = block(value, inner);
  return text.startsWith("\n") ? ` ${text.slice(1 + inner.length)}` : ` ${text}`;
}

const plain = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const words = /^(?:y|n|yes|no|on|off|true|false|null|~)$/i;

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value ?? null);
  return plain.test(value) && !words.test(value) ? value : JSON.stringify(value);
}
