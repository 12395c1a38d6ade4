/**
 * Field selectors: only `=`, `==`, `!=` and comma, with `\,` `\=` `\\` escapes in values.
 * Texts as upstream (apimachinery pkg/fields). `selectable-fields.ts` has the fields of each resource.
 */
import { SelectorError } from "./label-selector.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
}

/** Parses a selector text. Empty terms are skipped, and terms are sorted. Throws SelectorError. */
export function parseFieldSelector(text: string): FieldSelector {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text).sort()) {
    if (term === "") continue;
    const split = splitTerm(term);
    if (split === undefined) {
      throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    const value = unescapeFieldValue(split.value);
    // Upstream treats a term without field and value as "everything".
    if (split.field === "" && value === "") continue;
    requirements.push({ field: split.field, operator: split.operator, value });
  }
  return { requirements };
}

/** Splits at commas that are not escaped by a backslash. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  let escaped = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (escaped) escaped = false;
    else if (character === "\\") escaped = true;
    else if (character === ",") {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

/** Splits at the leftmost operator: `a!=b`, `a==b`, `a=b`. */
function splitTerm(term: string): FieldRequirement | undefined {
  const match = /!=|==|=/.exec(term);
  if (match === null) return undefined;
  return {
    field: term.slice(0, match.index),
    operator: match[0] === "!=" ? "!=" : "=",
    value: term.slice(match.index + match[0].length),
  };
}

function unescapeFieldValue(text: string): string {
  let value = "";
  let escaped = false;
  for (const character of text) {
    if (escaped) {
      if (!"\\,=".includes(character)) throw badEscape(`\\${character}`);
      value += character;
      escaped = false;
    } else if (character === "\\") escaped = true;
    else if (character === "," || character === "=") throw unescapeValue(character);
    else value += character;
  }
  if (escaped) throw badEscape("\\");
  return value;
}

function badEscape(sequence: string): SelectorError {
  return new SelectorError(`invalid field selector: invalid escape sequence: ${sequence}`);
}

/** Upstream prints the character as its number. */
function unescapeValue(character: string): SelectorError {
  const code = character.codePointAt(0) ?? 0;
  return new SelectorError(`invalid field selector: unescaped character in value: ${code}`);
}

/** The value that every match has in `field`, if a requirement demands one; an index can serve it. */
export function findRequiredValue(selector: FieldSelector, field: string): string | undefined {
  return selector.requirements.find((r) => r.field === field && r.operator === "=")?.value;
}

export function printFieldSelector(selector: FieldSelector): string {
  return selector.requirements
    .map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`)
    .join(",");
}

function escapeFieldValue(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll(",", "\\,").replaceAll("=", "\\=");
}
