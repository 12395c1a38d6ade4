/**
 * Tokens of a template: texts, and what stands between `{{` and `}}`.
 *
 * After  Go's text/template/parse: `{{- ` and ` -}}` trim white space, `{{/* comment *\/}}`, strings, raw strings,
 *        characters, numbers.
 */
import { ownEntry } from "#base/own.ts";
import { TemplateError } from "./budget.ts";

export type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open" | "close" | "dot" }
  | {
      readonly kind: "field" | "variable" | "word";
      readonly name: string;
      readonly isGlued: boolean;
    }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "mark"; readonly mark: Mark };

type Mark = "(" | ")" | "|" | ":=" | "=" | ",";

const tokensMax = 20_000;

/** @throws TemplateError */
export function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf("{{", at);
    const before = text.slice(at, open < 0 ? undefined : open);
    if (open < 0) return pushText(tokens, before, false);
    const trimsLeft = /^-\s/.test(text.slice(open + 2, open + 4));
    pushText(tokens, before, trimsLeft);
    const start = open + (trimsLeft ? 3 : 2);
    const end = skipComment(text, start) ?? readAction(text, start, tokens);
    at = endOfAction(text, end);
  }
  return tokens;
}

function pushText(tokens: Token[], text: string, trimsRight: boolean): Token[] {
  const kept = trimsRight ? text.trimEnd() : text;
  if (kept !== "") push(tokens, { kind: "text", text: kept });
  return tokens;
}

function push(tokens: Token[], token: Token): void {
  if (tokens.length >= tokensMax) throw new TemplateError(`more than ${tokensMax} tokens`);
  tokens.push(token);
}

/** @returns the position after the comment, where its action closes. Undefined: there is no comment. */
function skipComment(text: string, start: number): number | undefined {
  const begin = /\s*/y;
  begin.lastIndex = start;
  begin.test(text);
  const at = begin.lastIndex;
  if (!text.startsWith("/*", at)) return undefined;
  const end = text.indexOf("*/", at);
  if (end < 0) throw new TemplateError("unclosed comment");
  return end + 2;
}

/** `end` is the position before `}}` or ` -}}`; the latter also trims the text after it. */
function endOfAction(text: string, end: number): number {
  const close = /\s*(-?)\}\}/y;
  close.lastIndex = end;
  const found = close.exec(text);
  if (found === null) throw new TemplateError("unclosed action");
  if (found[1] !== "-") return close.lastIndex;
  const space = /\s*/y;
  space.lastIndex = close.lastIndex;
  space.test(text);
  return space.lastIndex;
}

const token =
  /(\s+)|("(?:[^"\\\n]|\\.)*")|(`[^`]*`)|('(?:[^'\\\n]|\\.)+')|([-+]?(?:0[xXoObB][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?))|(\.[\p{L}_][\p{L}\p{N}_]*)|(\$[\p{L}\p{N}_]*)|([\p{L}_][\p{L}\p{N}_]*)|(:=|[()|=,])|(\.)/uy;

/** @returns the position from which the action's `}}` is searched. */
function readAction(text: string, start: number, tokens: Token[]): number {
  push(tokens, { kind: "open" });
  let at = start;
  let isGlued = false;
  for (;;) {
    if (/^\s*-?\}\}/.test(text.slice(at, at + 8)) || isEndBehindSpace(text, at)) {
      push(tokens, { kind: "close" });
      return at;
    }
    token.lastIndex = at;
    const found = token.exec(text);
    if (found === null) throw badCharacter(text, at);
    at = token.lastIndex;
    if (found[1] !== undefined) {
      isGlued = false;
      continue;
    }
    push(tokens, tokenOf(found, isGlued));
    isGlued = true;
  }
}

function isEndBehindSpace(text: string, at: number): boolean {
  const end = /\s+-?\}\}/y;
  end.lastIndex = at;
  return end.test(text);
}

function badCharacter(text: string, at: number): TemplateError {
  if (at >= text.length) return new TemplateError("unclosed action");
  return new TemplateError(`unexpected ${JSON.stringify(text.slice(at, at + 10))} in an action`);
}

function tokenOf(found: RegExpExecArray, isGlued: boolean): Token {
  const [, , quoted, raw, character, number, field, variable, word, mark] = found;
  if (quoted !== undefined) return { kind: "string", value: unquote(quoted) };
  if (raw !== undefined) return { kind: "string", value: raw.slice(1, -1) };
  if (character !== undefined) {
    return { kind: "number", value: unquote(`"${character.slice(1, -1)}"`).codePointAt(0) ?? 0 };
  }
  if (number !== undefined) return { kind: "number", value: numberOf(number) };
  if (field !== undefined) return { kind: "field", name: field.slice(1), isGlued };
  if (variable !== undefined) return { kind: "variable", name: variable, isGlued };
  if (word !== undefined) return { kind: "word", name: word, isGlued };
  return mark === undefined ? { kind: "dot" } : { kind: "mark", mark: mark as Mark }; // By the pattern.
}

function numberOf(text: string): number {
  const plain = text.replaceAll("_", "");
  const sign = plain.startsWith("-") ? -1 : 1;
  return sign * Number(plain.replace(/^[-+]/, ""));
}

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
};

function unquote(quoted: string): string {
  const escape = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gu;
  return quoted.slice(1, -1).replace(escape, (_all, ...found: (string | undefined)[]) => {
    const [two, four, eight, letter] = found;
    const code = two ?? four ?? eight;
    if (code !== undefined) return fromCode(Number.parseInt(code, 16));
    const text = ownEntry(escapes, letter ?? "");
    if (text === undefined) throw new TemplateError(`unknown escape \\${letter ?? ""}`);
    return text;
  });
}

function fromCode(code: number): string {
  if (code > 0x10_ff_ff) throw new TemplateError("an escape names no character");
  return String.fromCodePoint(code);
}
